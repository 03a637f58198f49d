"""Portraits as a model's own processor prepares them."""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import pad

from parallax.errors import ModelError

if TYPE_CHECKING:
    from transformers import ProcessorMixin


@dataclass(frozen=True)
class Portrait:
    """An image: the model's inputs by name, and the text that stands for it in a prompt.

    `tokens` is the image token as often as the model takes features of this image, with what the
    processor puts around and between them.
    """

    inputs: Mapping[str, torch.Tensor]
    tokens: str


def prepare_portraits(processor: "ProcessorMixin", files: Iterable[bytes]) -> list[Portrait]:
    """Prepare encoded image files, one by one: no image depends on the others.

    Raises:
        ModelError: the processor does not know how many tokens an image has.
    """
    from PIL import Image

    if getattr(processor, "patch_size", 0) is None:
        raise ModelError(
            "the processor has no patch_size: write the vision tower's patch_size and"
            " vision_feature_select_strategy into its processor_config.json"
        )
    texts: dict[tuple[int, int], str] = {}  # an image's size alone decides its tokens
    portraits = []
    for file in files:
        image = Image.open(io.BytesIO(file)).convert("RGB")
        if image.size not in texts:
            made = processor(
                images=[image],
                text=[processor.image_token],
                return_text_replacement_offsets=True,
            )
            texts[image.size] = made["text_replacement_offsets"][0][0]["replacement"]
        inputs = processor.image_processor([image], return_tensors="pt")
        portraits.append(Portrait(dict(inputs), texts[image.size]))
    return portraits


def stack(portraits: Sequence[Portrait]) -> dict[str, torch.Tensor]:
    """Put the portraits' inputs one after the other along their first dimension.

    Where their other dimensions differ (images cut into unlike numbers of tiles), the smaller ones
    are filled with 0 at the end, as the processors themselves do it.
    """
    joined = {}
    for name in portraits[0].inputs:
        parts = [portrait.inputs[name] for portrait in portraits]
        sizes = [max(sizes) for sizes in zip(*(part.shape[1:] for part in parts), strict=True)]
        joined[name] = torch.cat([_fill(part, sizes) for part in parts])
    return joined


def _fill(part: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    """Return `part` (N, ...) with zeros up to `sizes` in all dimensions but the first."""
    missing = [wanted - own for wanted, own in zip(sizes, part.shape[1:], strict=True)]
    return pad(part, [n for lack in reversed(missing) for n in (0, lack)])
