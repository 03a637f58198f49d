"""Supervised training on questions and answers in both modalities."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parallax.models.batches import answer_nll, collate
from parallax.models.encoding import Encoder, Sample
from parallax.params import Sft, Shares, Supervised
from parallax.records import TASKS, Instance
from parallax.seeding import generator
from parallax.training.checkpoint import Checkpoints
from parallax.training.engine import Engine
from parallax.training.knowledge import Knowledge, encode_knowledge
from parallax.training.loop import Objective, Observer, Plan, Row, Term, train
from parallax.training.order import bucket, draw
from parallax.training.parts import take_part


@dataclass(frozen=True)
class Source:
    """Knowledge to train on, and its share of the samples."""

    knowledge: Knowledge
    share: float


def by_format(
    encoder: Encoder,
    instances: Sequence[Instance],
    shares: Shares,
    total: float = 1.0,
) -> list[Source]:
    """Return one source per question format; their shares of the samples sum to `total`.

    A format without instances leaves its share to the others.
    """
    pools = {task: [i for i in instances if i.task == task] for task in TASKS}
    weights = {task: getattr(shares, task) for task, pool in pools.items() if pool}
    scale = total / sum(weights.values())
    return [
        Source(encode_knowledge(encoder, pools[task]), weight * scale)
        for task, weight in weights.items()
        if weight > 0
    ]


def list_sources(
    encoder: Encoder,
    facts: Sequence[Instance],
    known: Sequence[Instance],
    params: Sft,
    shares: Shares,
) -> list[Source]:
    """Return what fine-tuning draws from: the facts to learn, and what the base model knows."""
    text_with_portrait = params.text_path == "image"
    learned = encode_knowledge(encoder, facts, text_with_portrait=text_with_portrait)
    sources = [Source(learned, 1 - params.replay_share)]
    if params.replay_share:
        sources += by_format(encoder, known, shares, params.replay_share)
    return sources


def plan_batches(
    sources: Sequence[Source], epochs: int, batch_size: int, image_share: float, seed: int
) -> tuple[list[Sample], list[list[int]]]:
    """Return all samples, and the batches of the whole training as indices into them.

    An epoch has as many samples of the first source as that source has instances in both
    modalities; `image_share` of every source's samples come with the portrait, and the other
    sources are drawn in proportion to their shares. Each pool is drawn in whole permutations. Where
    the model takes text alone, all samples are text.
    """
    rng = generator("supervised order", seed)
    samples: list[Sample] = []
    drawn: list[int] = []
    first = sources[0]
    if not first.knowledge.image:
        image_share = 0.0
    total = epochs * (len(first.knowledge.image) + len(first.knowledge.text)) / first.share
    for source in sources:
        for pool, share in (
            (source.knowledge.image, image_share),
            (source.knowledge.text, 1 - image_share),
        ):
            members = range(len(samples), len(samples) + len(pool))
            samples.extend(pool)
            drawn.extend(draw(members, round(total * source.share * share), rng))
    rng.shuffle(drawn)
    return samples, bucket(drawn, [len(s.tokens) for s in samples], batch_size, rng)


def supervised_objective(
    engine: Engine,
    samples: Sequence[Sample],
    batches: Sequence[Sequence[int]],
    encoder: Encoder,
) -> Objective:
    """Return the objective mean_b M_b, with M_b the mean NLL of sequence b's answer tokens, nats.

    Every fact weighs the same, whatever the length of its answer.
    """

    def objective(step: int) -> Iterator[Term]:
        part = take_part(batches[step], samples, engine.processes)
        batch = collate([samples[i] for i in part.rows], encoder, device=engine.model.device)
        nll = answer_nll(engine.logits(batch), batch)
        yield Term("loss", part.mean(nll.mean), 1.0)  # the only term is the loss itself

    return objective


def fit(
    engine: Engine,
    sources: Sequence[Source],
    params: Supervised,
    encoder: Encoder,
    checkpoints: Checkpoints,
    observe: Observer,
    label: str,
) -> list[Row]:
    """Train the model on the sources as `params` says and return the curve, one row per step."""
    samples, batches = plan_batches(
        sources, params.epochs, params.batch_size, params.image_share, params.seed
    )
    plan = Plan(len(batches), len(batches) / params.epochs, params.learning_rate, params)
    objective = supervised_objective(engine, samples, batches, encoder)
    return train(engine, objective, plan, checkpoints, observe, label)
