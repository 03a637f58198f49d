"""LLaVA-1.5 (Liu et al. 2023, arXiv 2310.03744), the embedded model, and others of type llava.

One image, one grid. What follows LLaVA-1.5 alone is the prompt: LLaVA-Interleave, LLaVA-Llama-3 and
others have chat templates of their own.
"""

from typing import TYPE_CHECKING

from parallax.errors import ModelError
from parallax.models.dialogue import QUESTION, Chat, Dialogue, UserAssistant
from parallax.models.families.family import FAMILIES, Family

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, ProcessorMixin


def _dialogue(processor: "ProcessorMixin") -> Dialogue:
    """Return LLaVA-1.5's form where no template is there or it writes that form, else the chat's.

    Raises:
        ModelError: a template is not usable, or the tokenizer alone has one, in another form.
    """
    tokenizer = processor.tokenizer
    writer = processor if processor.chat_template else tokenizer
    if not writer.chat_template:
        return UserAssistant(tokenizer)
    chat = Chat(writer)
    prompt = chat.prompt(QUESTION, None)
    if "USER:" in prompt and prompt.rstrip().endswith("ASSISTANT:"):
        return UserAssistant(tokenizer)
    if writer is tokenizer:
        raise ModelError(
            "the tokenizer has a chat template, which takes no images, and the processor has none:"
            " put the model's chat_template.jinja beside it"
        )
    return chat


def _check(config: "PreTrainedConfig") -> None:
    """Refuse vision towers that need more than an image's pixels.

    Raises:
        ModelError: the tower is Pixtral's.
    """
    if config.vision_config.model_type == "pixtral":
        raise ModelError(
            "its vision tower 'pixtral' needs the images' sizes (image_sizes), which is not"
            " supported: give a checkpoint with a CLIP or SigLIP tower"
        )


FAMILIES.register("llava")(
    Family(
        dialogue=_dialogue,
        check=_check,
        shared_towers=frozenset({"clip_vision_model", "siglip_vision_model"}),
    )
)
