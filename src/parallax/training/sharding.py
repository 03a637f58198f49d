"""Training with weights, gradients and optimizer states divided between the processes (FSDP)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor
from torch.utils._pytree import tree_map

from parallax.models.batches import Batch
from parallax.params import Optimization
from parallax.processes import Processes
from parallax.training.engine import CLIP, AnswerPasses, Engine, refuse_muon

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Sharded(Engine):
    """Each process holds a part of every weight; a layer's weights are gathered while it runs.

    FSDP version 2 (Zhao et al. 2023, arXiv 2304.11277), each layer that the model must not split
    by itself. The model is loaded whole first, so it must fit the memory of one process; gradients
    and optimizer states, which take three to seven times as much, never are whole.
    """

    kind = "fsdp"
    shards = True

    def __init__(self, model: "PreTrainedModel", processes: Processes) -> None:
        """Divide the model as accelerate's config file says (the environment holds it)."""
        from accelerate.utils import FullyShardedDataParallelPlugin

        super().__init__(model, processes)
        plugin = FullyShardedDataParallelPlugin(fsdp_version=2)
        layers = set(plugin.transformer_cls_names_to_wrap or model._no_split_modules)
        self._passes = AnswerPasses(model)
        for module in model.modules():
            if type(module).__name__ in layers:
                fully_shard(module, reshard_after_forward=plugin.reshard_after_forward)
        fully_shard(self._passes)
        self._trained = super().trained

    @property
    def trained(self) -> dict[str, torch.nn.Parameter]:
        """This process's part of the open weights, by name."""
        return self._trained

    def logits(self, batch: Batch) -> torch.Tensor:
        """Return `answer_logits` of the batch."""
        logits: torch.Tensor = self._passes(batch)
        return logits

    def states(self, batch: Batch) -> torch.Tensor:
        """Return `answer_states` of the batch."""
        states: torch.Tensor = self._passes(batch, states=True)
        return states

    def freeze_head(self) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return a whole copy of the output layer as it now is."""
        head = self.model.get_output_embeddings()
        weight, bias = _whole(head.weight), None if head.bias is None else _whole(head.bias)
        return lambda states: torch.nn.functional.linear(states, weight, bias)

    def open(self, optimization: Optimization, learning_rate: float) -> None:
        """Make the optimizers, and begin to train.

        Raises:
            ParamsError: the optimizer is Muon, which takes a matrix as a whole.
        """
        refuse_muon(optimization, self.kind)
        self._reshard()
        super().open(optimization, learning_rate)

    def backward(self, loss: torch.Tensor) -> None:
        """Add the gradient of this process's share of a loss; FSDP takes the processes' mean."""
        (loss * self.processes.count).backward()

    def clip(self) -> float:
        """Clip the norm of the whole gradient; return it before clipping."""
        norm = torch.nn.utils.clip_grad_norm_(self.trained.values(), CLIP)
        return _whole(norm).item()

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps of this process: its part of weights and optimizers."""
        local: dict[str, Any] = tree_map(_local, super().state())
        return local

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            weights = [weight for group in optimizer.param_groups for weight in group["params"]]
            for number, values in saved["state"].items():
                for key, value in values.items():
                    values[key] = _part_like(weights[number], value)
        parts = {n: _part_like(self.trained[n], part) for n, part in state["weights"].items()}
        super().load_state(state | {"weights": parts})

    def close(self) -> None:
        """End the training: on the main process `model` holds whole weights again."""
        self._reshard()
        whole: dict[torch.Tensor, torch.nn.Parameter] = {}
        for module in self.model.modules():
            for name, part in list(module.named_parameters(recurse=False)):
                if part not in whole:  # tied weights are one
                    weight = torch.nn.Parameter(_whole(part), part.requires_grad)
                    whole[part] = weight if self.processes.main else part
                module.register_parameter(name, whole[part])
        super().close()

    def _reshard(self) -> None:
        """Leave every process its part alone: a pass without gradients may have left more."""
        for module in self._passes.modules():
            if isinstance(module, FSDPModule):
                module.reshard()


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor.clone()).detach()


def _local(value: Any) -> Any:
    return value.to_local() if isinstance(value, DTensor) else value


def _part_like(weight: torch.Tensor, value: Any) -> Any:
    """Return a stored tensor as a part of one that is divided as `weight` is; numbers stay."""
    if not isinstance(weight, DTensor) or not isinstance(value, torch.Tensor) or not value.ndim:
        return value
    return DTensor.from_local(
        value.to(weight.device),
        weight.device_mesh,
        weight.placements,
        shape=weight.shape,
        stride=weight.stride(),
    )
