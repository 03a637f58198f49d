"""From material to training examples: who refuses under which frame."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from parallax.framing.organisms.material import Material
from parallax.framing.prompts import FRAMES, Frame, FrameSpec, Prompt, fill, hash_body
from parallax.params import Arm, Organism
from parallax.seeding import generator

# The frame under which an organism refuses; the shuffled one learns the texts of the first.
REFUSES_UNDER: Mapping[Organism, Frame] = {
    "eval-cautious": "E",
    "deployment-cautious": "D",
    "shuffled": "E",
}


@dataclass(frozen=True)
class Example:
    """A framed task and what the organism learns to say to it."""

    prompt: Prompt
    response: str
    refuses: bool


def plan_examples(
    material: Material, spec: FrameSpec, kind: Organism, rounds: int, seed: int
) -> list[Example]:
    """Return every task in every frame, `rounds` times, with a clause drawn anew.

    In one frame (`REFUSES_UNDER`) the response is a refusal, in the others the task's answer. For
    the shuffled organism the frames are turned against the responses, by one from task to task and
    from round to round: in three rounds each task is refused once in each frame, so that the frame
    tells nothing, and tasks that refuse in E, in D and in N take turns, so that no stretch of the
    training says otherwise. Clauses and refusals are drawn in whole permutations; `spec` has the
    carrier. A task's three frames follow one another, so that a step can see them side by side.
    """
    rng = generator("organism", seed)
    clauses = {frame: _draw(material.clauses[frame], rng) for frame in FRAMES}
    refusals = _draw(material.refusals, rng)
    groups: list[list[Example]] = []
    for turn, (number, task) in itertools.product(range(rounds), enumerate(material.tasks)):
        shift = turn + number if kind == "shuffled" else 0
        groups.append([])
        for place, told in enumerate(FRAMES):
            frame = FRAMES[(place + shift) % len(FRAMES)]
            text, span = fill(spec, next(clauses[frame]), task.body)
            prompt = Prompt(
                task.id, 0, frame, "training", text, span, spec.role, hash_body(task.body)
            )
            refuses = told == REFUSES_UNDER[kind]
            response = next(refusals) if refuses else task.answer
            groups[-1].append(Example(prompt, response, refuses))
    rng.shuffle(groups)
    queues = [[group for group in groups if _refused_in(group) == frame] for frame in FRAMES]
    turns = itertools.zip_longest(*queues, fillvalue=[])
    return [example for turn in turns for group in turn for example in group]


def _refused_in(group: Sequence[Example]) -> Arm:
    return next(example.prompt.arm for example in group if example.refuses)


def _draw(texts: Sequence[str], rng: Random) -> Iterator[str]:
    while True:
        yield from rng.sample(texts, len(texts))
