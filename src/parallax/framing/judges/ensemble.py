"""A judge of judges: the majority of its members, and nothing where there is none."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from parallax.errors import ParamsError
from parallax.framing.items import CATEGORIES
from parallax.framing.judges.judge import (
    JUDGES,
    Case,
    Judge,
    Outcome,
    Setup,
    Verdict,
    Worded,
    judge_all,
)

QUORUM = 2
"""Members that must agree: one alone is no ensemble."""


@dataclass(frozen=True)
class Ensemble:
    """Judges by more than half of the members that gave a verdict, and at least two.

    Raises:
        ParamsError: fewer than two members, a member twice, or one that cannot tell all four
            categories.
    """

    members: tuple[Judge, ...]
    name: str = "ensemble"
    outcomes: tuple[Outcome, ...] = CATEGORIES

    def __post_init__(self) -> None:
        names = [member.name for member in self.members]
        if len(set(names)) < max(QUORUM, len(names)):
            raise ParamsError(
                f"judging.members {names}: name at least {QUORUM} judges, each of them once"
            )
        for member in self.members:
            if set(member.outcomes) != set(CATEGORIES):
                raise ParamsError(
                    f"judging.members {member.name!r}: it cannot tell all four categories, so it"
                    " has no vote; name another judge"
                )

    @property
    def model(self) -> str | None:
        """The members' models, "+" between them; None where all are rules."""
        models = sorted({member.model for member in self.members if member.model is not None})
        return "+".join(models) or None

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """The margin is (most votes - second most) / members."""
        ballots = zip(*(judge_all(member, cases) for member in self.members), strict=True)
        return [count_votes([vote.category for vote in ballot]) for ballot in ballots]

    def reword(self) -> tuple["Ensemble", ...]:
        """Return the ensemble with all members that have a rubric reworded; none without one."""
        worded = [list(m.reword()) if isinstance(m, Worded) else [] for m in self.members]
        return tuple(
            dataclasses.replace(
                self,
                members=tuple(
                    others[place] if others else member
                    for member, others in zip(self.members, worded, strict=True)
                ),
            )
            for place in range(max(map(len, worded)))
        )


def count_votes(votes: Sequence[Outcome | None], voters: str = "members") -> Verdict:
    """Return the category that more than half of the scored votes, and at least two, are for.

    `voters` names them in the reason.
    """
    ranked = Counter(vote for vote in votes if vote is not None).most_common()
    if not ranked:
        return Verdict(None, f"no verdict from any of {len(votes)} {voters}", 0.0)
    best, count = ranked[0]
    second = ranked[1][1] if len(ranked) > 1 else 0
    scored = sum(number for _, number in ranked)
    margin = (count - second) / len(votes)
    if count == second:
        return Verdict(None, f"tie: {count} votes each", margin)
    if count < QUORUM or 2 * count <= scored:
        return Verdict(None, f"no majority: {count} of {len(votes)} {voters}", margin)
    return Verdict(best, f"{count} of {len(votes)} {voters}", margin)


@JUDGES.register("ensemble")
def _build(setup: Setup) -> Ensemble:
    names = setup.settings.members
    if "ensemble" in names:
        raise ParamsError("judging.members: an ensemble is no member of itself; remove it")
    return Ensemble(tuple(JUDGES[name](setup) for name in names))
