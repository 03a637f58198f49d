from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parallax.errors import DataError
from parallax.stats.contrasts import (
    cell_means,
    continuous_differences,
    count_cells,
    count_signs,
    frame_differences,
    least_nonzero,
    paraphrase_frame_differences,
    placebo_differences,
)
from parallax.stats.items import ItemDifferences

NAN = np.nan


def one_item():
    """One item, two paraphrases, frames E, D, N, three draws."""
    return np.array(
        [
            [
                [[1, 1, 0], [0, 0, 0], [1, 0, 0]],
                [[1, NAN, 1], [1, 1, NAN], [0, NAN, NAN]],
            ]
        ]
    )


outcome_tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 3), st.just(3), st.integers(1, 4)),
    elements=st.sampled_from([0.0, 1.0, NAN]),
)


def test_cells_are_means_over_scored_draws():
    successes, scored = count_cells(one_item())
    assert successes.tolist() == [[[2, 0, 1], [2, 2, 0]]]
    assert scored.tolist() == [[[3, 3, 3], [2, 2, 1]]]
    np.testing.assert_allclose(cell_means(one_item()), [[[2 / 3, 0, 1 / 3], [1, 1, 0]]])


def test_an_unscored_cell_is_nan():
    outcomes = one_item()
    outcomes[0, 1, 0] = NAN
    assert np.isnan(cell_means(outcomes)[0, 1, 0])


def test_contrasts_average_paraphrases_not_generations():
    # E-N: ((2/3 - 1/3) + (1 - 0)) / 2 = 2/3; pooling draws would give 4/5 - 1/4
    assert frame_differences(one_item(), "E", "N").fractions == [Fraction(2, 3)]
    # E-D: ((2/3 - 0) + (1 - 1)) / 2 = 1/3; D-N: ((0 - 1/3) + (1 - 0)) / 2 = 1/3
    assert frame_differences(one_item(), "E", "D").fractions == [Fraction(1, 3)]
    assert frame_differences(one_item(), "D", "N").fractions == [Fraction(1, 3)]


def test_a_paraphrase_enters_only_when_both_frames_are_scored():
    outcomes = one_item()
    outcomes[0, 1, 2] = NAN
    found = frame_differences(outcomes, "E", "N")
    # only paraphrase 0 is left: 2/3 - 1/3
    assert found.fractions == [Fraction(1, 3)]
    assert found.partial == 1
    outcomes[0, 0, 0] = NAN
    lost = frame_differences(outcomes, "E", "N")
    assert (lost.fractions, lost.undefined, lost.partial) == ([None], 1, 0)


def test_per_paraphrase_and_placebo_contrasts():
    first, second = paraphrase_frame_differences(one_item(), "E", "N")
    assert (first.fractions, second.fractions) == ([Fraction(1, 3)], [Fraction(1)])
    # p1 - p2 within D: 0 - 1; within E: 2/3 - 1
    assert placebo_differences(one_item(), "D").fractions == [Fraction(-1)]
    assert placebo_differences(one_item(), "E").fractions == [Fraction(-1, 3)]
    assert placebo_differences(one_item(), "E", pair=(1, 0)).fractions == [Fraction(1, 3)]


def test_placebo_arms_are_further_frames():
    frames = ("E", "D", "N", "bare")
    outcomes = np.concatenate([one_item(), one_item()[:, :, :1]], axis=2)
    assert frame_differences(outcomes, "E", "bare", frames).fractions == [Fraction(0)]


@given(outcome_tables)
def test_swapping_frames_negates(outcomes):
    forward = frame_differences(outcomes, "E", "D")
    back = frame_differences(outcomes, "D", "E")
    assert forward.numerators.tolist() == (-back.numerators).tolist()
    assert forward.denominators.tolist() == back.denominators.tolist()


@given(outcome_tables)
def test_exact_differences_agree_with_floating_point(outcomes):
    q = cell_means(outcomes)
    found = continuous_differences(q, "E", "N")
    np.testing.assert_allclose(found, frame_differences(outcomes, "E", "N").values, atol=1e-12)


@given(hnp.arrays(np.float64, (3, 2, 3, 2), elements=st.sampled_from([0.0, 1.0])))
def test_only_two_contrasts_are_independent(outcomes):
    en, ed, dn = (frame_differences(outcomes, *pair) for pair in ("EN", "ED", "DN"))
    for whole, left, right in zip(en.fractions, ed.fractions, dn.fractions, strict=True):
        assert whole == left + right


def test_signs_are_counted_against_the_preregistered_direction():
    differences = ItemDifferences.from_fractions(
        [Fraction(1, 14), Fraction(0), Fraction(-1, 7), None, Fraction(1, 3)]
    )
    counts = count_signs(differences, direction=1)
    assert (counts.positive, counts.zero, counts.negative, counts.undefined) == (2, 1, 1, 1)
    assert counts.inverted == 1
    assert counts.few_nonzero
    assert count_signs(differences, direction=-1).inverted == 2
    assert count_signs(differences).inverted is None


def test_signs_of_continuous_differences():
    counts = count_signs(np.array([0.1, 0.0, -0.2, NAN]), direction=1)
    assert (counts.positive, counts.zero, counts.negative, counts.undefined) == (1, 1, 1, 1)
    assert counts.inverted == 1


@pytest.mark.parametrize(
    ("items", "least"),
    # ceil(.4 * 20) = 8, ceil(.4 * 21) = 9, ceil(.4 * 37) = 15
    [(1, 8), (12, 8), (20, 8), (21, 9), (30, 12), (37, 15), (38, 15), (480, 15)],
)
def test_few_moving_items_are_flagged(items, least):
    assert least_nonzero(items) == least
    for moved in {min(least - 1, items), min(least, items)}:
        counts = count_signs(ItemDifferences.from_units([1] * moved + [0] * (items - moved), 14))
        assert counts.few_nonzero is (moved < least)


def test_malformed_outcomes_name_the_place():
    bad = one_item()
    bad[0, 1, 2, 0] = 0.5
    with pytest.raises(DataError, match=r"\(0, 1, 2, 0\) is 0\.5"):
        frame_differences(bad, "E", "N")
    with pytest.raises(DataError, match="shape"):
        count_cells(np.zeros((2, 3, 4)))
    with pytest.raises(DataError, match="unknown frame 'X'"):
        frame_differences(one_item(), "E", "X")
    with pytest.raises(DataError, match="2 frame names for an axis of 3"):
        frame_differences(one_item(), "E", "D", ("E", "D"))
    with pytest.raises(DataError, match="paraphrase index 2"):
        placebo_differences(one_item(), "E", pair=(0, 2))
    with pytest.raises(DataError, match="shape"):
        continuous_differences(np.zeros((2, 3)), "E", "N")


@pytest.mark.parametrize(("draws", "seed"), [(7, 0), (60, 1), (97, 2)])
def test_unequal_denominators_stay_exact(draws, seed):
    rng = np.random.default_rng(seed)
    outcomes = rng.integers(0, 2, (12, 2, 3, draws)).astype(float)
    outcomes[rng.random(outcomes.shape) < rng.random((12, 2, 3, 1))] = np.nan
    found = frame_differences(outcomes, "E", "N")
    for item, value in zip(outcomes, found.fractions, strict=True):
        terms = []
        for version in item:
            scored = [[int(y) for y in version[frame] if y == y] for frame in (0, 2)]
            if all(scored):
                first, second = (Fraction(sum(cell), len(cell)) for cell in scored)
                terms.append(first - second)
        assert value == (sum(terms) / len(terms) if terms else None)
