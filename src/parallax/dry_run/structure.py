"""What a model is made of: its blocks, its weights, and which of them are trained."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

from parallax.params import Optimization, Quantization
from parallax.training.optimizers import build_optimizers

if TYPE_CHECKING:
    from transformers import PreTrainedModel


# Bytes per weight: int4 has a float32 scale to each 64 weights, int8 one to each row.
QUANTIZED: Mapping[Quantization, float] = {"int8": 1.0, "int4": 0.5 + 4 / 64}


@dataclass(frozen=True)
class Blocks:
    """Equal transformer blocks of a model's language or vision part.

    `width`, `attention` and `inner` are the sizes of the residual stream, of all attention heads
    together and of the MLP. A `gated` MLP has two projections into it; the activation of another
    may be a `quick` GELU. `fused`: queries, keys and values come from one projection. `trained`
    says that the blocks' own weights are open; where adapters are, `adapted` is the sum of their
    inputs' sizes and `rank` that of their ranks, over one block.
    """

    part: Literal["language", "vision"]
    count: int
    width: int
    attention: int
    inner: int
    gated: bool
    quick: bool
    fused: bool
    trained: bool
    adapted: int
    rank: int


@dataclass(frozen=True)
class Group:
    """Trained weights whose names differ in numbers alone."""

    pattern: str
    tensors: int
    parameters: int


@dataclass(frozen=True)
class Structure:
    """A model ready for a training; sizes in bytes.

    `parameters` counts its own weights, without adapters. `gradients` is the size of all trained
    weights, `moments` that of what the optimizers keep of them, `largest` that of the largest
    trained weight. `vocabulary` counts tokens, `format` is bytes per number of the model's own
    format, whether its weights are stored in it or quantized; `heads` are the language model's.
    """

    parameters: int
    weights: int
    gradients: int
    moments: int
    largest: int
    vocabulary: int
    width: int
    format: int
    attention: str
    heads: int
    blocks: tuple[Blocks, ...]
    groups: tuple[Group, ...]


def read_structure(
    model: "PreTrainedModel", optimization: Optimization, quantization: Quantization | None = None
) -> Structure:
    """Read a model, on torch's `meta` device or another, whose weights are open for training.

    AdamW keeps two numbers per trained weight, Muon one, in the weight's own format. A model to be
    quantized comes in its own format: what it would take is worked out.
    """
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    moments = 0
    for optimizer in build_optimizers(model, optimization, learning_rate=1.0):
        kept = 1 if isinstance(optimizer, torch.optim.Muon) else 2
        moments += kept * sum(_size(w) for group in optimizer.param_groups for w in group["params"])
    head = model.get_output_embeddings().weight
    own = [weight for name, weight in model.named_parameters() if ".lora_" not in name]
    stored = sum(_size(tensor) for tensor in (*model.parameters(), *model.buffers()))
    return Structure(
        parameters=sum(weight.numel() for weight in own),
        weights=stored - _saved_by(quantization, model),
        gradients=sum(map(_size, trained)),
        moments=moments,
        largest=max(map(_size, trained)),
        vocabulary=head.shape[0],
        width=head.shape[1],
        format=model.dtype.itemsize,
        attention=model.config._attn_implementation,
        heads=model.config.get_text_config().num_attention_heads,
        blocks=tuple(_read_blocks(model)),
        groups=tuple(_group(model)),
    )


def _size(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _saved_by(quantization: Quantization | None, model: "PreTrainedModel") -> int:
    """Bytes less than in its own format: what adapters sit on is quantized, and nothing else."""
    if quantization is None:
        return 0
    below = [w for name, w in model.named_parameters() if name.endswith(".base_layer.weight")]
    return sum(_size(w) - round(w.numel() * QUANTIZED[quantization]) for w in below)


def _group(model: "PreTrainedModel") -> Sequence[Group]:
    found: dict[str, list[int]] = {}
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            found.setdefault(re.sub(r"(?<=\.)\d+(?=\.)", "*", name), []).append(weight.numel())
    return [Group(pattern, len(sizes), sum(sizes)) for pattern, sizes in found.items()]


def _read_blocks(model: "PreTrainedModel") -> Sequence[Blocks]:
    """Return the model's blocks: lists of modules that hold attention."""
    decoder = model.get_decoder()
    language = {id(module) for module in decoder.modules()}
    return [
        _read_block(module[0], len(module), "language" if id(module) in language else "vision")
        for _, module in model.named_modules()
        if isinstance(module, torch.nn.ModuleList)
        and len(module)
        and any("attn" in name or "attention" in name for name, _ in module[0].named_modules())
    ]


def _read_block(block: torch.nn.Module, count: int, part: Literal["language", "vision"]) -> Blocks:
    from transformers.activations import QuickGELUActivation

    linears = {
        name: module
        for name, module in block.named_modules()
        if isinstance(module, torch.nn.Linear) and ".lora_" not in name
    }
    adapters = [
        module.weight
        for name, module in block.named_modules()
        if ".lora_A." in name and isinstance(module, torch.nn.Linear)
    ]
    first, *_, last = linears.values()
    query = next((m for name, m in linears.items() if "q_proj" in name), None)
    attention = first.in_features if query is None else query.out_features
    return Blocks(
        part=part,
        count=count,
        width=first.in_features,
        attention=attention,
        inner=last.in_features,
        gated=any("gate_proj" in name for name in linears),
        quick=any(isinstance(module, QuickGELUActivation) for module in block.modules()),
        fused=any("qkv" in name for name in linears),
        trained=any(m.weight.requires_grad for m in linears.values()),
        adapted=sum(weight.shape[1] for weight in adapters),
        rank=sum(weight.shape[0] for weight in adapters),
    )
