"""One family of models a file: how it takes questions and images, and what may be tuned."""

from typing import TYPE_CHECKING

from parallax.errors import ModelError
from parallax.models.families import idefics3, llava, llava_next, llava_onevision, qwen2_vl
from parallax.models.families.family import FAMILIES, Family
from parallax.models.families.text import TEXT, is_text_alone

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

__all__ = [
    "FAMILIES",
    "TEXT",
    "Family",
    "family_of",
    "idefics3",
    "llava",
    "llava_next",
    "llava_onevision",
    "qwen2_vl",
]


def family_of(config: "PreTrainedConfig") -> Family:
    """Return the family of a configuration: a registered one, or that of models of text alone.

    Raises:
        ModelError: the architecture is neither, or a part of it is not supported.
    """
    if config.model_type in FAMILIES:
        family = FAMILIES[config.model_type]
        family.check(config)
        return family
    if is_text_alone(config):
        return TEXT
    raise ModelError(
        f"the type {config.model_type!r} is not supported: supported are {', '.join(FAMILIES)}, and"
        " causal language models without images"
    )
