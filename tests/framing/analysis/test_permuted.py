import numpy as np
import pytest
from scipy import stats

from parallax.framing.analysis.permuted import check_permuted, permute_frames
from parallax.stats.contrasts import frame_differences

FRAMES = 3


def draw(items, rates, seed, draws=7):
    """Outcomes (I, 2, F, K) at `rates`, which may have the shape (I, 1, F, 1)."""
    rng = np.random.default_rng(seed)
    return (rng.random((items, 2, FRAMES, draws)) < rates).astype(float)


def test_a_frame_moves_whole():
    values = np.arange(2 * 2 * 3 * 2, dtype=float).reshape(2, 2, 3, 2)
    found = permute_frames(values, np.array([[2, 0, 1], [0, 1, 2]]))
    # Item 0: what stood under N is now under E, in both paraphrases and all draws.
    assert (found[0, :, 0] == values[0, :, 2]).all()
    assert (found[0, :, 1] == values[0, :, 0]).all()
    assert (found[1] == values[1]).all()


def test_a_strong_effect_vanishes_in_the_copies():
    rates = np.array([0.9, 0.2, 0.2]).reshape(1, 1, 3, 1)
    values = draw(20, rates, 0)
    assert frame_differences(values, "E", "N").estimate > 0.6
    found = check_permuted([values] * 3, 0.05, np.random.default_rng(1))
    assert found.passed
    assert found.copies == 200
    for share in (*found.contrasts, found.family):
        assert share.trials == 200
        assert share.low <= share.value <= share.high
        assert share.value <= 0.09
    assert found.family.hits <= sum(share.hits for share in found.contrasts)


def test_items_that_react_to_frames_each_in_their_own_way_do_not_fool_the_item_level_test():
    rng = np.random.default_rng(2)
    values = draw(30, rng.choice([0.05, 0.95], (30, 1, FRAMES, 1)), 3)
    found = check_permuted([values] * 3, 0.05, np.random.default_rng(4))
    assert found.passed
    # A test that pools the draws of all items would be fooled, in the very same copies.
    labels, hits = np.tile(np.arange(FRAMES), (30, 1)), 0
    for _ in range(200):
        copy = permute_frames(values, rng.permuted(labels, axis=1))
        first, second = copy[:, :, 0].ravel(), copy[:, :, 2].ravel()
        hits += stats.ttest_ind(first, second).pvalue <= 0.05
    assert hits / 200 > 0.15


def test_shares_above_alpha_fail(monkeypatch):
    values = draw(12, 0.5, 5)

    class Always:
        p_value = 0.01

    monkeypatch.setattr(
        "parallax.framing.analysis.permuted.sign_flip", lambda differences, rng: Always
    )
    found = check_permuted([values] * 3, 0.05, np.random.default_rng(0), copies=20)
    assert not found.passed
    assert found.family.value == 1


def test_the_seed_decides():
    values = draw(10, 0.4, 6)
    runs = [
        check_permuted([values] * 3, 0.1, np.random.default_rng(seed), copies=50)
        for seed in (0, 0, 1)
    ]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@pytest.mark.parametrize("known", [0, 1])
def test_a_contrast_that_the_judge_cannot_tell_has_no_share(known):
    values, nothing = draw(10, 0.4, 7), np.full((10, 2, FRAMES, 7), np.nan)
    family = [values if known else nothing, nothing, nothing]
    found = check_permuted(family, 0.05, np.random.default_rng(0), copies=20)
    assert [share is None for share in found.contrasts] == [not known, True, True]
    assert found.passed
