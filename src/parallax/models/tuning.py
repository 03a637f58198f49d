"""Which weights a training may change."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import torch

from parallax.models.families import FAMILIES
from parallax.params import Lora

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel

Tuning = Literal["full", "lora"]


def open_weights(
    model: "PreTrainedModel", tuning: Tuning, lora: Lora, seed: int
) -> Callable[[], "PreTrainedModel"]:
    """Make the chosen weights of `model` trainable, in place, and return what ends the training.

    `full` opens every weight. `lora` freezes them all and adds adapters to the language model's
    projections, never to the vision tower: W' = W + (alpha / rank) B A (Hu et al. 2021,
    arXiv 2106.09685), with A drawn from `seed` and B = 0, so that the first answer is unchanged.
    Calling the result merges the adapters and returns a plain model.
    """
    if tuning == "full":
        model.requires_grad_(True)
        return lambda: model
    targets = FAMILIES[model.config.model_type].lora_targets
    merge: Callable[[], PreTrainedModel] = add_adapters(model, lora, seed, targets).merge_and_unload
    return merge


def add_adapters(model: "PreTrainedModel", lora: Lora, seed: int, targets: str) -> "PeftModel":
    """Freeze `model` and put trainable adapters into it, in place, where names match `targets`."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    return get_peft_model(
        model,
        LoraConfig(
            r=lora.rank,
            lora_alpha=lora.alpha,
            lora_dropout=lora.dropout,
            target_modules=targets,
        ),
    )
