"""What a method needs of the model before unlearning: computed once, not every step."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import torch

from parallax.models.batches import answer_nll, answer_rows, by_length, collate
from parallax.models.encoding import Encoder, Sample
from parallax.records import Modality
from parallax.training.engine import Engine
from parallax.training.knowledge import Knowledge
from parallax.training.parts import take_part
from parallax.unlearn.methods import Method

if TYPE_CHECKING:
    from parallax.unlearn.objective import Steps

Part = Literal["forget", "retain"]
BATCH_SIZE = 64


@dataclass(frozen=True)
class Reference:
    """The reference model's values for instances of one part in one modality.

    `nll[i]` is S_ref of instance i, nats. `states[i]` (T_i, D) predict its answer tokens through
    `head`, the reference's output layer; they lie in main memory in the model's number format.
    Logits would take V / D times as much. Both are empty where the method has no use for them.
    """

    nll: Mapping[int, float] = field(default_factory=dict)
    states: Mapping[int, torch.Tensor] = field(default_factory=dict)
    head: Callable[[torch.Tensor], torch.Tensor] | None = None

    def nll_of(self, rows: Sequence[int], device: torch.device) -> torch.Tensor | None:
        """Return S_ref of a batch's instances, (B,), or None."""
        return torch.tensor([self.nll[i] for i in rows], device=device) if self.nll else None

    def logits_of(self, rows: Sequence[int], device: torch.device) -> torch.Tensor | None:
        """Return the logits of a batch's answer tokens, row by row, (A, V), or None."""
        if self.head is None:
            return None
        return self.head(torch.cat([self.states[i] for i in rows]).to(device))


def compute_reference(
    engine: Engine,
    method: Method,
    forget: Knowledge,
    retain: Knowledge,
    steps: "Steps",
    modalities: Iterable[Modality],
    encoder: Encoder,
) -> dict[tuple[Part, Modality], Reference]:
    """Run the reference model once over the instances that this process's steps will use."""
    references: dict[tuple[Part, Modality], Reference] = {}
    for m in modalities:
        references["forget", m] = references["retain", m] = Reference()
        if method.reference == "forget_nll":
            references["forget", m] = _run(
                engine, forget.side(m), steps.forget, encoder, keep_states=False
            )
        if method.reference == "retain_logits":
            references["retain", m] = _run(
                engine, retain.side(m), steps.retain, encoder, keep_states=True
            )
    return references


@torch.no_grad()
def _run(
    engine: Engine,
    samples: Sequence[Sample],
    steps: Sequence[Sequence[int]],
    encoder: Encoder,
    *,
    keep_states: bool,
) -> Reference:
    engine.model.eval()
    nll: dict[int, float] = {}
    states: dict[int, torch.Tensor] = {}
    parts = [take_part(rows, samples, engine.processes) for rows in steps]
    used = sorted({row for part in parts for row in part.rows})
    chosen = [samples[row] for row in used]
    batches = by_length(chosen, BATCH_SIZE)
    # A sharded model runs on all processes at once, so they make equally many passes.
    passes = max(engine.processes.gather(len(batches)))
    for rows in batches + batches[-1:] * (passes - len(batches)):
        batch = collate([chosen[row] for row in rows], encoder, device=engine.model.device)
        if keep_states:
            lengths = torch.bincount(answer_rows(batch)).tolist()
            for row, part in zip(rows, engine.states(batch).cpu().split(lengths), strict=True):
                states[used[row]] = part.clone()
        else:
            totals = answer_nll(engine.logits(batch), batch).total.tolist()
            for row, total in zip(rows, totals, strict=True):
                nll[used[row]] = total
    return Reference(nll, states, engine.freeze_head() if keep_states else None)
