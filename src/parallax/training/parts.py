"""A process's part of the rows of a training step."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from parallax.models.encoding import Sample
from parallax.processes import Processes


@dataclass(frozen=True)
class Part:
    """Rows that one process takes of a step of `total` rows; the first `own` of them count.

    A row behind those only makes this process run the layers that the others run.
    """

    rows: Sequence[int]
    own: int
    total: int

    def mean(self, values: torch.Tensor) -> torch.Tensor:
        """Return this part's share of the mean over the step's rows of `values`, one per row.

        The shares of all processes sum to the mean.
        """
        return values[: self.own].sum() / self.total


def take_part(rows: Sequence[int], samples: Sequence[Sample], processes: Processes) -> Part:
    """Return the rows r, r + n, r + 2n ... of process r of n, none of which may be idle.

    Processes exchange what they compute layer by layer (FSDP) or weight by weight. So one whose
    own rows show no portrait, while another's do, also runs such a row, and one without rows the
    first; neither counts.
    """
    own = list(rows[processes.rank :: processes.count])
    shown = next((row for row in rows if samples[row].portrait is not None), None)
    if shown is not None and all(samples[row].portrait is None for row in own):
        return Part([*own, shown], len(own), len(rows))
    return Part(own or rows[:1], len(own), len(rows))
