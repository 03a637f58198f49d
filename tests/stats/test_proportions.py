import pytest
from scipy import stats

from parallax.errors import DataError
from parallax.stats.proportions import binomial_interval


@pytest.mark.parametrize(("hits", "trials"), [(0, 20), (1, 1), (7, 200), (10, 200), (200, 200)])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_agrees_with_scipy(hits, trials, alpha):
    found = binomial_interval(hits, trials, alpha)
    reference = stats.binomtest(hits, trials).proportion_ci(1 - alpha, "exact")
    assert (found.low, found.high) == pytest.approx((reference.low, reference.high), abs=1e-12)
    assert (found.value, found.hits, found.trials) == (hits / trials, hits, trials)


def test_no_hit_in_ten():
    # (1 - high)^10 = .025
    assert binomial_interval(0, 10).high == pytest.approx(1 - 0.025**0.1)


@pytest.mark.parametrize(("hits", "trials"), [(1, 0), (-1, 3), (4, 3), (0, 0)])
def test_impossible_counts_are_refused(hits, trials):
    with pytest.raises(DataError, match="give at most as many hits"):
        binomial_interval(hits, trials)
