"""An assessment in words."""

from collections.abc import Iterator

from parallax.dry_run.assessment import Assessment, Room
from parallax.dry_run.memory import GIB


def describe(assessment: Assessment, room: Room) -> Iterator[str]:
    """Yield the lines that tell what a stage would train, run over and take."""
    work, structure, memory = assessment.work, assessment.structure, assessment.memory
    trained = sum(group.parameters for group in structure.groups)
    asked = "two modalities" if work.portraits else "text alone"
    yield f"{assessment.stage}: {work.facts} facts in {asked}, {work.steps} steps"
    tokens, images = work.tokens, work.image_tokens
    yield f"  tokens per step, with padding: mean {tokens.mean:.0f}, at most {tokens.most}"
    yield f"  of them image tokens: mean {images.mean:.0f}, at most {images.most}"
    yield f"  trained: {trained:,} parameters; the model has {structure.parameters:,}"
    for group in structure.groups:
        yield f"    {group.parameters:>15,} in {group.tensors:>3} tensors  {group.pattern}"
    yield f"  memory at its peak, GiB ({room.device}):"
    for name, size in memory.device.items():
        if size:
            yield f"    {size / GIB:>8.2f}  {name}"
    yield f"    {memory.on_device / GIB:>8.2f}  in all, of {room.on_device / GIB:.2f}"
    if memory.main:
        parts = ", ".join(f"{name} {size / GIB:.2f}" for name, size in memory.main.items())
        whole = f"in main memory, of {room.in_main / GIB:.2f} ({parts})"
        yield f"    {memory.in_main / GIB:>8.2f}  {whole}"
