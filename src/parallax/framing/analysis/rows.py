"""Effects as rows of tables and as JSON values."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from parallax.framing.analysis.effects import (
    LOG_ODDS,
    Effect,
    arm_means,
    difference,
    flatten_versions,
)
from parallax.framing.analysis.logs import Logs
from parallax.stats.contrasts import CONTRASTS, FRAMES
from parallax.stats.items import Floats, ItemDifferences

if TYPE_CHECKING:
    import pandas as pd

NAMES = ("subject", "judge", "outcome", "contrast", "role")
BRIEF = ("items", "estimate", "low", "high", "p", "p_adjusted", "label")


def effect_row(effect: Effect) -> dict[str, object]:
    """Return everything about an effect but its internals; an endless interval's end is NaN."""
    summary, contrast = effect.summary, effect.contrast
    counts = summary.counts
    return {
        "subject": effect.subject,
        "judge": effect.judge,
        "outcome": contrast.outcome,
        "contrast": contrast.name,
        "role": contrast.role,
        "items": summary.test.items,
        "estimate": summary.estimate,
        "sd": summary.sd,
        "p": summary.test.p_value,
        "p_adjusted": effect.adjusted,
        "smallest_p": summary.test.smallest_p,
        "low": finite(summary.interval.low),
        "high": finite(summary.interval.high),
        "t_low": summary.t.low,
        "t_high": summary.t.high,
        "bca_low": summary.bca.low,
        "bca_high": summary.bca.high,
        "positive": counts.positive,
        "zero": counts.zero,
        "negative": counts.negative,
        "inverted": counts.inverted,
        "undefined": counts.undefined,
        "few_nonzero": counts.few_nonzero,
        "detectable": summary.detectable,
        "label": effect.label,
    }


def finite(value: float) -> float:
    """Return a number, NaN in place of an infinite one."""
    return value if math.isfinite(value) else math.nan


def effects_table(effects: Sequence[Effect]) -> "pd.DataFrame":
    """Return one row per effect, sorted by its names."""
    import pandas as pd

    table = pd.DataFrame([effect_row(effect) for effect in effects])
    table["inverted"] = table["inverted"].astype("Int64")
    return table.sort_values(list(NAMES), ignore_index=True)


def item_effects_table(logs: Logs) -> "pd.DataFrame":
    """Return each item's means under E, D and N and its contrasts, sorted; NaN where unknown.

    With unscored draws a contrast need not be the difference of two means: it takes only versions
    that are known in both frames.
    """
    import pandas as pd

    parts = []
    for subject in logs.design.subjects:
        measures: dict[tuple[str, str], Floats] = {
            (judge, category): logs.judged(subject, judge, category)
            for judge, told in logs.outcomes.items()
            for category in told
        }
        if subject in logs.log_odds:
            measures["", LOG_ODDS] = logs.log_odds[subject]
        for (judge, outcome), values in measures.items():
            columns: dict[str, object] = {
                "subject": subject,
                "judge": judge,
                "outcome": outcome,
                "item": logs.design.items,
            }
            columns |= dict(zip(FRAMES, arm_means(values).T, strict=False))
            for first, second in CONTRASTS:
                found = difference(flatten_versions(values), first, second, logs.design.arms)
                columns[f"{first}-{second}"] = (
                    found.values if isinstance(found, ItemDifferences) else found
                )
            parts.append(pd.DataFrame(columns))
    keys = ["subject", "judge", "outcome", "item"]
    return pd.concat(parts).sort_values(keys, ignore_index=True)


def effect_values(effect: Effect) -> dict[str, object]:
    """Return an effect as JSON values, with what its table has no column for."""
    summary = effect.summary
    values = {key: value for key, value in effect_row(effect).items() if key not in NAMES}
    clustered, test = summary.clustered, summary.clustered_test
    return values | {
        "exact": summary.test.exact,
        "partial": summary.partial,
        "t_p": summary.t_p_value,
        "equivalence_p": summary.equivalence.p_value,
        "bca_degenerate": summary.bca.degenerate,
        "significant": effect.verdict.significant,
        "clustered": None
        if clustered is None or test is None
        else {
            "families": test.items,
            "low": clustered.low,
            "high": clustered.high,
            "freedom": clustered.freedom,
            "p": test.p_value,
        },
    }


def brief_values(effects: Sequence[Effect], role: str) -> dict[str, dict[str, object]]:
    """Return the effects of one role in brief, by outcome and contrast."""
    found: dict[str, dict[str, object]] = {}
    for effect in effects:
        if effect.contrast.role == role:
            row = effect_row(effect)
            brief = {key: row[key] for key in BRIEF}
            found.setdefault(effect.contrast.outcome, {})[effect.contrast.name] = brief
    return found
