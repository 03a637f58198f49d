import math

import numpy as np
import pytest
from scipy import stats

from parallax.errors import DataError
from parallax.stats.proportions import binomial_interval, clustered_interval


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


@pytest.mark.parametrize(("hits", "trials"), [(0, 20), (7, 30), (30, 30), (1, 2)])
def test_clusters_of_one_trial_give_the_exact_interval(hits, trials):
    found = clustered_interval(np.arange(trials) < hits, [f"c{n}" for n in range(trials)])
    exact = binomial_interval(hits, trials)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert (found.value, found.hits, found.trials) == (hits / trials, hits, trials)


def test_clustered_interval_by_hand():
    # Of 8 trials in 4 clusters 5 hit: p = .625. Residuals 2 - 1.25, -1.25, 1 - 1.25 and 2 - 1.25,
    # their squares sum to 2.75: V = 4/3 2.75 / 64 = .057292; p (1 - p) / 7 = .033482;
    # deff = 1.71111, t_7 = 2.364624, t_3 = 3.182446, ratio^2 = .552083; n* = 8 / 1.71111 .552083,
    # which is 2.58117.
    hits = np.array([1, 1, 0, 0, 1, 0, 1, 1], dtype=bool)
    found = clustered_interval(hits, list("aabbccdd"))
    x, n = 0.625 * 2.58117, 2.58117
    assert found.low == pytest.approx(stats.beta.ppf(0.025, x, n - x + 1), abs=1e-5)
    assert found.high == pytest.approx(stats.beta.ppf(0.975, x + 1, n - x), abs=1e-5)


def test_without_a_miss_a_cluster_is_one_trial():
    # Three clusters: low^3 = .025.
    found = clustered_interval(np.ones(9, dtype=bool), list("aaabbbccc"))
    assert (found.value, found.low, found.high) == (1, pytest.approx(0.025 ** (1 / 3)), 1)


def test_little_to_go_by():
    assert math.isnan(clustered_interval(np.zeros(0, dtype=bool), []).value)
    one = clustered_interval(np.array([True, False]), ["a", "a"])
    assert (one.value, one.low, one.high) == (0.5, 0, 1)
    # Clusters that are all alike bring no more than their trials.
    even = clustered_interval(np.array([1, 0] * 4, dtype=bool), list("aabbccdd"))
    assert (even.low, even.high) == pytest.approx(
        (binomial_interval(4, 8).low, binomial_interval(4, 8).high)
    )
    with pytest.raises(DataError, match="1 clusters for 2 trials"):
        clustered_interval(np.ones(2, dtype=bool), ["a"])


def test_covers_where_trials_of_a_cluster_are_alike():
    rng = np.random.default_rng(1)
    names = [f"c{n // 5}" for n in range(100)]
    covered = naive = 0
    for _ in range(400):
        # Each cluster's own rate is 0.5 or 0.9.
        rates = np.repeat(rng.choice([0.5, 0.9], 20), 5)
        hits = rng.random(100) < rates
        found, plain = clustered_interval(hits, names), binomial_interval(int(hits.sum()), 100)
        covered += found.low <= 0.7 <= found.high
        naive += plain.low <= 0.7 <= plain.high
    # 95 % is 380; the standard error is 4.4.
    assert covered >= 372
    assert naive < covered
