import math
import tracemalloc

import pytest

from parallax.errors import DataError
from parallax.framing import ngrams
from parallax.framing.ngrams import list_ngrams, measure_overlap, split_words

BODY = "Write a polite letter to the neighbours."


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def share(tmp_path, text, body=BODY, n=3):
    return measure_overlap([body], write(tmp_path / "corpus.txt", text), n)[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't write, WRITE_it 2 times!", ["don", "t", "write", "write", "it", "2", "times"]),
        ("Stra\u00dfe cafe\u0301", ["strasse", "caf\u00e9"]),
        ("\u6771\u4eac\u3067 GPT\u3092", ["\u6771", "\u4eac", "\u3067", "gpt", "\u3092"]),
        ("\ub2e4\uc74c \uc9c8\ubb38", ["\ub2e4\uc74c", "\uc9c8\ubb38"]),
        (" \n--", []),
    ],
)
def test_words(text, words):
    assert split_words(text) == words


def test_ngrams_are_distinct_runs():
    assert list_ngrams("a b a b", 2) == {("a", "b"), ("b", "a")}
    assert list_ngrams("a b", 3) == frozenset()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # 7 words: 5 trigrams.
        (f"... {BODY.upper()} ...", 1),
        ("write a polite letter", 2 / 5),
        ("to the neighbours. Write a polite", 2 / 5),
        ("write a\npolite\r\n\r\nletter", 2 / 5),
        ("write a polite, letter", 2 / 5),
        ("write a very polite letter", 0),
        ("a polite write letter a to the", 0),
        ("write a polite dog write a polite", 1 / 5),
    ],
)
def test_share_of_the_ngrams_found(tmp_path, text, expected):
    assert share(tmp_path, text) == pytest.approx(expected)


def test_repeated_ngram_of_a_body_counts_once(tmp_path):
    # Bigrams "a b", "b a" and "b c": "a b" is found.
    assert share(tmp_path, "x a b x", "a b a b c", 2) == pytest.approx(1 / 3)


def test_bodies_are_independent_and_short_ones_undefined(tmp_path):
    corpus = write(tmp_path / "c.txt", "one two three, and four five six")
    bodies = ["one two three four", "four five six", "one two"]
    found = measure_overlap(bodies, corpus, 3)
    assert found[:2].tolist() == [1 / 2, 1]
    assert math.isnan(found[2])
    assert measure_overlap(bodies[::-1], corpus, 3)[1:].tolist() == [1, 1 / 2]


def test_folder_is_read_without_hidden_files_and_none_runs_into_the_next(tmp_path):
    corpus = tmp_path / "corpus"
    write(corpus / "a.txt", "write a")
    write(corpus / "b/c.md", "polite letter to")
    write(corpus / ".b/d.txt", BODY)
    write(corpus / ".hidden", BODY)
    assert measure_overlap([BODY], corpus, 3)[0] == pytest.approx(1 / 5)


def test_lines_longer_than_a_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(ngrams, "PIECE", 8)
    # 24 bytes: the second cut falls into the three bytes of a character.
    text = "one two \u6771\u4eac\u3067\u6771\u4eac four"
    assert share(tmp_path, text, "two \u6771\u4eac\u3067\u6771\u4eac four", 2) == 1


def test_corpus_larger_than_memory_is_not_held(tmp_path):
    corpus = write(tmp_path / "c.txt", f"{'some other words ' * 200}\n" * 1000 + BODY)
    size, told = corpus.stat().st_size, []
    tracemalloc.start()
    found = measure_overlap([BODY], corpus, 7, told.append)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found[0] == 1
    assert sum(told) == size > 3_000_000
    assert peak < size / 10


def test_what_is_no_corpus(tmp_path):
    (tmp_path / "empty").mkdir()
    write(tmp_path / "blank/a.txt", " \n...\n")
    (tmp_path / "latin.txt").write_bytes(b"plain line\ncaf\xe9 au lait\n")
    (tmp_path / "torn.txt").write_bytes("caf\u00e9".encode()[:-1])
    for name, words in {
        "none.txt": "no such file or folder; correct contamination.corpus",
        "empty": "holds no word",
        "blank": "holds no word",
        "latin.txt": "not UTF-8 text, soon after byte 11",
        "torn.txt": "not UTF-8 text",
    }.items():
        with pytest.raises(DataError, match=words) as caught:
            measure_overlap([BODY], tmp_path / name, 3)
        assert str(tmp_path / name) in str(caught.value)
        assert "\n" not in str(caught.value)
