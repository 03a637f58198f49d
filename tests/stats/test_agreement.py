import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parallax.errors import DataError
from parallax.stats.agreement import (
    MISSING,
    cohen_kappa,
    confusion_matrix,
    encode_ratings,
    fleiss_kappa,
    krippendorff_alpha,
    observed_agreement,
    one_against_rest,
)

# Krippendorff (2011), section C: four observers, twelve units, missing data; "." is missing.
OBSERVERS = ("1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3",
             ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .")  # fmt: skip
# Fleiss (1971), table 1: thirty patients, six psychiatrists, five diagnoses.
DIAGNOSES = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""


def rng():
    return np.random.default_rng(0)


def from_counts(rows):
    """Ratings (units, raters) with these counts per category."""
    return np.array([np.repeat(np.arange(len(row)), row) for row in rows])


def observers():
    names = [line.split() for line in OBSERVERS]
    rows = [[None if name == "." else name for name in unit] for unit in zip(*names, strict=True)]
    return encode_ratings(rows, ["1", "2", "3", "4", "5"])


def pairwise_alpha(ratings):
    """Krippendorff's alpha by listing every ordered pair of ratings."""
    units = [[code for code in unit if code != MISSING] for unit in ratings.tolist()]
    units = [unit for unit in units if len(unit) > 1]
    pooled = [code for unit in units for code in unit]
    if len(set(pooled)) < 2:
        return np.nan
    observed = sum(
        (a != b) / (len(unit) - 1) for unit in units for a, b in itertools.permutations(unit, 2)
    ) / len(pooled)
    expected = sum(a != b for a, b in itertools.permutations(pooled, 2)) / (
        len(pooled) * (len(pooled) - 1)
    )
    return 1 - observed / expected


def pairwise_fleiss(ratings):
    """Fleiss' kappa by listing the pairs of raters of each unit."""
    units = [[code for code in unit if code != MISSING] for unit in ratings.tolist()]
    units = [unit for unit in units if len(unit) > 1]
    pooled = [code for unit in units for code in unit]
    if len(set(pooled)) < 2:
        return np.nan
    agreement = np.mean(
        [np.mean([a == b for a, b in itertools.combinations(unit, 2)]) for unit in units]
    )
    chance = sum((pooled.count(code) / len(pooled)) ** 2 for code in set(pooled))
    return (agreement - chance) / (1 - chance)


tables = hnp.arrays(np.int64, st.tuples(st.integers(1, 7), st.integers(2, 4)),
                    elements=st.integers(MISSING, 2))  # fmt: skip


def test_krippendorffs_published_example_with_missing_data():
    found = krippendorff_alpha(observers(), rng())
    assert round(found.value, 3) == 0.743
    # unit 12 has a single rating
    assert (found.units, found.excluded) == (11, 1)
    assert found.low < found.value < found.high <= 1


def coincidence_matrix(ratings, categories):
    """Krippendorff (2011), step 2: o_ck = sum_u (ordered pairs c, k in u) / (m_u - 1)."""
    matrix = [[Fraction(0)] * categories for _ in range(categories)]
    for unit in ratings.tolist():
        codes = [code for code in unit if code != MISSING]
        for a, b in itertools.permutations(codes, 2):
            matrix[a][b] += Fraction(1, len(codes) - 1)
    return matrix


def test_krippendorffs_published_coincidences_give_the_same_alpha():
    matrix = coincidence_matrix(observers(), 5)
    third = Fraction(1, 3)
    # The matrix as published, rows and columns 1 to 5.
    assert matrix == [
        [7, 4 * third, third, third, 0],
        [4 * third, 10, 4 * third, third, 0],
        [third, 4 * third, 8, third, 0],
        [third, third, third, 4, 0],
        [0, 0, 0, 0, 3],
    ]
    # n_c = 9, 13, 10, 5, 3; n = 40. Outside the diagonal stand 40 - 32 = 8, and
    # sum_c n_c (n - n_c) = 1600 - (81 + 169 + 100 + 25 + 9) = 1216:
    # alpha = 1 - 39 * 8 / 1216 = 113 / 152.
    totals = [sum(row) for row in matrix]
    n = sum(totals)
    apart = n - sum(matrix[c][c] for c in range(5))
    alpha = 1 - (n - 1) * apart / sum(c * (n - c) for c in totals)
    assert alpha == Fraction(113, 152)
    assert krippendorff_alpha(observers(), rng()).value == pytest.approx(float(alpha), abs=1e-9)


def test_observed_agreement_is_the_share_of_equal_pairs():
    # Units of 3, 3 and 2 ratings; the fourth has one. Equal pairs: 3 of 3, 1 of 3, 0 of 1.
    ratings = np.array([[1, 1, 1], [1, 0, 1], [0, 1, MISSING], [1, MISSING, MISSING]])
    assert observed_agreement(ratings) == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert observed_agreement(np.ones((4, 3), dtype=np.int64)) == 1
    assert np.isnan(observed_agreement(np.full((2, 3), MISSING)))


def test_one_stray_answer_among_equal_ones_brings_alpha_to_zero():
    # 20 pairs, 3 annotators, one "no": n = 60, n_no = 1, D_o = 2 / 60 and
    # D_e = 2 * 1 * 59 / (60 * 59) = 2 / 60; of 60 pairs of answers 58 are equal.
    ratings = np.ones((20, 3), dtype=np.int64)
    ratings[4, 1] = 0
    assert krippendorff_alpha(ratings, rng()).value == pytest.approx(0, abs=1e-12)
    assert observed_agreement(ratings) == pytest.approx(58 / 60)


def test_krippendorffs_published_two_observer_examples():
    binary = np.array(
        [[0, 1], [1, 1], [0, 1], [0, 0], [0, 0], [0, 1], [0, 0], [0, 0], [1, 0], [0, 0]]
    )
    assert round(krippendorff_alpha(binary, rng()).value, 3) == 0.095
    rows = list(zip("aabbdcccedda", "babbbccceddd", strict=True))
    nominal = encode_ratings(rows, "abcde")
    assert round(krippendorff_alpha(nominal, rng()).value, 3) == 0.692


def test_fleiss_published_example():
    counts = [[int(digit) for digit in row] for row in DIAGNOSES.split()]
    # the table's column totals, as published
    assert np.sum(counts, axis=0).tolist() == [26, 26, 30, 55, 43]
    found = fleiss_kappa(from_counts(counts), rng())
    assert round(found.value, 3) == 0.430
    assert 0.3 < found.low < found.value < found.high < 0.6


def test_fleiss_hand_worked():
    # units aa, ab, bb: P = (1 + 0 + 1) / 3 = 2/3, P_e = 1/4 + 1/4, kappa = (1/6) / (1/2)
    found = fleiss_kappa(np.array([[0, 0], [0, 1], [1, 1]]), rng())
    assert found.value == pytest.approx(1 / 3)


def test_cohen_hand_worked():
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: p_o = .7, p_e = .5 * .6 + .5 * .4 = .5
    ratings = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [20, 5, 10, 15], axis=0)
    found = cohen_kappa(ratings, rng())
    assert found.value == pytest.approx(0.4)
    # large-sample standard error .1273 (Fleiss, Cohen and Everitt 1969): .15 to .65
    assert (found.low, found.high) == pytest.approx((0.15, 0.65), abs=0.04)
    assert confusion_matrix(ratings[:, 0], ratings[:, 1], 2).tolist() == [[15, 10], [5, 20]]


@given(tables)
@settings(max_examples=60, deadline=None)
def test_coefficients_agree_with_listed_pairs(ratings):
    found = krippendorff_alpha(ratings, rng(), resamples=5).value
    np.testing.assert_allclose(found, pairwise_alpha(ratings), atol=1e-12)
    found = fleiss_kappa(ratings, rng(), resamples=5).value
    np.testing.assert_allclose(found, pairwise_fleiss(ratings), atol=1e-12)


@given(tables, st.permutations([0, 1, 2]))
@settings(max_examples=40, deadline=None)
def test_names_of_categories_and_order_of_raters_do_not_matter(ratings, names):
    renamed = np.where(ratings == MISSING, MISSING, np.array(names)[ratings])
    for coefficient in (krippendorff_alpha, fleiss_kappa):
        reference = coefficient(ratings, rng(), resamples=5).value
        np.testing.assert_allclose(coefficient(renamed, rng(), resamples=5).value, reference)
        turned = ratings[:, ::-1]
        np.testing.assert_allclose(coefficient(turned, rng(), resamples=5).value, reference)


@pytest.mark.parametrize("coefficient", [cohen_kappa, fleiss_kappa, krippendorff_alpha])
def test_perfect_agreement_is_one(coefficient):
    found = coefficient(np.array([[0, 0], [1, 1], [2, 2], [0, 0]]), rng())
    assert found.value == pytest.approx(1)
    assert found.high == pytest.approx(1)


@pytest.mark.parametrize("coefficient", [cohen_kappa, fleiss_kappa, krippendorff_alpha])
def test_a_single_category_is_undefined(coefficient):
    found = coefficient(np.zeros((5, 2), dtype=np.int64), rng(), resamples=50)
    assert np.isnan([found.value, found.low, found.high]).all()
    assert found.undefined_resamples == 50
    nothing = coefficient(np.full((3, 2), MISSING), rng(), resamples=50)
    assert np.isnan(nothing.value)
    assert (nothing.units, nothing.excluded) == (0, 3)


def test_resamples_without_variety_are_counted():
    # three units, one of which differs: a resample misses it with probability (2/3)^3
    # and holds nothing else with probability (1/3)^3
    found = krippendorff_alpha(np.array([[0, 0], [0, 0], [1, 1]]), rng(), resamples=4000)
    assert found.undefined_resamples / 4000 == pytest.approx(8 / 27 + 1 / 27, abs=0.03)


def test_bootstrap_interval_covers():
    truth_rng = np.random.default_rng(3)
    hits = 0
    for _ in range(150):
        # each rater reports the truth (fair coin) with probability .85: agreement .745, kappa .49
        truth = truth_rng.integers(0, 2, (80, 1))
        ratings = np.where(truth_rng.random((80, 2)) < 0.85, truth, 1 - truth)
        found = cohen_kappa(ratings, truth_rng, resamples=300)
        hits += found.low <= 0.49 <= found.high
    assert 0.88 <= hits / 150 <= 0.99


def test_one_category_against_the_rest():
    ratings = np.array([[0, 2], [1, MISSING]])
    assert one_against_rest(ratings, 2).tolist() == [[0, 1], [0, MISSING]]


def test_malformed_ratings_are_refused():
    with pytest.raises(DataError, match="unit 1, rater 0: unknown category 'x'"):
        encode_ratings([["a", None], ["x", "a"]], ["a", "b"])
    with pytest.raises(DataError, match="unit 1 has 1 ratings"):
        encode_ratings([["a", "b"], ["a"]], ["a", "b"])
    with pytest.raises(DataError, match="code -2"):
        fleiss_kappa(np.array([[0, -2]]), rng())
    with pytest.raises(DataError, match="not 3"):
        cohen_kappa(np.zeros((2, 3), dtype=np.int64), rng())
    with pytest.raises(DataError, match="shape"):
        krippendorff_alpha(np.zeros(3, dtype=np.int64), rng())


def test_copies_of_a_unit_in_one_cluster_are_no_more_evidence():
    ratings = np.random.default_rng(1).integers(0, 3, (12, 2))
    names = [f"item {n:02d}" for n in range(12)]
    copied, clusters = np.repeat(ratings, 10, axis=0), np.repeat(names, 10).tolist()
    for coefficient in (cohen_kappa, fleiss_kappa):
        alone, together = coefficient(ratings, rng()), coefficient(copied, rng(), clusters=clusters)
        assert (together.low, together.high) == pytest.approx((alone.low, alone.high))
        assert together.value == pytest.approx(alone.value)
        one_by_one = coefficient(copied, rng())
        assert one_by_one.high - one_by_one.low < 0.5 * (alone.high - alone.low)
        assert together.units == 120


def test_clusters_of_unrated_units_are_not_resampled():
    ratings = np.array([[0, 0], [1, 1], [1, 0], [MISSING, 0], [MISSING, MISSING]])
    for coefficient in (cohen_kappa, fleiss_kappa, krippendorff_alpha):
        found = coefficient(ratings, rng(), clusters=["a", "b", "c", "d", "d"])
        expected = coefficient(ratings[:3], rng())
        assert (found.value, found.low, found.high) == (
            expected.value,
            expected.low,
            expected.high,
        )
        assert (found.units, found.excluded) == (3, 2)


def test_every_unit_has_a_cluster():
    with pytest.raises(DataError, match="1 clusters for 2 units"):
        fleiss_kappa(np.zeros((2, 2), dtype=np.int64), rng(), clusters=["a"])
