"""What moves a model's weights: forward and backward passes, and the optimizers' step."""

import copy
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from parallax.errors import ParamsError
from parallax.models.batches import Batch, answer_logits, answer_states
from parallax.params import Optimization
from parallax.processes import Processes, is_launched
from parallax.training.optimizers import build_optimizers

if TYPE_CHECKING:
    from transformers import PreTrainedModel


# Norm of the whole gradient, at most.
CLIP = 1.0


class Engine:
    """A model in training; with several processes each holds all of it (data parallel).

    A step's rows are divided between the processes (`Part`), so the gradient is the sum of theirs:
    it is taken once per step, after the last term, and then clipped. Every process therefore makes
    the same step.
    """

    kind = "replicas"
    # Whether each process holds a shard of weights and optimizers, or all of them.
    shards = False
    # Whether a training can go on from a checkpoint.
    resumes = True

    def __init__(self, model: "PreTrainedModel", processes: Processes | None = None) -> None:
        """Train the weights of `model` that are open."""
        self.model = model
        self.processes = processes or Processes()
        self.optimizers: list[torch.optim.Optimizer] = []

    @property
    def trained(self) -> dict[str, torch.nn.Parameter]:
        """The open weights by name."""
        return {name: w for name, w in self.model.named_parameters() if w.requires_grad}

    def logits(self, batch: Batch) -> torch.Tensor:
        """Return `answer_logits` of the batch."""
        return answer_logits(self.model, batch)

    def states(self, batch: Batch) -> torch.Tensor:
        """Return `answer_states` of the batch."""
        return answer_states(self.model, batch)

    def freeze_head(self) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return a copy of the output layer as it now is, from states (A, D) to logits (A, V)."""
        head: torch.nn.Module = copy.deepcopy(self.model.get_output_embeddings())
        return head.requires_grad_(False)

    def open(self, optimization: Optimization, learning_rate: float) -> None:
        """Make the optimizers, and begin to train."""
        self.optimizers = build_optimizers(self.model, optimization, learning_rate)
        self.model.train()

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the next step."""
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate

    def backward(self, loss: torch.Tensor) -> None:
        """Add the gradient of this process's share of a loss."""
        loss.backward()

    def clip(self) -> float:
        """Sum the gradients over the processes, clip their norm to 1; return it before clipping."""
        weights = list(self.trained.values())
        self.processes.add([weight.grad for weight in weights if weight.grad is not None])
        return torch.nn.utils.clip_grad_norm_(weights, CLIP).item()

    def step(self) -> None:
        """Move the weights and forget the gradients."""
        for optimizer in self.optimizers:
            optimizer.step()
        self.model.zero_grad(set_to_none=True)

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps of this process: weights and optimizers."""
        return {
            "weights": {name: weight.detach() for name, weight in self.trained.items()},
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        with torch.no_grad():
            for name, weight in self.trained.items():
                weight.copy_(state["weights"][name])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)

    def close(self) -> None:
        """End the training: `model` holds whole weights and is in evaluation mode."""
        self.model.eval()


class AnswerPasses(torch.nn.Module):
    """The passes of a training as the forward of one module, by which wrappers see them."""

    def __init__(self, model: "PreTrainedModel") -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch, *, states: bool = False) -> torch.Tensor:
        """Return `answer_states` or `answer_logits` of the batch."""
        return answer_states(self.model, batch) if states else answer_logits(self.model, batch)


def refuse_muon(optimization: Optimization, kind: str) -> None:
    """Refuse what takes a matrix as a whole where the processes divide it.

    Raises:
        ParamsError: the optimizer is not AdamW.
    """
    if optimization.optimizer != "adamw":
        raise ParamsError(
            f"optimizer = {optimization.optimizer!r} needs whole matrices, which {kind} divides:"
            " give adamw, or a config of the type MULTI_GPU"
        )


def build_engine(model: "PreTrainedModel", processes: Processes) -> Engine:
    """Return the engine that accelerate's config file asks for; data parallel without one."""
    if is_launched() and os.environ.get("ACCELERATE_USE_FSDP") == "true":
        from parallax.training.sharding import Sharded

        return Sharded(model, processes)
    if is_launched() and os.environ.get("ACCELERATE_USE_DEEPSPEED") == "true":
        from parallax.training.zero import Zero

        return Zero(model, processes)
    return Engine(model, processes)
