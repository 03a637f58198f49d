import itertools

import numpy as np
import pytest

from parallax.errors import DataError
from parallax.stats.designs import Design, cheapest, fit_design
from parallax.stats.power import items_needed, power
from parallax.stats.spread import pilot_spread, spread_at


@pytest.fixture
def pilot():
    rng = np.random.default_rng(3)
    rates = rng.beta(2, 3, 30)[:, None, None]
    first = (rng.random((30, 2, 7)) < rates).astype(float)
    second = (rng.random((30, 2, 7)) < rates**2).astype(float)
    return pilot_spread(first, second)


def test_generations_of_the_protocols_pilot():
    assert Design(20, 2, 7, 3, 0.2).generations == 840
    assert Design(480, 2, 7, 3, 0.2).generations == 20_160


def test_a_design_has_the_fewest_items_that_suffice(pilot):
    found = fit_design(pilot, 2, 3, effect=0.08, target=0.9, alpha=0.01)
    sd = spread_at(pilot, 2, 3).sd
    assert (found.sd, found.items) == (sd, items_needed(0.08, sd, 0.9, 0.01))
    assert power(0.08, found.items, sd, 0.01) >= 0.9 > power(0.08, found.items - 1, sd, 0.01)


@pytest.mark.parametrize(("alpha", "items"), [(0.05, 6), (0.01, 8), (0.0625, 5)])
def test_so_many_items_that_the_sign_flip_test_can_reject(pilot, alpha, items):
    # 2 / 2^6 = .031, 2 / 2^8 = .0078, 2 / 2^5 = .0625.
    assert fit_design(pilot, 2, 7, effect=5.0, alpha=alpha).items == items


@pytest.mark.parametrize("most_items", [20, 40, 80, 10_000])
def test_the_cheapest_is_that_of_all(pilot, most_items):
    designs = [
        fit_design(pilot, versions, draws, 0.1)
        for versions, draws in itertools.product((2, 4), range(1, 15))
    ]
    found = cheapest(designs, most_items)
    fitting = [d.items * d.versions * d.draws * 3 for d in designs if d.items <= most_items]
    assert (found is None) == (not fitting)
    if found is not None:
        assert found.items <= most_items
        assert found.generations == min(fitting)


def test_with_items_enough_one_draw_is_cheapest(pilot):
    designs = [fit_design(pilot, 2, draws, 0.05) for draws in range(1, 15)]
    found = cheapest(designs, 100_000)
    # The items that are needed are whole numbers, which can make two draws as cheap.
    assert found.draws == 1
    assert cheapest(designs, 2) is None


def test_a_pilot_without_spread_gives_no_design():
    still = pilot_spread(np.ones((4, 2, 3)), np.ones((4, 2, 3)))
    with pytest.raises(DataError, match="no item moved"):
        fit_design(still, 2, 7, 0.1)
