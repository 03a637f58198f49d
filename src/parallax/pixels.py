"""Pictures inside data files: whether they can be shown, and what makes two of them one."""

import functools
import hashlib
import io
import struct

from parallax.errors import DataError


# A photo of 1000 pixels takes some 20 ms to decode, and the official files hold each of them
# four times. Everybody of the benchmark fits in.
@functools.lru_cache(maxsize=1024)
def pixel_digest(image: bytes) -> str:
    """Return the md5 of an encoded image's size and RGB pixels, whatever its encoding.

    Raises:
        DataError: the bytes cannot be decoded.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(image)) as opened:
            pixels = opened.convert("RGB")
    # What Pillow's readers raise on broken files is not one family of exceptions.
    except (
        OSError,
        ValueError,
        SyntaxError,
        EOFError,
        IndexError,
        OverflowError,
        TypeError,
        struct.error,
        Image.DecompressionBombError,
    ) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"undecodable image of {len(image)} bytes ({reason})") from None
    content = repr(pixels.size).encode() + pixels.tobytes()
    return hashlib.md5(content, usedforsecurity=False).hexdigest()
