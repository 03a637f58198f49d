import numpy as np
import pytest
from scipy import stats

from parallax.errors import DataError
from parallax.stats.power import items_needed, minimum_detectable_effect, power


@pytest.mark.parametrize(
    ("sd", "points"),
    [(0.17, (11.2, 4.4, 2.2)), (0.25, (16.5, 6.4, 3.2)), (0.35, (23.1, 9.0, 4.5))],
)
def test_published_table(sd, points):
    found = [100 * minimum_detectable_effect(items, sd) for items in (20, 120, 480)]
    assert tuple(round(value, 1) for value in found) == points


def test_power_is_the_noncentral_t():
    critical = stats.t.ppf(0.975, 19)
    shift = 0.1 * 20**0.5 / 0.17
    both = stats.nct.sf(critical, 19, shift) + stats.nct.cdf(-critical, 19, shift)
    assert power(0.1, 20, 0.17) == pytest.approx(both, abs=1e-9)


def test_power_without_effect_is_alpha():
    assert power(0.0, 20, 0.2) == pytest.approx(0.05)
    assert power(0.0, 7, 0.2, alpha=0.01) == pytest.approx(0.01)


def test_power_is_even_and_grows():
    assert power(-0.1, 20, 0.2) == power(0.1, 20, 0.2)
    grid = [power(effect, 20, 0.2) for effect in np.linspace(0, 0.5, 20)]
    assert (np.diff(grid) > 0).all()
    assert power(10.0, 480, 0.1) == pytest.approx(1)


@pytest.mark.parametrize("items", [2, 3, 20, 480])
def test_detectable_effect_has_the_target_power(items):
    effect = minimum_detectable_effect(items, 0.3, target=0.9, alpha=0.01)
    assert power(effect, items, 0.3, alpha=0.01) == pytest.approx(0.9, abs=1e-6)


def test_items_needed_is_the_first_that_suffices():
    needed = items_needed(0.05, 0.17)
    assert power(0.05, needed, 0.17) >= 0.8 > power(0.05, needed - 1, 0.17)
    assert items_needed(-0.05, 0.17) == needed
    assert items_needed(50.0, 0.1) == 2


def test_unknown_spread_is_undefined():
    for sd in (0.0, float("nan")):
        assert np.isnan(minimum_detectable_effect(20, sd))
        assert np.isnan(power(0.1, 20, sd))
    assert np.isnan(minimum_detectable_effect(1, 0.2))


def test_impossible_requests_are_refused():
    with pytest.raises(DataError, match="effect 0"):
        items_needed(0.0, 0.2)
    with pytest.raises(DataError, match=r"power 0\.04"):
        minimum_detectable_effect(20, 0.2, target=0.04)
    with pytest.raises(DataError, match="standard deviation -1"):
        power(0.1, 20, -1)
