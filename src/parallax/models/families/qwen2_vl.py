"""Qwen2-VL (Wang et al. 2024, arXiv 2409.12191) and Qwen2.5-VL (Bai et al. 2025, arXiv 2502.13923).

An image has as many tokens as its size asks for; their positions are rows and columns (M-RoPE),
which the model computes itself from the places of the image tokens.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from parallax.models.families.family import FAMILIES, Family

if TYPE_CHECKING:
    from transformers import ProcessorMixin


def images_only(name: str) -> "type[ProcessorMixin]":
    """Return the processor's class without its part for videos, which needs torchvision."""
    import transformers

    whole: Any = getattr(transformers, name)

    def __init__(  # noqa: N807 - it becomes the method of that name
        self: Any, image_processor: Any, tokenizer: Any, chat_template: str | None = None
    ) -> None:
        whole.__init__(self, image_processor, tokenizer, chat_template=chat_template)

    # Under its own name, which it writes beside a saved model.
    return type(name, (whole,), {"__init__": __init__, "__module__": __name__})


for model_type, processor in (
    ("qwen2_vl", "Qwen2VLProcessor"),
    ("qwen2_5_vl", "Qwen2_5_VLProcessor"),
):
    FAMILIES.register(model_type)(
        Family(processor=partial(images_only, processor), marks_image_tokens=True)
    )
