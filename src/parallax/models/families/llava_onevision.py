"""LLaVA-OneVision (Li et al. 2024, arXiv 2408.03326): tiles, as in LLaVA-NeXT."""

from typing import TYPE_CHECKING, Any

from parallax.models.families.family import FAMILIES, Family

if TYPE_CHECKING:
    from transformers import ProcessorMixin


def images_only() -> "type[ProcessorMixin]":
    """Return the processor's class without its part for videos, which needs torchvision."""
    import transformers

    whole: Any = transformers.LlavaOnevisionProcessor

    def __init__(  # noqa: N807 - it becomes the method of that name
        self: Any,
        image_processor: Any,
        tokenizer: Any,
        num_image_tokens: int | None = None,
        vision_feature_select_strategy: str | None = None,
        chat_template: str | None = None,
        vision_aspect_ratio: str = "anyres_max_9",
    ) -> None:
        whole.__init__(
            self,
            image_processor,
            tokenizer,
            num_image_tokens=num_image_tokens,
            vision_feature_select_strategy=vision_feature_select_strategy,
            chat_template=chat_template,
            vision_aspect_ratio=vision_aspect_ratio,
        )

    # Under its own name, which it writes beside a saved model.
    return type(whole.__name__, (whole,), {"__init__": __init__, "__module__": __name__})


FAMILIES.register("llava_onevision")(Family(processor=images_only))
