"""How much memory a training takes at its peak."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from parallax.dry_run.structure import Blocks, Structure

GIB = 2**30
FLOAT32 = 4

# Python with torch, transformers and peft, before a model is built.
LIBRARIES = GIB // 2
# On a GPU: its context and the kernels' workspaces. An allowance, since drivers differ.
CONTEXT = GIB
# What glibc's malloc holds of freed activations, as a multiple of those in use: 0 to 1.4 were seen.
HELD = 0.5


@dataclass(frozen=True)
class Pass:
    """One pass through the model: `rows` padded to `width` tokens, of which `answers` are answers.

    `patches` counts the pieces of images that the vision tower sees. Without `gradient` nothing is
    kept for a backward pass. `compared` answers are also compared with the reference's logits.
    """

    rows: int
    width: int
    answers: int
    patches: int
    gradient: bool = True
    compared: bool = False

    @property
    def tokens(self) -> int:
        """Number of tokens, padding included."""
        return self.rows * self.width


@dataclass(frozen=True)
class Setup:
    """How a model is trained, as far as memory depends on it."""

    device: Literal["cpu", "cuda"]
    dropout: bool
    checkpointing: bool = False


@dataclass(frozen=True)
class Beside:
    """What a training keeps beside the model, in bytes.

    `portraits` as the vision tower takes them and the `reference` model's values of answers lie in
    main memory, its output layer, `head`, on the device.
    """

    portraits: int
    reference: int
    head: int


@dataclass(frozen=True)
class Memory:
    """Bytes by purpose: on the device, and in main memory where that is another."""

    device: Mapping[str, int]
    main: Mapping[str, int]

    @property
    def on_device(self) -> int:
        """All that lies on the device."""
        return sum(self.device.values())

    @property
    def in_main(self) -> int:
        """All that lies in main memory beside a GPU; 0 without one."""
        return sum(self.main.values())


def estimate(structure: Structure, passes: Iterable[Pass], beside: Beside, setup: Setup) -> Memory:
    """Estimate the peak of a training; it's meant to be a little more than what is used.

    weights + gradients + optimizer + reference's output layer + max(activations, step), where a
    step of the optimizer makes copies: on a GPU of all trained weights at once, on a CPU of one
    after another. Gradients are counted beside all activations, as in every pass but a step's
    first. A CPU adds portraits, reference and libraries, and what malloc holds; a GPU its context,
    and leaves those in main memory, through which the weights are loaded first.
    """
    activations = max(activations_of(structure, seen, setup) for seen in passes)
    step = structure.gradients if setup.device == "cuda" else 2 * structure.largest
    device = {
        "weights": structure.weights,
        "gradients": structure.gradients,
        "optimizer": structure.moments,
        "activations": max(activations, step),
        "reference": beside.head,
    }
    kept = {"portraits": beside.portraits, "reference": beside.reference}
    if setup.device == "cuda":
        main = {"weights or portraits": max(structure.weights, sum(kept.values()))}
        return Memory(device | {"context": CONTEXT}, main | {"libraries": LIBRARIES})
    device["reference"] += kept["reference"]
    device |= {"portraits": kept["portraits"], "held by malloc": round(HELD * activations)}
    return Memory(device | {"libraries": LIBRARIES}, {})


def activations_of(structure: Structure, seen: Pass, setup: Setup) -> int:
    """Return the bytes of activations at the peak of one pass.

    With k_i bytes kept of a block of kind i (`kept_by_block`), L_i blocks, n tokens of h numbers
    of b bytes, and A answers over a vocabulary of V:

        sum_i L_i k_i + max_i k_i + 3 n b h + A V (b + 4 c)

    the second term for the gradients of a block's activations, the third for embeddings and the
    last norm, and c = 3 float32 copies of the logits (5 where they are compared with a
    reference's). With gradient checkpointing L_i k_i becomes L_i n b h + k_i. Without a gradient
    only a block's own work and the logits are there.
    """
    b = structure.format
    copies = 5 if seen.compared else 3
    logits = seen.answers * structure.vocabulary * (b + FLOAT32 * copies)
    edges = 3 * seen.tokens * b * structure.width
    if not seen.gradient:
        return logits + edges + max(_work(blocks, seen, b) for blocks in structure.blocks)
    kept, largest = 0, 0
    for blocks in structure.blocks:
        one = kept_by_block(blocks, seen, structure, setup)
        largest = max(largest, one or _work(blocks, seen, b))
        if one and setup.checkpointing:
            kept += blocks.count * _tokens(blocks, seen) * b * blocks.width + one
        else:
            kept += blocks.count * one
    return kept + largest + edges + logits


def kept_by_block(blocks: Blocks, seen: Pass, structure: Structure, setup: Setup) -> int:
    """Return the bytes that autograd keeps of one block for the backward pass.

    With h, a and f the sizes of the residual stream, of all heads and of the MLP, b bytes per
    number, n tokens in B rows of T, and norms in float32, a gated block (Llama, Qwen2) keeps

        n (8 h + 4 b a + 3 b f)    inputs of both norms; q, k, v, out; gate, its SiLU, up
        n (4 b h + b f)            if trained: both norms' results, twice; the input of `down`
        n (x s + 4 r)              if adapted: s and r, sums of the adapters' inputs and ranks
        B T² b                     the mask (sdpa), or B heads T² (4 + b) of scores (eager)

    where x = 4 (the input in float32) + m under dropout (its mask, m = 1 on a GPU, 4 on a CPU);
    a float32 model without dropout shares inputs, so that x s becomes 4 (2 h + f). A plain block
    (ViT) keeps n b (8 h + 2 f) if trained, f more under quick GELU, 3 h more if it takes q, k and v
    from one projection. Frozen blocks without adapters keep nothing.
    """
    h, a, f, b = blocks.width, blocks.attention, blocks.inner, structure.format
    if not (blocks.trained or blocks.adapted):
        return 0
    n = _tokens(blocks, seen)
    if not blocks.gated:
        return n * b * ((8 + 3 * blocks.fused) * h + (2 + blocks.quick) * f)
    kept = 8 * h + 4 * b * a + 3 * b * f
    if blocks.trained:
        kept += 4 * b * h + b * f
    if blocks.adapted:
        mask = 1 if setup.device == "cuda" else FLOAT32
        shared = b == FLOAT32 and not setup.dropout
        inputs = 2 * h + f if shared else blocks.adapted
        kept += (FLOAT32 + mask * setup.dropout) * inputs + FLOAT32 * blocks.rank
    pairs = seen.rows * seen.width**2 if blocks.part == "language" else 0
    scores = {"sdpa": b, "eager": structure.heads * (FLOAT32 + b * (b < FLOAT32))}
    return n * kept + pairs * scores.get(structure.attention, 0)


def _work(blocks: Blocks, seen: Pass, b: int) -> int:
    """What one block without gradients makes at a time: in and out, q, k, v, the MLP's inside."""
    return _tokens(blocks, seen) * b * (2 * blocks.width + 3 * max(blocks.attention, blocks.inner))


def _tokens(blocks: Blocks, seen: Pass) -> int:
    return seen.tokens if blocks.part == "language" else seen.patches
