"""Which weights a training may change."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import ModelError
from parallax.models.adapters import add_adapters, write_adapter
from parallax.models.families.family import KINDS
from parallax.models.loading import Loaded, save
from parallax.params import Lora, Save, Tuning

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel


def recompute_activations(model: "PreTrainedModel") -> None:
    """Let the backward pass compute each layer's activations again, in place.

    Gradients are the same, memory is less, a step takes about a third longer (Chen et al. 2016,
    arXiv 1604.06174, "gradient checkpointing").
    """
    model.activation_checkpointing_enable({"use_reentrant": False})


@dataclass(frozen=True)
class Opened:
    """A model in training; `adapted` is None where all of its weights are trained."""

    loaded: Loaded
    adapted: "PeftModel | None"

    def merge(self) -> "PreTrainedModel":
        """End the training: return a plain model, with the adapter in its weights."""
        if self.adapted is None:
            return self.loaded.model
        merged: PreTrainedModel = self.adapted.merge_and_unload()
        return merged

    def save(self, form: Save, base: Path, folder: Path) -> None:
        """End the training: write the merged model, or the adapter that `base` goes with."""
        if form == "merged" or self.adapted is None:
            save(Loaded(self.merge(), self.loaded.processor), folder)
        else:
            write_adapter(self.adapted, self.loaded.processor, base, folder)


def open_weights(loaded: Loaded, tuning: Tuning, lora: Lora, seed: int) -> Opened:
    """Make the chosen weights of a model trainable, in place.

    `full` opens every weight. `lora` freezes them all and adds adapters to the language model's
    projections, never to the vision tower: W' = W + (alpha / rank) B A (Hu et al. 2021,
    arXiv 2106.09685), with A drawn from `seed` and B = 0, so that the first answer is unchanged.
    Adapters that were loaded unmerged stay as they are, below the new one.

    Raises:
        ModelError: the model lacks one of the seven kinds of projection, as where they are fused.
    """
    model = loaded.model
    if tuning == "full":
        model.requires_grad_(True)
        return Opened(loaded, None)
    targets = loaded.family.lora_targets
    names = [name for name, _ in model.named_modules() if re.fullmatch(targets, name)]
    found = {name.rpartition(".")[2] for name in names}
    if missing := [kind for kind in KINDS if kind not in found]:
        raise ModelError(
            f"a model of type {model.config.model_type!r} has no {', '.join(missing)} for adapters"
            f" (sought as {targets}); set tuning to full, or give a model whose projections are"
            " apart"
        )
    return Opened(loaded, add_adapters(model, lora, seed, targets, loaded.adapters))
