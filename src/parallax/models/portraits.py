"""Portraits as a model's own processor prepares them."""

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import pad

from parallax.errors import ModelError

if TYPE_CHECKING:
    from PIL import Image
    from transformers import ProcessorMixin


# A portrait as the model's inputs by name.
Inputs = Mapping[str, torch.Tensor]

KEPT = 2**30
"""Bytes of prepared portraits that are kept; a model of many tiles has 30 MB for each.

Those beyond are prepared again whenever they are shown.
"""


class Portraits:
    """Encoded image files, each prepared when it is first shown; no image depends on the others."""

    def __init__(self, processor: "ProcessorMixin", files: Iterable[bytes]) -> None:
        """Prepare nothing yet.

        Raises:
            ModelError: the processor does not know how many tokens an image has.
        """
        if getattr(processor, "patch_size", 0) is None:
            raise ModelError(
                "the processor has no patch_size: write the vision tower's patch_size and"
                " vision_feature_select_strategy into its processor_config.json"
            )
        self._processor = processor
        self._files = list(files)
        self._texts: dict[tuple[int, int], str] = {}  # an image's size alone decides its tokens
        self._kept: dict[int, Inputs] = {}
        self._room = KEPT

    def tokens(self, row: int) -> str:
        """Return the text that stands for an image in a prompt.

        It is the image token as often as the model takes features of this image, with what the
        processor puts around and between them.
        """
        from PIL import Image

        size = Image.open(io.BytesIO(self._files[row])).size
        if size not in self._texts:
            made = self._processor(
                images=[self._open(row)],
                text=[self._processor.image_token],
                return_text_replacement_offsets=True,
            )
            self._texts[size] = made["text_replacement_offsets"][0][0]["replacement"]
        return self._texts[size]

    def inputs(self, rows: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return the model's inputs, by name, that show these rows' images in this order."""
        return stack([self._prepare(row) for row in rows])

    def _prepare(self, row: int) -> Inputs:
        if row in self._kept:
            return self._kept[row]
        inputs: Inputs = dict(
            self._processor.image_processor([self._open(row)], return_tensors="pt")
        )
        size = sum(part.nbytes for part in inputs.values())
        if size <= self._room:
            self._room -= size
            self._kept[row] = inputs
        return inputs

    def _open(self, row: int) -> "Image.Image":
        from PIL import Image

        return Image.open(io.BytesIO(self._files[row])).convert("RGB")


def stack(portraits: Sequence[Inputs]) -> dict[str, torch.Tensor]:
    """Put the portraits' inputs one after the other along their first dimension.

    Where their other dimensions differ (images cut into unlike numbers of tiles), the smaller ones
    are filled with 0 at the end, as the processors themselves do it.
    """
    joined = {}
    for name in portraits[0]:
        parts = [portrait[name] for portrait in portraits]
        sizes = [max(sizes) for sizes in zip(*(part.shape[1:] for part in parts), strict=True)]
        joined[name] = torch.cat([_fill(part, sizes) for part in parts])
    return joined


def _fill(part: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    """Return `part` (N, ...) with zeros up to `sizes` in all dimensions but the first."""
    missing = [wanted - own for wanted, own in zip(sizes, part.shape[1:], strict=True)]
    return pad(part, [n for lack in reversed(missing) for n in (0, lack)])
