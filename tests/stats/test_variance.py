import numpy as np
import pytest

from parallax.stats.variance import cell_mean_squares, variance_components

ITEMS, PARAPHRASES, FRAMES = 5, 3, 4


def design(kind):
    """Indicator columns of one random effect, each as an (items, paraphrases, frames) array."""
    i, p, f = np.indices((ITEMS, PARAPHRASES, FRAMES))
    codes = {
        "item": i,
        "paraphrase": i * PARAPHRASES + p,
        "item_by_frame": i * FRAMES + f,
        "paraphrase_by_frame": (i * PARAPHRASES + p) * FRAMES + f,
        "frame": f,
    }[kind]
    return [(codes == code).astype(float) for code in np.unique(codes)]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # coefficients of the component in E MS, as the docstring states them
        ("item", {"i": PARAPHRASES * FRAMES, "p": 0, "if": 0, "pf": 0}),
        ("paraphrase", {"i": FRAMES, "p": FRAMES, "if": 0, "pf": 0}),
        ("item_by_frame", {"i": PARAPHRASES, "p": 0, "if": PARAPHRASES, "pf": 0}),
        ("paraphrase_by_frame", {"i": 1, "p": 1, "if": 1, "pf": 1}),
    ],
)
def test_expected_mean_squares(kind, expected):
    # E[y'Ay] for y = Z u, Var u = 1, is tr(Z'AZ): the sum of the form over the columns of Z
    columns = [cell_mean_squares(column) for column in design(kind)]
    for name, coefficient in expected.items():
        assert sum(found[name] for found in columns) == pytest.approx(coefficient, abs=1e-12)


def test_frame_means_do_not_enter():
    for column in design("frame"):
        assert all(value == pytest.approx(0) for value in cell_mean_squares(column).values())


def test_hand_worked():
    # two items, two paraphrases, two frames, two draws; item 0 always 1, item 1 always 0,
    # save paraphrase 1 of item 0 in frame 1, whose draws are 1, 0
    outcomes = np.zeros((2, 2, 2, 2))
    outcomes[0] = 1
    outcomes[0, 1, 1, 1] = 0
    found = variance_components(outcomes)
    # within: one cell of k = 1 of 2, SS = 1 * 1 / 2, over 8 cells with 1 degree each
    assert found.draw.estimate == pytest.approx(1 / 16)
    # item 0 cells [[1, 1], [1, .5]]: interaction residuals +-.125, SS = 4 / 64, 2 df: MS = 1/32
    assert found.paraphrase_by_frame.estimate == pytest.approx(1 / 32 - 1 / 2 * 1 / 16)
    # paraphrase means 1, .75: SS = 2 * 2 * .125^2 = 1/16, 2 df: MS = 1/32
    assert found.paraphrase.estimate == pytest.approx((1 / 32 - 1 / 32) / 2)
    # item x frame: item 0 frame means 1, .75; residuals .0625: SS = 2 * 4 / 256, 1 df: 1/32
    assert found.item_by_frame.estimate == pytest.approx(0)
    # item means .875, 0: SS = 4 * 2 * .4375^2 = 1.53125
    assert found.item.estimate == pytest.approx((1.53125 - 1 / 32 - 1 / 32 + 1 / 32) / 4)


def test_known_components_are_recovered():
    rng = np.random.default_rng(0)
    items, draws = 1500, 4
    sd = {"item": 0.12, "paraphrase": 0.1, "item_frame": 0.08, "paraphrase_frame": 0.05}
    rate = (
        0.5
        + rng.uniform(-1, 1, (items, 1, 1)) * 3**0.5 * sd["item"]
        + rng.choice([-1, 1], (items, 2, 1)) * sd["paraphrase"]
        + rng.choice([-1, 1], (items, 1, 3)) * sd["item_frame"]
        + rng.choice([-1, 1], (items, 2, 3)) * sd["paraphrase_frame"]
        + np.array([0.05, -0.03, -0.02])
    )
    # every rate stays inside (0, 1), so that the draws are unbiased
    assert 0 < rate.min() < rate.max() < 1
    outcomes = (rng.random((*rate.shape, draws)) < rate[..., None]).astype(float)
    found = variance_components(outcomes)
    assert found.item.estimate == pytest.approx(0.0144, abs=0.004)
    assert found.paraphrase.estimate == pytest.approx(0.01, abs=0.003)
    assert found.item_by_frame.estimate == pytest.approx(0.0064, abs=0.003)
    assert found.paraphrase_by_frame.estimate == pytest.approx(0.0025, abs=0.003)
    assert found.draw.estimate == pytest.approx(float((rate * (1 - rate)).mean()), abs=0.005)
    shares = [
        found.item,
        found.paraphrase,
        found.item_by_frame,
        found.paraphrase_by_frame,
        found.draw,
    ]
    assert sum(part.share for part in shares) == pytest.approx(1)


def test_missing_draws_do_not_bias():
    rng = np.random.default_rng(1)
    rate = np.clip(rng.normal(0.5, 0.15, (1500, 1, 1)), 0.02, 0.98) * np.ones((1, 2, 3))
    outcomes = (rng.random((1500, 2, 3, 5)) < rate[..., None]).astype(float)
    outcomes[rng.random(outcomes.shape) < 0.4] = np.nan
    found = variance_components(outcomes)
    assert found.excluded > 0
    assert found.items + found.excluded == 1500
    assert found.paraphrase_by_frame.estimate == pytest.approx(0, abs=0.004)
    assert found.item.estimate == pytest.approx(float(rate[:, 0, 0].var()), abs=0.004)


def test_negative_estimates_are_reported_as_they_are():
    # two paraphrases that mirror each other vary less between items than draws alone would
    outcomes = np.zeros((6, 2, 3, 2))
    outcomes[:, 0] = 1
    found = variance_components(outcomes)
    assert found.item.estimate < 0
    assert found.item.negative
    assert found.item.share == 0
    assert found.paraphrase.share == 1


def test_what_the_design_cannot_identify_is_nan():
    single_draw = variance_components(
        np.random.default_rng(0).integers(0, 2, (6, 2, 3, 1)).astype(float)
    )
    assert np.isnan(single_draw.draw.estimate)
    assert np.isnan(single_draw.paraphrase_by_frame.estimate)
    assert not np.isnan(single_draw.item_by_frame.estimate)
    single_paraphrase = variance_components(np.ones((4, 1, 3, 2)))
    assert np.isnan(single_paraphrase.paraphrase.estimate)
    nothing = variance_components(np.full((4, 2, 3, 2), np.nan))
    assert np.isnan(nothing.item.estimate)
    assert (nothing.items, nothing.excluded) == (0, 4)
