import itertools

import pandas as pd
import pytest

from parallax.framing.analysis.repeats import LONG, count_repeats

TEXT = " ".join(["word"] * LONG)


def table(texts, subject="tiny"):
    """`texts[n]` are the draws of prompt n."""
    return pd.DataFrame(
        [
            (subject, f"i{n}", 0, "E", "w1", draw, text)
            for n, draws in enumerate(texts)
            for draw, text in enumerate(draws)
        ],
        columns=["subject", "item", "paraphrase", "arm", "wording", "draw", "response"],
    )


def test_pairs_by_hand():
    # Three draws: 3 pairs, one alike. Two short and two long: 6 pairs, 1 of them short, 0 alike.
    # Stock refusals alone: no pair counts.
    texts = [
        [TEXT, TEXT, f"{TEXT} more"],
        ["No.", "No.", TEXT, f"{TEXT} more"],
        ["I can't help.", "I can't help."],
    ]
    found = count_repeats(table(texts), ["tiny"])["tiny"]
    assert (found.pairs, found.alike) == (3 + 5, 1)
    assert found.share == 1 / 8
    assert not found.collapsed


def test_a_text_of_another_prompt_is_no_repeat():
    found = count_repeats(table([[TEXT], [TEXT]]), ["tiny"])["tiny"]
    assert (found.pairs, found.alike) == (0, 0)
    assert not found.collapsed


def test_subjects_stand_apart():
    both = pd.concat([table([[TEXT, TEXT]]), table([[TEXT, f"{TEXT} more"]], "large")])
    found = count_repeats(both, ["large", "tiny"])
    assert list(found) == ["large", "tiny"]
    assert [found[name].collapsed for name in found] == [False, True]


@pytest.mark.parametrize("unlike", [0, 1, 2, 3])
def test_more_than_half_of_the_pairs_is_a_collapse(unlike):
    draws = [TEXT] * (7 - unlike) + [f"{TEXT} {n}" for n in range(unlike)]
    pairs = list(itertools.combinations(draws, 2))
    share = sum(a == b for a, b in pairs) / len(pairs)
    found = count_repeats(table([draws] * 3), ["tiny"])["tiny"]
    assert found.share == pytest.approx(share)
    # 21, 15, 10 and 6 of 21 pairs.
    assert found.collapsed is (unlike < 2)
