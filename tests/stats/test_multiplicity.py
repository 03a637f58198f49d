import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from parallax.errors import DataError
from parallax.stats.multiplicity import benjamini_hochberg, holm

p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def test_hand_worked_holm():
    # sorted .01, .03, .04: 3 * .01 = .03; 2 * .03 = .06; max(.06, 1 * .04) = .06
    np.testing.assert_allclose(holm([0.04, 0.01, 0.03]), [0.06, 0.03, 0.06])


def test_hand_worked_benjamini_hochberg():
    # sorted .01, .03, .04: .04 * 3/3 = .04; min(.04, .03 * 3/2 = .045) = .04; .01 * 3 = .03
    np.testing.assert_allclose(benjamini_hochberg([0.04, 0.01, 0.03]), [0.04, 0.03, 0.04])


@given(p_lists)
def test_benjamini_hochberg_agrees_with_scipy(p_values):
    np.testing.assert_allclose(
        benjamini_hochberg(p_values), stats.false_discovery_control(p_values, method="bh")
    )


@given(p_lists)
def test_holm_rejects_as_the_step_down_procedure(p_values):
    adjusted = holm(p_values)
    order = np.argsort(p_values, kind="stable")
    going = True
    for rank, place in enumerate(order):
        going = going and p_values[place] * (len(p_values) - rank) <= 0.05
        assert (adjusted[place] <= 0.05) == going


@given(p_lists)
def test_order_of_methods(p_values):
    p = np.array(p_values)
    bonferroni = np.minimum(1, p * len(p))
    assert (p <= benjamini_hochberg(p) + 1e-15).all()
    assert (benjamini_hochberg(p) <= holm(p) + 1e-15).all()
    assert (holm(p) <= bonferroni + 1e-15).all()


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_an_undefined_test_still_counts(adjust):
    found = adjust([0.02, np.nan])
    # two members: 2 * .02, not .02
    assert found[0] == pytest.approx(0.04)
    assert np.isnan(found[1])
    assert adjust([]).shape == (0,)
    with pytest.raises(DataError, match=r"p-value 1 is 1\.5"):
        adjust([0.5, 1.5])
