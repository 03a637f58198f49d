"""What a training runs over: its steps, their tokens and the passes through the model."""

import dataclasses
import io
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.dry_run.memory import Pass
from parallax.files import read_json, read_table
from parallax.instances import from_table
from parallax.models.batches import by_length
from parallax.models.encoding import Encoder, Sample
from parallax.models.loading import Loaded
from parallax.models.portraits import KEPT
from parallax.params import Params, Sft, Unlearn
from parallax.training.supervised import list_sources, plan_batches
from parallax.unlearn.knowledge import encode_parts
from parallax.unlearn.methods import METHODS
from parallax.unlearn.objective import (
    for_text_alone,
    has_retain_term,
    list_modalities,
    plan_steps,
)
from parallax.unlearn.reference import BATCH_SIZE

if TYPE_CHECKING:
    import torch
    from transformers import PretrainedConfig


@dataclass(frozen=True)
class Spread:
    """Mean and greatest number of something per step."""

    mean: float
    most: int


@dataclass(frozen=True)
class Workload:
    """The work of one stage.

    `tokens` of a step are those of all its passes, padding included; `image_tokens` stand for
    portraits. `sequences` answers of the reference are kept as a number each, `states` answer
    tokens of it as a vector each. `portraits` is in bytes.
    """

    name: str
    facts: int
    steps: int
    tokens: Spread
    image_tokens: Spread
    passes: frozenset[Pass]
    portraits: int
    sequences: int = 0
    states: int = 0


class Questions:
    """An experiment's training questions as a model's tokens, and the size of its portraits.

    Portraits of one size have the same tokens, so one of each size is prepared and not all.
    """

    def __init__(self, loaded: Loaded, experiment: Path, params: Params) -> None:
        """Read the tables in `experiment` and encode them as the stages of training do.

        Raises:
            DataError: a table is missing, or nobody is to be forgotten or kept.
        """
        portraits = read_table(experiment / "portraits.parquet")
        sizes = [_size_of(file) for file in portraits["portrait"]]
        firsts = {size: row for row, size in reversed(list(enumerate(sizes)))}
        self.encoder = Encoder(loaded.processor, loaded.family, portraits.iloc[[*firsts.values()]])
        self._patches: list[int] = []
        self._bytes: list[int] = []
        if loaded.family.shows_images:
            places = {size: place for place, size in enumerate(firsts)}
            people = zip(portraits["person_id"], sizes, strict=True)
            self.encoder.rows = {person: places[size] for person, size in people}
            shown = [self.encoder.images([place]) for place in range(len(firsts))]
            tower = loaded.model.config.vision_config
            self._patches = [_count_patches(image["pixel_values"], tower) for image in shown]
            self._bytes = [sum(v.numel() * v.element_size() for v in i.values()) for i in shown]
        facts = read_table(experiment / "sft.parquet")
        known = from_table(read_table(experiment / "base.parquet"))
        self.facts = len(facts)
        self.sources = list_sources(
            self.encoder, from_table(facts), known, params.sft, params.base.shares
        )
        splits = read_json(experiment / "splits.json")
        self.forget, self.retain = encode_parts(self.encoder, facts, splits, params.unlearn.method)

    @property
    def portraits(self) -> int:
        """Bytes of the prepared portraits that are kept: everybody's, as far as there is room."""
        return min(KEPT, sum(self._bytes[row] for row in self.encoder.rows.values()))

    def as_pass(
        self, samples: Sequence[Sample], *, gradient: bool = True, compared: bool = False
    ) -> Pass:
        """Return the pass of a batch of samples."""
        return Pass(
            rows=len(samples),
            width=max(len(sample.tokens) for sample in samples),
            answers=sum(sample.answer_length for sample in samples),
            patches=sum(self._patches[s.portrait] for s in samples if s.portrait is not None),
            gradient=gradient,
            compared=compared,
        )

    def count_image_tokens(self, samples: Iterable[Sample]) -> int:
        """Return how many of the tokens stand for portraits."""
        if "image" not in self.encoder.modalities:
            return 0
        image = self.encoder.image_token_id
        return sum(sample.tokens.count(image) for sample in samples if sample.portrait is not None)


def plan_sft(questions: Questions, sft: Sft) -> Workload:
    """Return the work of fine-tuning."""
    samples, batches = plan_batches(
        questions.sources, sft.epochs, sft.batch_size, sft.image_share, sft.seed
    )
    steps = [[[samples[i] for i in rows]] for rows in batches]
    passes = {questions.as_pass(batch) for step in steps for batch in step}
    return _summarise(questions, "sft", questions.facts, steps, passes)


def plan_unlearning(questions: Questions, unlearn: Unlearn) -> Workload:
    """Return the work of unlearning and of the reference before it."""
    forget, retain = questions.forget, questions.retain
    if "image" not in questions.encoder.modalities:
        unlearn = for_text_alone(unlearn)
    plan = plan_steps(
        len(forget),
        len(retain),
        unlearn.batch_size,
        unlearn.descent.epochs,
        unlearn.seed,
    )
    reference = METHODS[unlearn.method].reference
    parts = [(forget, plan.forget, False)]
    if has_retain_term(unlearn):
        parts.append((retain, plan.retain, reference == "retain_logits"))
    steps: list[list[list[Sample]]] = [[] for _ in plan.forget]
    passes = set()
    answers = []
    for knowledge, rows_of_steps, compared in parts:
        used = sorted({row for rows in rows_of_steps for row in rows})
        for m in list_modalities(unlearn):
            side = knowledge.side(m)
            for step, rows in zip(steps, rows_of_steps, strict=True):
                step.append([side[i] for i in rows])
                passes.add(questions.as_pass(step[-1], compared=compared))
            if compared or (knowledge is forget and reference == "forget_nll"):
                known = [side[i] for i in used]
                answers += [sample.answer_length for sample in known]
                for rows in by_length(known, BATCH_SIZE):
                    batch = [known[i] for i in rows]
                    passes.add(questions.as_pass(batch, gradient=False))
    work = _summarise(questions, "unlearn", len(forget), steps, passes)
    if reference == "retain_logits":
        return dataclasses.replace(work, states=sum(answers))
    return dataclasses.replace(work, sequences=len(answers))


def _summarise(
    questions: Questions,
    name: str,
    facts: int,
    steps: Sequence[Sequence[Sequence[Sample]]],
    passes: Iterable[Pass],
) -> Workload:
    """Put together what steps, as batches of samples, run over."""
    tokens = [sum(questions.as_pass(batch).tokens for batch in step) for step in steps]
    images = [sum(questions.count_image_tokens(batch) for batch in step) for step in steps]
    return Workload(
        name=name,
        facts=facts,
        steps=len(steps),
        tokens=Spread(statistics.fmean(tokens), max(tokens)),
        image_tokens=Spread(statistics.fmean(images), max(images)),
        passes=frozenset(passes),
        portraits=questions.portraits,
    )


def _size_of(file: bytes) -> tuple[int, int]:
    from PIL import Image

    with Image.open(io.BytesIO(file)) as image:
        return image.size


def _count_patches(pixels: "torch.Tensor", config: "PretrainedConfig") -> int:
    """Return how many pieces the vision tower cuts an image's inputs into, tiles together."""
    patch = 3 * config.patch_size**2 * getattr(config, "temporal_patch_size", 1)
    return pixels.numel() // int(patch)
