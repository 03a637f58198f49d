"""Whether a training fits into memory."""

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch

from parallax.dry_run.memory import GIB, Beside, Memory, Setup, estimate
from parallax.dry_run.structure import Structure, read_structure
from parallax.dry_run.workload import Questions, Workload, plan_sft, plan_unlearning
from parallax.files import read_table
from parallax.instances import from_table
from parallax.models import embedded
from parallax.models.loading import Loaded, outline, outline_again
from parallax.models.tuning import open_weights
from parallax.params import EMBEDDED, Params, Sft, Unlearn

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Device = Literal["cpu", "cuda"]
Stage = Literal["sft", "unlearn"]
STAGES: tuple[Stage, ...] = ("sft", "unlearn")


@dataclass(frozen=True)
class Room:
    """Memory that there is, bytes: on the device, and in main memory."""

    device: Device
    on_device: int
    in_main: int


def find_room(device: Device, gib: float | None) -> Room:
    """Return the memory of a device, or `gib` in its place, and this machine's main memory."""
    main = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if gib is not None:
        return Room(device, round(gib * GIB), main)
    own = torch.cuda.get_device_properties(0).total_memory if device == "cuda" else main
    return Room(device, own, main)


@dataclass(frozen=True)
class Assessment:
    """What one stage would take."""

    stage: Stage
    work: Workload
    structure: Structure
    memory: Memory

    def fits(self, room: Room) -> bool:
        """Say whether the estimate leaves room."""
        on_device = self.memory.on_device <= room.on_device
        return on_device and self.memory.in_main <= room.in_main


def outline_base(params: Params, experiment: Path) -> Loaded:
    """Return the base model without weights, and its processor.

    The embedded model's tokenizer is made of the experiment's words, as its stage does.

    Raises:
        DataError: a table is missing.
        ModelError: there is no usable configuration or processor.
    """
    if params.model.name_or_path != EMBEDDED:
        return outline(params.model.name_or_path, params.model.revision)
    words = [from_table(read_table(experiment / f"{name}.parquet")) for name in ("base", "sft")]
    portraits = read_table(experiment / "portraits.parquet")["portrait"]
    made = embedded.build_processor(
        embedded.vocabulary_texts([*words[0], *words[1]]),
        params.embedded,
        *embedded.channel_statistics(portraits),
    )
    with torch.device("meta"):
        return Loaded(embedded.build_model(params.embedded, made), made)


class Assessor:
    """Assesses stages of training under parameters that may differ from those of params.yaml.

    Questions and open models are kept: they are the same under most changes.
    """

    def __init__(self, params: Params, experiment: Path, device: Device) -> None:
        """Read the experiment and outline the base model.

        Raises:
            DataError: a table is missing, or nobody is to be forgotten or kept.
            ModelError: there is no usable configuration or processor.
        """
        self._base = outline_base(params, experiment)
        self._questions = Questions(self._base, experiment, params)
        self._device = device
        self._opened: dict[str, PreTrainedModel] = {}

    def assess(self, stage: Stage, params: Params) -> Assessment:
        """Assess a stage; data, questions and the base model are those of the start."""
        section = params.sft if stage == "sft" else params.unlearn
        if stage == "sft":
            work = plan_sft(self._questions, params.sft)
        else:
            work = plan_unlearning(self._questions, params.unlearn)
        model = self._open(section, params)
        structure = read_structure(model, section, params.model.quantization)
        if params.model.attention is not None:
            structure = dataclasses.replace(structure, attention=params.model.attention)
        row = structure.width * structure.format
        beside = Beside(
            portraits=work.portraits,
            reference=8 * work.sequences + work.states * row,
            head=structure.vocabulary * row if work.states else 0,
        )
        setup = Setup(
            self._device,
            dropout=section.tuning == "lora" and section.lora.dropout > 0,
            checkpointing=params.model.gradient_checkpointing,
        )
        memory = estimate(structure, work.passes, beside, setup)
        return Assessment(stage, work, structure, memory)

    def _open(self, section: Sft | Unlearn, params: Params) -> "PreTrainedModel":
        """Return the base model without weights, open as a stage opens it."""
        dtype, attention = params.model.dtype, params.model.attention
        key = f"{section.tuning} {section.lora} {dtype} {attention}"
        if key not in self._opened:
            model = outline_again(self._base.model.config, dtype, attention)
            loaded = Loaded(model, self._base.processor)
            with torch.device("meta"):
                open_weights(loaded, section.tuning, section.lora, section.seed)
            self._opened[key] = model
        return self._opened[key]
