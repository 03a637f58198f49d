"""What a family of models is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parallax.models.dialogue import Chat, Dialogue
from parallax.registry import Registry

if TYPE_CHECKING:
    from transformers import ProcessorMixin

PROJECTIONS = r"(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)"


def any_processor() -> "type[ProcessorMixin]":
    """Return the class that finds a checkpoint's own processor."""
    from transformers import AutoProcessor

    found: type[ProcessorMixin] = AutoProcessor
    return found


@dataclass(frozen=True)
class Family:
    """Models of one architecture, and what is special about them.

    `dialogue` gives the form of a prompt, `processor` the class of the processor. `lora_targets` is
    a pattern over the full names of modules: the language model's projections, never the vision
    tower's (by suffix alone, `q_proj` would match both). `marks_image_tokens`: the model is told
    which tokens are an image's (`mm_token_type_ids`), for positions in rows and columns.
    `shared_reading`: `Reader` reads this family exactly, since it has one position per token, one
    cache of keys and values, and images in `pixel_values` alone.
    """

    dialogue: Callable[["ProcessorMixin"], Dialogue] = Chat
    processor: Callable[[], type["ProcessorMixin"]] = any_processor
    lora_targets: str = rf".*language_model.*\.{PROJECTIONS}"
    marks_image_tokens: bool = False
    shared_reading: bool = False


FAMILIES: Registry[Family] = Registry("model family")
"""Families by the `model_type` of their configurations."""
