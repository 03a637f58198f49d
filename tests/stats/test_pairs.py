from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from parallax.errors import DataError
from parallax.stats.items import ItemDifferences
from parallax.stats.pairs import bootstrap_omnibus, cochran_q, paired_difference
from parallax.stats.signflip import sign_flip

binary = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.integers(2, 4)),
    elements=st.sampled_from([0.0, 1.0]),
)


def test_difference_of_differences_is_exact():
    first = ItemDifferences.from_fractions([Fraction(1, 2), Fraction(1, 7), None])
    second = ItemDifferences.from_fractions([Fraction(1, 3), None, Fraction(1, 7)])
    assert paired_difference(first, second).fractions == [Fraction(1, 6), None, None]


def test_significant_in_one_only_is_no_difference():
    # six of one sign: p = 2/64; five against one: p = 14/64
    a = ItemDifferences.from_units([2] * 6, 14)
    b = ItemDifferences.from_units([2] * 5 + [-2], 14)
    assert sign_flip(a).p_value <= 0.05 < sign_flip(b).p_value
    assert sign_flip(paired_difference(a, b)).p_value == 1.0


def test_models_need_the_same_items():
    with pytest.raises(DataError, match="2 items against 3"):
        paired_difference(
            ItemDifferences.from_units([1, 2], 14), ItemDifferences.from_units([1, 2, 3], 14)
        )


def test_hand_worked_cochran_q():
    table = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0], [1, 0, 0]], float)
    # C = (5, 3, 1), N = 9, R = (2, 1, 2, 3, 0, 1): Q = 2 (3 * 35 - 81) / (27 - 19) = 6
    found = cochran_q(np.vstack([table, [1, np.nan, 0]]))
    assert found.statistic == pytest.approx(6)
    # chi-square with 2 degrees of freedom: exp(-Q / 2)
    assert found.p_value == pytest.approx(np.exp(-3))
    assert (found.items, found.informative, found.undefined) == (6, 4, 1)


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 3))
def test_two_models_give_mcnemar(only_first, only_second, both):
    rows = [[1.0, 0.0]] * only_first + [[0.0, 1.0]] * only_second + [[1.0, 1.0]] * both
    if only_first + only_second == 0:
        return
    expected = (only_first - only_second) ** 2 / (only_first + only_second)
    assert cochran_q(np.array(rows)).statistic == pytest.approx(expected)


@given(binary)
def test_q_is_the_scaled_spread_of_column_means(table):
    found = cochran_q(table)
    informative = table[(table.mean(axis=1) > 0) & (table.mean(axis=1) < 1)]
    assert found.informative == len(informative)
    if not len(informative):
        assert np.isnan(found.statistic)
        return
    models = table.shape[1]
    shares = informative.mean(axis=1)
    columns = informative.sum(axis=0)
    expected = ((columns - columns.mean()) ** 2).sum() * (models - 1) / models
    expected /= (shares * (1 - shares)).sum()
    assert found.statistic == pytest.approx(expected, abs=1e-9)


def test_cochran_q_refuses_rates():
    with pytest.raises(DataError, match=r"outcome 0\.5"):
        cochran_q(np.array([[0.5, 1.0]]))
    with pytest.raises(DataError, match="shape"):
        cochran_q(np.zeros((3, 1)))


def test_omnibus_statistic():
    # means (.5, 0): deviations +-.25, n = 2: 2 * (.0625 + .0625)
    found = bootstrap_omnibus(np.array([[1.0, 0], [0, 0]]), np.random.default_rng(0), 99)
    assert found.statistic == pytest.approx(0.25)
    assert found.means == (0.5, 0.0)


def test_omnibus_undoes_the_shrinking_of_resampled_variance():
    # differences of the models 1 and .1: mean .55, centred +-.45, stretched +-.45 sqrt(2) = .636;
    # half of the resamples hold one item twice and reach .636 >= .55, the others give 0
    effects = np.array([[1.0, 0.0], [0.1, 0.0]])
    found = bootstrap_omnibus(effects, np.random.default_rng(0), 2_000)
    assert found.p_value == pytest.approx(0.5, abs=0.05)


def test_omnibus_of_identical_models():
    effects = np.repeat(np.random.default_rng(0).normal(size=(12, 1)), 3, axis=1)
    assert bootstrap_omnibus(effects, np.random.default_rng(1), 99).p_value == 1.0


def test_omnibus_sees_through_shared_item_effects():
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 1, (40, 1))
    effects = shared + rng.normal(0, 0.1, (40, 3)) + [0.0, 0.0, 0.15]
    effects[3, 1] = np.nan
    found = bootstrap_omnibus(effects, rng, 999)
    assert found.p_value < 0.01
    assert (found.items, found.undefined) == (39, 1)
    # with the items' own spread left in, the models could not be told apart
    assert stats.f_oneway(*effects[4:].T).pvalue > 0.5


def test_omnibus_size():
    rng = np.random.default_rng(7)
    rejections = 0
    for _ in range(400):
        effects = rng.normal(0, 0.2, (25, 1)) + rng.normal(0, 0.15, (25, 3))
        rejections += bootstrap_omnibus(effects, rng, 199).p_value <= 0.05
    assert 0.03 <= rejections / 400 <= 0.08


def test_omnibus_without_items():
    found = bootstrap_omnibus(np.full((3, 2), np.nan), np.random.default_rng(0))
    assert np.isnan(found.p_value)
    assert (found.items, found.undefined) == (0, 3)
