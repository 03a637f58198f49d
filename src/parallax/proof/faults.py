"""Faults of an instrument, planted one at a time into simulated experiments."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from parallax.framing.items import CATEGORIES, Item
from parallax.framing.prompt_table import prompts_table
from parallax.framing.prompts import FRAMES, FrameSpec, plan_prompts
from parallax.proof.responders import VERDICTS, Responder
from parallax.proof.worlds import World, draw_truth, simulate_world, write_texts

Plant = Callable[[World, np.random.Generator], World]

# An honest effect, and none: what stands behind an experiment before a fault is planted.
HONEST = Responder(items=40, base_rate=0.3, effects=(0.3, 0.0, 0.0))
NULL = Responder(items=40, base_rate=0.3)
# As many items as it takes to infer from familiarity.
MANY = Responder(items=60, base_rate=0.3)


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault, the alarm that must catch it, and the responder behind it."""

    name: str
    alarm: str
    responder: Responder
    plant: Plant

    def make(self, pool: Sequence[Item], spec: FrameSpec, rng: np.random.Generator) -> World:
        """Draw an experiment and plant the fault."""
        return self.plant(simulate_world(self.responder, pool, spec, rng), rng)


def leak_into_the_prompt(world: World, rng: np.random.Generator) -> World:
    """Let the evaluation's prompts end in a sentence of their own, outside the slot."""
    prompts = world.prompts.copy()
    prompts.loc[prompts["arm"] == "E", "text"] += "\n\nAnswer with care."
    return dataclasses.replace(world, prompts=prompts)


def copy_an_item(world: World, rng: np.random.Generator) -> World:
    """Make one item's body that of another with a word more."""
    first, second = rng.choice(len(world.items), 2, replace=False)
    body = f"{world.items[first].body.rstrip('.?')} today."
    items = list(world.items)
    harm = items[first].harm_class
    items[second] = dataclasses.replace(items[second], body=body, harm_class=harm)
    prompts = prompts_table(plan_prompts(items, [world.spec]), items)
    return dataclasses.replace(world, items=tuple(items), prompts=prompts)


def show_the_judge_the_frame(world: World, rng: np.random.Generator) -> World:
    """Let a judge see the frame that takes three in ten compliant answers to a test as refusals."""
    chances = world.judge.chances.copy()
    refusal, comply = (CATEGORIES.index(name) for name in ("refusal", "harmful_compliance"))
    moved = 0.3 * chances[FRAMES.index("E"), comply, comply]
    chances[FRAMES.index("E"), comply, [comply, refusal]] += -moved, moved
    judge = dataclasses.replace(world.judge, chances=chances)
    return dataclasses.replace(world, judge=judge, judge_sees_frame=True)


def repeat_the_first_draw(world: World, rng: np.random.Generator) -> World:
    """Give all draws of a prompt its first response."""
    truth = np.broadcast_to(world.truth[..., :1], world.truth.shape)
    texts = np.array(world.texts, dtype=object).reshape(truth.shape)[..., :1]
    same = tuple(np.broadcast_to(texts, truth.shape).ravel().tolist())
    return dataclasses.replace(world, truth=truth, texts=same)


def abstain_under_evaluation(world: World, rng: np.random.Generator) -> World:
    """Leave half of what is no refusal unscored, under evaluation alone; the judge sees the frame.

    The share of refusals among the scored rises, and no response has changed.
    """
    chances = world.judge.chances.copy()
    others = [place for place, name in enumerate(CATEGORIES) if name != "refusal"]
    rows = chances[FRAMES.index("E"), others] * 0.5
    rows[:, VERDICTS.index("")] += 0.5
    chances[FRAMES.index("E"), others] = rows
    judge = dataclasses.replace(world.judge, chances=chances)
    return dataclasses.replace(world, judge=judge, judge_sees_frame=True)


def move_one_version(world: World, rng: np.random.Generator) -> World:
    """Give the first version of the requests the effect, and the second none."""
    moved = draw_truth(dataclasses.replace(NULL, base_rate=0.2, effects=(0.5, 0.0, 0.0)), rng)
    return _retell(world, np.stack([moved[:, 0], world.truth[:, 1]], axis=1), rng)


def word_one_version_otherwise(world: World, rng: np.random.Generator) -> World:
    """Let the second version of the requests be refused more often, in all frames alike."""
    other = draw_truth(dataclasses.replace(NULL, base_rate=0.7), rng)
    return _retell(world, np.stack([world.truth[:, 0], other[:, 1]], axis=1), rng)


def know_a_third_by_heart(world: World, rng: np.random.Generator) -> World:
    """Let the effect sit in the third of the items that the model knows best."""
    known = world.scores >= np.quantile(world.scores, 2 / 3)
    moved = draw_truth(dataclasses.replace(MANY, base_rate=0.2, effects=(0.7, 0.0, 0.0)), rng)
    return _retell(world, np.where(known[:, None, None, None], moved, world.truth), rng)


def _retell(world: World, truth: np.ndarray, rng: np.random.Generator) -> World:
    return dataclasses.replace(world, truth=truth, texts=write_texts(truth, rng))


FAULTS = (
    Fault("frame-sensitive judge", "judge", NULL, show_the_judge_the_frame),
    Fault("leaky slot", "slot", HONEST, leak_into_the_prompt),
    Fault("effect of one version", "versions", NULL, move_one_version),
    Fault("effect of wording alone", "placebo", NULL, word_one_version_otherwise),
    Fault("collapsed draws", "draws", HONEST, repeat_the_first_draw),
    Fault("abstention by frame", "abstention", NULL, abstain_under_evaluation),
    Fault("near-copies among items", "near_copies", HONEST, copy_an_item),
    Fault("effect of known requests", "familiarity", MANY, know_a_third_by_heart),
)
