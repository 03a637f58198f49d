"""Several processes that work on one stage: this one's place among them, and what they exchange."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import torch

Item = TypeVar("Item")
Result = TypeVar("Result")

# Numbers that are summed over the processes at once: 128 MiB of float32.
BUCKET = 2**25
# How long a process waits for another one. The launcher notices one that has ended; a slow one,
# which saves a large model or has the longer part of the questions, is waited for.
PATIENCE = timedelta(hours=6)


def is_launched() -> bool:
    """Say whether torch's launcher started this process as one of several."""
    return "TORCHELASTIC_RUN_ID" in os.environ and "RANK" in os.environ


def is_main() -> bool:
    """Say whether this process is the one that records, shows and writes."""
    return not is_launched() or os.environ["RANK"] == "0"


@dataclass(frozen=True)
class Processes:
    """A process's `rank`, from 0, among `count` that work on one stage; one by default."""

    rank: int = 0
    count: int = 1

    @property
    def main(self) -> bool:
        """Whether this process is the one that records, shows and writes."""
        return self.rank == 0

    def gather(self, value: Item) -> list[Item]:
        """Return the values of all processes by rank, on each of them."""
        if self.count == 1:
            return [value]
        import torch.distributed

        values: list[Any] = [None] * self.count
        torch.distributed.all_gather_object(values, value)
        return values

    def spread(
        self, items: Sequence[Item], work: Callable[[Sequence[Item]], Sequence[Result]]
    ) -> list[Result]:
        """Return one result per item, in their order, on every process.

        Process r of n works on the items r, r + n, r + 2n and so on.
        """
        results = list(work(items[self.rank :: self.count]))
        if self.count == 1:
            return results
        merged: list[Any] = [None] * len(items)
        for rank, part in enumerate(self.gather(results)):
            merged[rank :: self.count] = part
        return merged

    def spread_batches(
        self,
        batches: Sequence[list[int]],
        work: Callable[[Sequence[list[int]]], Sequence[Sequence[Result]]],
    ) -> list[Result]:
        """Return one result per row; the batches hold the numbers of all rows, each once.

        A process works on whole batches, so that what shares a batch does not depend on `count`.
        """
        found = self.spread(batches, work)
        results: list[Any] = [None] * sum(map(len, batches))
        for rows, values in zip(batches, found, strict=True):
            for row, value in zip(rows, values, strict=True):
                results[row] = value
        return results

    def sum(self, values: Sequence[float]) -> list[float]:
        """Return each value summed over the processes, in float64."""
        if self.count == 1:
            return list(values)
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
        total = torch.tensor(values, dtype=torch.float64, device=device)
        torch.distributed.all_reduce(total)
        summed: list[float] = total.tolist()
        return summed

    def add(self, tensors: "Sequence[torch.Tensor]") -> None:
        """Sum each tensor over the processes, in place; all have the same ones in one order."""
        if self.count == 1:
            return
        import torch

        start = 0
        while start < len(tensors):
            end, size = start, 0
            while end < len(tensors) and (end == start or size + tensors[end].numel() <= BUCKET):
                size += tensors[end].numel()
                end += 1
            bucket = torch.cat([tensor.flatten() for tensor in tensors[start:end]])
            torch.distributed.all_reduce(bucket)
            sizes = [tensor.numel() for tensor in tensors[start:end]]
            for tensor, part in zip(tensors[start:end], bucket.split(sizes), strict=True):
                tensor.copy_(part.view_as(tensor))
            start = end

    def wait(self) -> None:
        """Return when all processes have come here."""
        self.gather(None)


ALONE = Processes()


def join_processes() -> Processes:
    """Return this process's place; one that was launched meets the others first.

    Each takes a GPU of its node, in order; on a machine without one they meet over gloo.
    """
    if not is_launched():
        return ALONE
    import torch
    from accelerate import PartialState

    state = PartialState(cpu=not torch.cuda.is_available(), timeout=PATIENCE)
    return Processes(state.process_index, state.num_processes)
