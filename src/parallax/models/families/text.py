"""Causal language models without a vision tower: Llama, SmolLM2, Qwen2 and others.

They are asked in text alone: by their chat template where the tokenizer has one, else in the form
`USER: {question}\\nASSISTANT: {answer}`.
"""

from typing import TYPE_CHECKING, Any

from parallax.models.dialogue import Chat, Dialogue, UserAssistant
from parallax.models.families.family import PROJECTIONS, Family

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedTokenizerBase


def is_text_alone(config: "PreTrainedConfig") -> bool:
    """Say whether a configuration is of a causal language model that sees no images."""
    from transformers import (
        MODEL_FOR_CAUSAL_LM_MAPPING,
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    )

    causal = type(config) in MODEL_FOR_CAUSAL_LM_MAPPING
    # BERT and its like are there too, with attention to both sides unless they are decoders.
    encoder = getattr(config, "is_decoder", None) is False
    return causal and not encoder and type(config) not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING


def _dialogue(tokenizer: "PreTrainedTokenizerBase") -> Dialogue:
    return Chat(tokenizer) if tokenizer.chat_template else UserAssistant(tokenizer)


def _tokenizer() -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer


def _model() -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM


TEXT = Family(
    dialogue=_dialogue,
    processor=_tokenizer,
    model=_model,
    lora_targets=rf".*\.layers\.\d+\..*\.{PROJECTIONS}",
    shows_images=False,
)
