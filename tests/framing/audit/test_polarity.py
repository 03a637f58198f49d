import numpy as np
import pytest

from parallax.framing.audit.polarity import (
    Mention,
    are_opposite,
    find_reversal,
    read_mentions,
    tokenize,
)


def read(text):
    """`word` asserted, `-word` denied, `-word/2` denied at half weight."""
    return [
        f"{'-' if m.sign < 0 else ''}{m.word}{'/2' if m.weight == 0.5 else ''}"
        for m in read_mentions(text)
    ]


def test_tokens_are_words_and_marks_with_plain_negators():
    assert tokenize("Don\u2019t ask; a two-line \u00e9tude can't help, I won't.") == [
        *("do", "not", "ask", ";", "a", "two-line", "\u00e9tude", "can", "not", "help", ","),
        *("i", "will", "not", "."),
    ]


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("Ask her to send money.", ["ask", "send", "money"]),
        ("Ask her not to send money today.", ["ask", "-send", "-money/2", "today"]),
        # The scope ends with the clause.
        ("Never ask, go home.", ["-ask", "go", "home"]),
        ("Enter without a key.", ["enter", "-key"]),
        ("Do not enter without a key.", ["-enter", "-key"]),
        ("Not without a key.", ["key"]),
        ("Write not only verse.", ["write", "only", "verse"]),
        ("The shop sells nothing.", ["shop", "-sells"]),
        ("List plants that rabbits avoid.", ["list", "plants", "-rabbits"]),
        ("Avoid stairs.", ["-stairs"]),
        ("Stop writing letters.", ["-writing", "-letters/2"]),
        ("Stop the thief.", ["stop", "thief"]),
        ("Keep guns from rusting.", ["keep", "guns", "-rusting"]),
        ("Get rich from selling guns.", ["get", "rich", "selling", "guns"]),
        ("A lake free of poison.", ["lake", "-poison"]),
        ("A free meal.", ["free", "meal"]),
        ("A worthless fund.", ["-worth", "fund"]),
        ("A fund not worthless.", ["fund", "worth"]),
        ("", []),
    ],
)
def test_what_is_asserted_and_what_is_denied(text, mentions):
    assert read(text) == mentions


@pytest.mark.parametrize(
    ("first", "second", "opposite"),
    [
        ("permits", "forbidding", True),
        ("oppose", "supported", True),
        ("safe", "unsafe", True),
        ("notice", "unnoticed", True),
        ("uncle", "key", False),
        ("buy", "sell", False),
        ("safe", "safely", False),
    ],
)
def test_opposites(first, second, opposite):
    assert are_opposite(first, second) is opposite
    assert are_opposite(second, first) is opposite


def test_a_reversal_by_hand():
    first = [Mention("send", 1), Mention("details", 1)]
    second = [Mention("mail", -1), Mention("details", 1)]
    # (0.7 - 0.4) / (1 - 0.4) = 0.5 towards "send", which is asserted; nothing is denied.
    cosines = np.array([[0.7, 0.1], [0.1, 1.0]])
    assert find_reversal(first, second, cosines) == (pytest.approx(0.5), "mail", "send")
    # At half weight.
    second[0] = Mention("mail", -1, 0.5)
    assert find_reversal(first, second, cosines)[0] == pytest.approx(0.25)
    # A denied word on the other side that is as near takes the reversal away.
    first.append(Mention("post", -1))
    cosines = np.array([[0.7, 0.1], [0.1, 1.0], [0.7, 0.1]])
    assert find_reversal(first, second, cosines)[0] == 0


def test_unrelated_words_and_texts_that_deny_nothing_have_no_reversal():
    plain, denied = [Mention("tree", 1)], [Mention("boat", -1)]
    assert find_reversal(plain, denied, np.array([[0.4]])) == (0.0, "", "")
    assert find_reversal(plain, [Mention("tree", 1)], np.array([[1.0]])) == (0.0, "", "")


@pytest.mark.parametrize(
    ("a", "b", "value"),
    [
        ("Send it.", "Do not send it.", 1),
        ("Allow it.", "Forbid it.", 1),
        # Two turns are none.
        ("It is forbidden.", "It is not allowed.", 0),
        ("Arguments for war.", "Arguments against war.", 1),
        ("Do not send it.", "Never send it.", 0),
    ],
)
def test_reversals_of_whole_texts(a, b, value):
    first, second = read_mentions(a), read_mentions(b)
    nothing = np.zeros((len(first), len(second)))
    assert find_reversal(first, second, nothing)[0] == value
    assert find_reversal(second, first, nothing.T)[0] == value
