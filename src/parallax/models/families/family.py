"""What a family of models is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parallax.models.dialogue import Dialogue
from parallax.registry import Registry

if TYPE_CHECKING:
    from transformers import ProcessorMixin

PROJECTIONS = r"(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)"


@dataclass(frozen=True)
class Family:
    """Models of one architecture, and what is special about them.

    `dialogue` gives the form of a prompt. `lora_targets` is a pattern over the full names of
    modules: the language model's projections, never the vision tower's (by suffix alone, `q_proj`
    would match both). `shared_reading` says that `Reader` reads this family exactly: one position
    per token, one cache of keys and values, images in `pixel_values` alone.
    """

    dialogue: Callable[["ProcessorMixin"], Dialogue]
    lora_targets: str = rf".*language_model.*\.{PROJECTIONS}"
    shared_reading: bool = False


FAMILIES: Registry[Family] = Registry("model family")
"""Families by the `model_type` of their configurations."""
