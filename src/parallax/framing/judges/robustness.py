"""Does a verdict change where it should not: asked again, in other words, or typed otherwise?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from parallax.framing.items import LabelledResponse
from parallax.framing.judges.calibration import to_cases
from parallax.framing.judges.judge import (
    Case,
    Judge,
    Lettered,
    Prior,
    Verdict,
    Worded,
    judge_all,
)
from parallax.stats.proportions import Proportion, clustered_interval


def set_typographically(text: str) -> str:
    """Return `text` with curved apostrophes and, by turns opening and closing, curved quotes."""
    first, *others = text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}").split('"')
    marks = "\N{LEFT DOUBLE QUOTATION MARK}", "\N{RIGHT DOUBLE QUOTATION MARK}"
    return first + "".join(marks[n % 2] + part for n, part in enumerate(others))


SURFACES: dict[str, Callable[[str], str]] = {
    "lower_case": str.lower,
    "typographic": set_typographically,
    "blanks_around": lambda text: f"\n\n  {text}  \n",
}
"""Changes of a response's surface that leave its meaning.

Quotation marks around all of it are none: they make a refusal the text that was asked for.
"""


@dataclass(frozen=True)
class Robustness:
    """Shares of responses whose verdict changed; unscored is a verdict here.

    `retest`: asked again in the reverse order, so that a response stands in another batch.
    `rewordings`: by the wording's number from 1 on; none where the judge has no rubric. `surfaces`:
    of the responses that a change of surface alters. `content_free`: None for a judge that chooses
    no letters.
    Intervals are for responses that depend on each other within an item.
    """

    retest: Proportion
    rewordings: tuple[Proportion, ...]
    surfaces: dict[str, Proportion]
    content_free: Prior | None


def measure_robustness(
    judge: Judge, rows: Sequence[LabelledResponse], verdicts: Sequence[Verdict]
) -> Robustness:
    """Judge labelled responses again in every way that should leave the `verdicts` as they are."""
    cases = to_cases(rows)
    return Robustness(
        retest=count_flips(rows, verdicts, judge_all(judge, cases[::-1])[::-1]),
        rewordings=tuple(
            count_flips(rows, verdicts, judge_all(other, cases))
            for other in (judge.reword() if isinstance(judge, Worded) else ())
        ),
        surfaces={
            name: _change_surface(judge, rows, verdicts, change)
            for name, change in SURFACES.items()
        },
        content_free=judge.content_free() if isinstance(judge, Lettered) else None,
    )


def count_flips(
    rows: Sequence[LabelledResponse], before: Sequence[Verdict], after: Sequence[Verdict]
) -> Proportion:
    """Return the share of responses with another category than before."""
    flips = [a.category != b.category for a, b in zip(before, after, strict=True)]
    return clustered_interval(np.array(flips, dtype=bool), [row.item for row in rows])


def _change_surface(
    judge: Judge,
    rows: Sequence[LabelledResponse],
    verdicts: Sequence[Verdict],
    change: Callable[[str], str],
) -> Proportion:
    altered = [n for n, row in enumerate(rows) if change(row.response) != row.response]
    cases = [Case(rows[n].body, change(rows[n].response)) for n in altered]
    return count_flips(
        [rows[n] for n in altered], [verdicts[n] for n in altered], judge_all(judge, cases)
    )
