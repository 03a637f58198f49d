"""What a method needs of the model before unlearning: computed once, not every step."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import torch

from parallax.models.batches import answer_logits, answer_nll, answer_rows, collate
from parallax.models.encoding import Sample
from parallax.models.generating import by_length
from parallax.records import Modality
from parallax.training.knowledge import Knowledge
from parallax.unlearn.methods import Method

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from parallax.unlearn.objective import Steps

Part = Literal["forget", "retain"]


@dataclass(frozen=True)
class Reference:
    """The reference model's values for instances of one part in one modality.

    `nll[i]` is S_ref of instance i, nats; `logits[i]` (T_i, V) predict its answer tokens and lie in
    main memory in the model's number format. Both are empty where the method has no use for them.
    """

    nll: Mapping[int, float] = field(default_factory=dict)
    logits: Mapping[int, torch.Tensor] = field(default_factory=dict)

    def nll_of(self, rows: Sequence[int], device: torch.device) -> torch.Tensor | None:
        """Return S_ref of a batch's instances, (B,), or None."""
        return torch.tensor([self.nll[i] for i in rows], device=device) if self.nll else None

    def logits_of(self, rows: Sequence[int], device: torch.device) -> torch.Tensor | None:
        """Return the logits of a batch's answer tokens, row by row, (A, V), or None."""
        return torch.cat([self.logits[i] for i in rows]).to(device) if self.logits else None


def compute_reference(
    model: "PreTrainedModel",
    method: Method,
    forget: Knowledge,
    retain: Knowledge,
    steps: "Steps",
    modalities: Iterable[Modality],
    pixels: torch.Tensor,
    pad: int,
) -> dict[tuple[Part, Modality], Reference]:
    """Run the reference model once over the instances that the steps will use."""
    references: dict[tuple[Part, Modality], Reference] = {}
    for m in modalities:
        references["forget", m] = references["retain", m] = Reference()
        if method.reference == "forget_nll":
            used = _distinct(steps.forget)
            references["forget", m] = _run(model, forget.side(m), used, pixels, pad, False)
        if method.reference == "retain_logits":
            used = _distinct(steps.retain)
            references["retain", m] = _run(model, retain.side(m), used, pixels, pad, True)
    return references


def _distinct(steps: Sequence[Sequence[int]]) -> list[int]:
    return sorted({index for rows in steps for index in rows})


@torch.inference_mode()
def _run(
    model: "PreTrainedModel",
    samples: Sequence[Sample],
    used: Sequence[int],
    pixels: torch.Tensor,
    pad: int,
    keep_logits: bool,
) -> Reference:
    model.eval()
    nll: dict[int, float] = {}
    logits: dict[int, torch.Tensor] = {}
    chosen = [samples[i] for i in used]
    for rows in by_length(chosen, batch_size=64):
        batch = collate([chosen[row] for row in rows], pixels, pad, device=model.device)
        predicted = answer_logits(model, batch)
        if keep_logits:
            lengths = torch.bincount(answer_rows(batch)).tolist()
            for row, part in zip(rows, predicted.cpu().split(lengths), strict=True):
                logits[used[row]] = part.clone()
        else:
            totals = answer_nll(predicted, batch).total.tolist()
            for row, total in zip(rows, totals, strict=True):
                nll[used[row]] = total
    return Reference(nll, logits)
