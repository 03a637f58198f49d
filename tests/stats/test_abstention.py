import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parallax.errors import DataError
from parallax.stats.abstention import abstention_bounds, abstention_rates
from parallax.stats.contrasts import frame_differences

tables = hnp.arrays(np.float64, (3, 2, 3, 2), elements=st.sampled_from([0.0, 1.0, 1.0, np.nan]))


def test_hand_worked_bounds():
    # one item, one paraphrase; E: 1, 1, ?; N: 0, ?, 0
    outcomes = np.array([[[[1, 1, np.nan], [0, 0, 0], [0, np.nan, 0]]]])
    found = abstention_bounds(outcomes, "E", "N")
    assert found.scored == pytest.approx(1)
    # worst: 2/3 - 1/3; best: 3/3 - 0
    assert (found.lowest, found.highest) == pytest.approx((1 / 3, 1))
    assert (found.unscored_first, found.unscored_second) == (1, 1)
    assert found.sign_survives


@given(tables, st.integers(0, 2**32 - 1))
def test_every_completion_lies_within_the_bounds(outcomes, seed):
    found = abstention_bounds(outcomes, "E", "D")
    completed = outcomes.copy()
    gaps = np.isnan(completed)
    completed[gaps] = np.random.default_rng(seed).integers(0, 2, gaps.sum())
    estimate = frame_differences(completed, "E", "D").estimate
    assert found.lowest - 1e-12 <= estimate <= found.highest + 1e-12
    assert found.sign_survives == (found.lowest > 0 or found.highest < 0)


@given(tables)
def test_without_gaps_all_agree(outcomes):
    full = np.nan_to_num(outcomes)
    found = abstention_bounds(full, "D", "N")
    assert found.lowest == found.scored == found.highest
    assert found.p_lowest == found.p_scored == found.p_highest


def test_rates_and_their_test():
    outcomes = np.zeros((6, 2, 3, 2))
    outcomes[:, 0, 0, 0] = np.nan
    found = abstention_rates(outcomes)
    # one of four draws of each item under E
    assert found.rates == (0.25, 0.0, 0.0)
    assert found.contrasts == (("E", "N"), ("E", "D"), ("D", "N"))
    assert found.estimates == (0.25, 0.25, 0.0)
    # six items of one sign: 2/64; Holm: 3 * and 3 * (monotone), the third is 1
    assert [test.p_value for test in found.tests] == [2 / 64, 2 / 64, 1.0]
    assert found.adjusted == (6 / 64, 6 / 64, 1.0)


def test_bad_input_is_refused():
    with pytest.raises(DataError, match="unknown frame"):
        abstention_bounds(np.zeros((1, 1, 3, 1)), "E", "Z")
    with pytest.raises(DataError, match="no rows"):
        abstention_rates(np.zeros((0, 2, 3, 2)))
