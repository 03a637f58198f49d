"""A judge of embeddings: likeness to sentences typical of each category, weighed by labels.

The weights of a response's 22 numbers (`description`) are learnt on the calibration set's fit part.
A linear rule on the embeddings themselves, 1155 numbers, learns the manner of the responses that it
is fitted on: cross-validated, its kappa on sampled ones was .2. The numbers, the prototypes, the
penalty and the least margin were chosen by cross-validation by item on the fit part. Nothing was
changed after the test part was judged; but who wrote the prototypes and the rules had read its
responses before, to label them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from parallax.errors import DataError
from parallax.framing.embedding import SentenceEncoder
from parallax.framing.items import CATEGORIES, LabelledResponse
from parallax.framing.judges.description import describe
from parallax.framing.judges.judge import JUDGES, Case, Outcome, Setup, Verdict
from parallax.stats.items import Floats, Ints

PENALTY = 0.1
"""Weight of the squared norm, in standard deviations of the features."""
FOLDS = 13
"""Folds of the cross-validation; an item's responses are in one fold."""
LARGEST_ERROR = 0.2
"""Share of errors, in cross-validation, that the margin may let through.

At .05 two thirds of the responses stay unscored: whether babble does what is asked is often moot.
"""


@dataclass(frozen=True, eq=False)
class Linear:
    """Category scores `(x - centre) / scale @ weights + bias`; shapes (F,), (F,), (F, C), (C,)."""

    centre: Floats
    scale: Floats
    weights: Floats
    bias: Floats

    def probabilities(self, features: Floats) -> Floats:
        """Return softmax of the scores; shapes (N, F) to (N, C)."""
        inputs = (features - self.centre) / self.scale
        return np.asarray(special.softmax(inputs @ self.weights + self.bias, axis=1))


def fit_linear(features: Floats, codes: Ints, categories: int) -> Linear:
    """Fit a multinomial logistic regression.

    Minimises mean_n -log p(y_n | x_n) + PENALTY / 2 |weights|^2 on standardised features; the bias
    is free. Convex, so that the start does not matter. Shapes (N, F) and (N,).
    """
    centre, spread = features.mean(axis=0), features.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    inputs = (features - centre) / scale
    targets = np.eye(categories)[codes]
    shape = (features.shape[1] + 1, categories)

    def loss(flat: Floats) -> tuple[float, Floats]:
        table = flat.reshape(shape)
        logs = special.log_softmax(inputs @ table[:-1] + table[-1], axis=1)
        errors = (np.exp(logs) - targets) / len(inputs)
        gradient = np.vstack([inputs.T @ errors + PENALTY * table[:-1], errors.sum(axis=0)])
        value = -(logs * targets).sum() / len(inputs) + PENALTY / 2 * (table[:-1] ** 2).sum()
        return float(value), gradient.ravel()

    found = optimize.minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B")
    table = found.x.reshape(shape)
    return Linear(centre, scale, table[:-1], table[-1])


def margins(probabilities: Floats) -> Floats:
    """Return the largest minus the second largest probability; shape (N, C) to (N,)."""
    ordered = np.sort(probabilities, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])


def cross_validate(
    features: Floats, codes: Ints, groups: Sequence[str], categories: int
) -> tuple[Ints, Floats]:
    """Return each row's category and margin from a fit without its group's fold; shapes (N,)."""
    place = {group: rank for rank, group in enumerate(sorted(set(groups)))}
    folds = np.array([place[group] % FOLDS for group in groups])
    probabilities = np.zeros((len(codes), categories))
    for fold in sorted(set(folds.tolist())):
        held = folds == fold
        model = fit_linear(features[~held], codes[~held], categories)
        probabilities[held] = model.probabilities(features[held])
    return probabilities.argmax(axis=1), margins(probabilities)


def choose_margin(right: Sequence[bool], found: Floats) -> float:
    """Return the least margin from which on at most LARGEST_ERROR of the rows are wrong.

    1.0, at which nothing is judged, where no margin does that.
    """
    rows = sorted(zip(found.tolist(), right, strict=True))
    wrong = sum(not ok for _, ok in rows)
    for place, (margin, ok) in enumerate(rows):
        starts = place == 0 or rows[place - 1][0] < margin
        if starts and wrong <= LARGEST_ERROR * (len(rows) - place):
            return float(margin)
        wrong -= not ok
    return 1.0


@dataclass(frozen=True, eq=False)
class Prototype:
    """Judges by the fitted weights and abstains below `least_margin` (a probability)."""

    encoder: SentenceEncoder
    linear: Linear
    least_margin: float
    name: str = "prototype"
    model: None = None
    outcomes: tuple[Outcome, ...] = CATEGORIES

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """The margin is the difference of the two largest probabilities."""
        written = [case for case in cases if case.response.strip()]
        if not written:
            return [Verdict(None, "empty response") for _ in cases]
        probabilities = self.linear.probabilities(describe(written, self.encoder))
        rows = iter(zip(probabilities, margins(probabilities), strict=True))
        return [
            self._decide(*next(rows)) if case.response.strip() else Verdict(None, "empty response")
            for case in cases
        ]

    def _decide(self, probabilities: Floats, margin: float) -> Verdict:
        found = CATEGORIES[int(probabilities.argmax())]
        shown = float(round(margin, 6))
        if margin < self.least_margin:
            return Verdict(None, f"margin below {self.least_margin:.3f}; nearest is {found}", shown)
        return Verdict(found, f"probability {probabilities.max():.3f}", shown)


def fit_prototype(rows: Sequence[LabelledResponse], encoder: SentenceEncoder) -> Prototype:
    """Fit weights and margin on labelled responses.

    Raises:
        DataError: a category has no response, or the responses are of fewer than two items.
    """
    labels = [row.label for row in rows]
    if missing := [name for name in CATEGORIES if name not in labels]:
        raise DataError(f"calibration fit part: no response labelled {missing[0]!r}; add some")
    groups = [row.item for row in rows]
    if len(set(groups)) < 2:
        raise DataError("calibration fit part: responses of 1 item; label those of at least 2")
    features = describe([Case(row.body, row.response) for row in rows], encoder)
    codes = np.array([CATEGORIES.index(label) for label in labels], dtype=np.int64)
    found, clear = cross_validate(features, codes, groups, len(CATEGORIES))
    return Prototype(
        encoder,
        fit_linear(features, codes, len(CATEGORIES)),
        choose_margin((found == codes).tolist(), clear),
    )


@JUDGES.register("prototype")
def _build(setup: Setup) -> Prototype:
    return fit_prototype(setup.fit, SentenceEncoder())
