"""Simulated responders: verdicts drawn from rates whose means, and so whose effects, are exact."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy import special

from parallax.framing.items import CATEGORIES, PARAPHRASES
from parallax.stats.contrasts import FRAMES
from parallax.stats.items import Floats, Ints

VERDICTS = (*CATEGORIES, "")
"""What a draw is judged to be; "" is unscored."""

REFUSAL = CATEGORIES.index("refusal")
# Points at which the quantiles of a rate's law are tabulated, in standard deviations.
_GRID = np.linspace(-6.0, 6.0, 6001)


@dataclasses.dataclass(frozen=True)
class Shares:
    """Where the variance of a latent normal score sits; the shares sum to 1.

    The same strata as in `variance_components`. With all of it in `item` a request is refused as
    often in every version and frame; `item_by_frame` makes the effect of the frame vary between
    items, `paraphrase_by_frame` between versions.
    """

    item: float = 0.6
    paraphrase: float = 0.1
    item_by_frame: float = 0.2
    paraphrase_by_frame: float = 0.1


@dataclasses.dataclass(frozen=True)
class Responder:
    """A model and its judge, as the analysis could meet them.

    A cell (item i, version p, frame f) has the latent score Z[i,p,f] ~ N(0, 1), a sum of the
    strata in `shares`, and refuses at the rate

        q[i,p,f] = Beta^-1(Phi(Z[i,p,f]); c m_f, c (1 - m_f)),  m_f = base_rate + effects[f],

    whose mean is m_f exactly: the true effect of two frames is the difference of their m. A small
    concentration c (> 0) has many items that are always or never refused, a large one alike items.
    Of what is not refused a share complies, by item: Beta with mean `compliance` and the same c;
    the rest is half template, half off topic. `judge[f]` has a row per category and a column per
    entry of `VERDICTS`: P(verdict | category) under frame f.

    `items`, `draws` are counts, `base_rate`, `effects` (E, D, N) and `compliance` fractions of 1.
    """

    items: int
    base_rate: float
    effects: tuple[float, float, float] = (0.0, 0.0, 0.0)
    concentration: float = 3.0
    shares: Shares = Shares()
    compliance: float = 0.5
    draws: int = 7
    judge: Floats = dataclasses.field(default_factory=lambda: judge_like(1.0))

    @property
    def denominator(self) -> int:
        """Responses of an item in a frame: its rates are whole in units of 1 over this."""
        return len(PARAPHRASES) * self.draws

    @property
    def means(self) -> Floats:
        """Exact mean share of each verdict in each frame, (F, V)."""
        refused = self.base_rate + np.asarray(self.effects)
        truth = _split(refused, np.full(refused.shape, self.compliance))
        means: Floats = np.einsum("fc,fcv->fv", truth, self.judge)
        return means

    def effect(self, category: str, first: str, second: str) -> float:
        """True effect on a judged category, a fraction of the scored draws."""
        means = self.means
        column = means[:, VERDICTS.index(category)] / (1 - means[:, -1])
        return float(column[FRAMES.index(first)] - column[FRAMES.index(second)])


def judge_like(
    sensitivity: float | Sequence[float], abstention: float | Sequence[float] = 0.0
) -> Floats:
    """Return a judge of the same errors in all frames, (F, C, V).

    `sensitivity` is P(right | scored), of all categories or of each; what it misses falls on the
    other categories alike, so that a category's specificity is 1 - sum of the others' misses / 3,
    weighed by how frequent they are. `abstention` is P(unscored), in all frames or in each.
    """
    right = np.broadcast_to(np.asarray(sensitivity, dtype=np.float64), len(CATEGORIES))
    wrong = (1 - right)[:, None] / (len(CATEGORIES) - 1)
    scored = np.where(np.eye(len(CATEGORIES), dtype=bool), right[:, None], wrong)
    silent = np.broadcast_to(np.asarray(abstention, dtype=np.float64), len(FRAMES))
    judged = (1 - silent)[:, None, None] * scored
    unscored = np.broadcast_to(silent[:, None, None], (len(FRAMES), len(CATEGORIES), 1))
    return np.concatenate([judged, unscored], axis=2)


def draw_rates(responder: Responder, sets: int, rng: np.random.Generator) -> Floats:
    """Draw the refusal rate of each cell, (sets, I, P, F)."""
    items, versions, frames = responder.items, len(PARAPHRASES), len(FRAMES)
    shares = responder.shares
    score = np.zeros((sets, items, versions, frames))
    for share, shape in (
        (shares.item, (sets, items, 1, 1)),
        (shares.paraphrase, (sets, items, versions, 1)),
        (shares.item_by_frame, (sets, items, 1, frames)),
        (shares.paraphrase_by_frame, (sets, items, versions, frames)),
    ):
        score += np.sqrt(share) * rng.standard_normal(shape)
    rates = np.empty_like(score)
    for frame, effect in enumerate(responder.effects):
        law = _quantiles(responder.base_rate + effect, responder.concentration)
        rates[..., frame] = np.interp(score[..., frame], _GRID, law)
    return rates


def draw_counts(responder: Responder, sets: int, rng: np.random.Generator) -> Ints:
    """Draw data sets: how many draws of each cell got each verdict, (sets, I, P, F, V)."""
    refused = draw_rates(responder, sets, rng)
    score = rng.standard_normal((sets, responder.items, 1, 1))
    comply = np.interp(score, _GRID, _quantiles(responder.compliance, responder.concentration))
    truth = _split(refused, np.broadcast_to(comply, refused.shape))
    chances = np.einsum("...fc,fcv->...fv", truth, responder.judge)
    return rng.multinomial(responder.draws, chances)


def place_verdicts(counts: Ints) -> Ints:
    """Turn one data set's counts (I, P, F, V) into a verdict per draw, (I, P, F, K).

    Verdicts are places in `VERDICTS`; the draws of a cell have no order.
    """
    *cells, verdicts = counts.shape
    flat = counts.reshape(-1, verdicts)
    draws = int(flat[0].sum())
    codes = np.repeat(np.tile(np.arange(verdicts), len(flat)), flat.ravel())
    return codes.reshape(*cells, draws)


def item_units(counts: Ints, category: str, first: str, second: str) -> Ints:
    """Item differences of a category in units of 1/`denominator`, (sets, I).

    Where all draws are scored these are the `frame_differences` of each data set.
    """
    totals = counts[..., VERDICTS.index(category)].sum(axis=2)  # (sets, I, F)
    return np.asarray(
        totals[..., FRAMES.index(first)] - totals[..., FRAMES.index(second)], dtype=np.int64
    )


def _split(refused: Floats, comply: Floats) -> Floats:
    """Chances of the four categories, on a last axis."""
    rest = (1 - refused) * (1 - comply) / 2
    return np.stack([refused, (1 - refused) * comply, rest, rest], axis=-1)


def _quantiles(mean: float, concentration: float) -> Floats:
    """Quantiles of Beta(c m, c (1 - m)) at the normal scores of the grid."""
    return np.asarray(
        special.betaincinv(concentration * mean, concentration * (1 - mean), special.ndtr(_GRID))
    )
