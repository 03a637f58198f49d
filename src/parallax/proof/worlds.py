"""Whole simulated experiments: items, prompts, responses and a judge, open to planted faults."""

import dataclasses
import itertools
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from parallax.framing.items import CATEGORIES, PARAPHRASES, Item
from parallax.framing.judges.judge import Case, Outcome, Verdict
from parallax.framing.prompt_table import prompts_table
from parallax.framing.prompts import FRAMES, Frame, FrameSpec, plan_prompts
from parallax.proof.responders import Responder, draw_counts, judge_like, place_verdicts
from parallax.stats.items import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

SUBJECT, JUDGE = "simulated", "simulated"
# Words of a response, of so many different ones: no two responses are alike by chance.
LENGTH, VOCABULARY = 24, 10_000


@dataclasses.dataclass(frozen=True, eq=False)
class SimulatedJudge:
    """A judge whose errors are known; it reads what a response is from its first word.

    `chances[f]` has a row per category and a column per entry of `VERDICTS`; the row of the frame
    is taken whose clause the judge is shown, that of N where it sees none, and that of `always`
    where this is given. A verdict is a function of response and frame: judged twice, a response
    gets the same one.
    """

    chances: Floats
    spec: FrameSpec
    always: Frame | None = None
    name: str = JUDGE
    model: str | None = None
    outcomes: tuple[Outcome, ...] = CATEGORIES

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """Return one verdict per case."""
        edges = np.cumsum(self.chances, axis=2)
        found = []
        for case in cases:
            truth = CATEGORIES.index(case.response.split()[0])
            luck = zlib.crc32(case.response.encode()) / 2**32
            row = edges[self._frame(case), truth]
            place = int(np.searchsorted(row[:-1], luck, side="right"))
            scored = place < len(CATEGORIES)
            found.append(
                Verdict(CATEGORIES[place], "simulated") if scored else Verdict(None, "abstained")
            )
        return found

    def _frame(self, case: Case) -> int:
        if self.always is not None:
            return FRAMES.index(self.always)
        shown = case.framed or ""
        seen = [place for place, frame in enumerate(FRAMES) if self.spec.clause[frame] in shown]
        return seen[0] if seen else FRAMES.index("N")


@dataclasses.dataclass(frozen=True, eq=False)
class World:
    """One simulated experiment.

    `truth` has the place in `CATEGORIES` of each response, (I, P, F, K), and `texts` the responses
    in that order; `scores` are the items' familiarity, (I,). `judge_sees_frame` is a fault: the
    judge is shown the request as it was framed.
    """

    items: tuple[Item, ...]
    spec: FrameSpec
    prompts: "pd.DataFrame"
    truth: Ints
    texts: tuple[str, ...]
    judge: SimulatedJudge
    scores: Floats
    judge_sees_frame: bool = False

    @property
    def responses(self) -> "pd.DataFrame":
        """The table of responses."""
        import pandas as pd

        names = ([item.id for item in self.items], PARAPHRASES, FRAMES, range(self.truth.shape[3]))
        table = pd.DataFrame(
            itertools.product(*names), columns=["item", "paraphrase", "arm", "draw"]
        )
        return table.assign(subject=SUBJECT, wording=self.spec.name, response=list(self.texts))


def simulate_world(
    responder: Responder, pool: Sequence[Item], spec: FrameSpec, rng: np.random.Generator
) -> World:
    """Draw an experiment without a fault; `responder` has a judge that errs not.

    Its items are drawn from `pool`. The judge of the experiment is right in nine of ten responses
    that it scores, and abstains on one of thirty, in all frames alike.
    """
    chosen = rng.choice(len(pool), responder.items, replace=False)
    items = tuple(pool[place] for place in sorted(chosen))
    truth = draw_truth(responder, rng)
    return World(
        items=items,
        spec=spec,
        prompts=prompts_table(plan_prompts(items, [spec]), items),
        truth=truth,
        texts=write_texts(truth, rng),
        judge=SimulatedJudge(judge_like(0.9, 1 / 30), spec),
        scores=rng.standard_normal(responder.items),
    )


def draw_truth(responder: Responder, rng: np.random.Generator) -> Ints:
    """Draw what each response is, (I, P, F, K)."""
    return place_verdicts(draw_counts(responder, 1, rng)[0])


def write_texts(truth: Ints, rng: np.random.Generator) -> tuple[str, ...]:
    """Write a response for each truth: its category, and words of no meaning."""
    words = rng.integers(0, VOCABULARY, (truth.size, LENGTH))
    return tuple(
        " ".join((CATEGORIES[code], *map(str, row)))
        for code, row in zip(truth.ravel(), words.tolist(), strict=True)
    )
