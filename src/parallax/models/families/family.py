"""What a family of models is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parallax.models.dialogue import Chat, Dialogue
from parallax.registry import Registry

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

KINDS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
PROJECTIONS = f"({'|'.join(KINDS)})"


def any_config(config: "PreTrainedConfig") -> None:
    """Refuse no configuration."""


def any_processor() -> Any:
    """Return the class that finds a checkpoint's own processor."""
    from transformers import AutoProcessor

    return AutoProcessor


def any_model() -> Any:
    """Return the class that finds a checkpoint's own model."""
    from transformers import AutoModelForImageTextToText

    return AutoModelForImageTextToText


@dataclass(frozen=True)
class Family:
    """Models of one architecture, and what is special about them.

    `dialogue` gives the form of a prompt, `processor` and `model` the classes that load; where no
    images are shown, the processor is a tokenizer. `check` refuses configurations by a ModelError.
    `lora_targets` is a pattern over the full names of modules: the language model's projections,
    never the vision tower's (by suffix alone, `q_proj` would match both). `marks_image_tokens`: the
    model is told which tokens are an image's (`mm_token_type_ids`), for positions in rows and
    columns. `shared_towers`: with these vision towers (`model_type`) and LLaVA-1.5's form of prompt
    `Reader` reads this family exactly: one position per token, one cache of keys and values, and
    images in `pixel_values` alone.
    """

    dialogue: Callable[[Any], Dialogue] = Chat
    processor: Callable[[], Any] = any_processor
    model: Callable[[], Any] = any_model
    check: Callable[["PreTrainedConfig"], None] = any_config
    lora_targets: str = rf".*language_model.*\.{PROJECTIONS}"
    marks_image_tokens: bool = False
    shared_towers: frozenset[str] = frozenset()
    shows_images: bool = True


FAMILIES: Registry[Family] = Registry("model family")
"""Families by the `model_type` of their configurations."""
