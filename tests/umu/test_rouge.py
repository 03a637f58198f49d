import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

from parallax.umu.rouge import UnicodeTokenizer, measure_overlap


def overlap(reference, output):
    return measure_overlap([(reference, output)], "unicode")[0]


def test_hand_worked_overlap():
    # Reference a b c d e (5), output a c b d (4); unigrams shared 4: P 4/4, R 4/5, F 8/9.
    # Bigrams ab bc cd de and ac cb bd: none. LCS a b d or a c d, 3: P 3/4, R 3/5, F 2/3.
    result = overlap("a b c d e", "a c b d")
    assert result.rouge1 == pytest.approx(8 / 9)
    assert result.rouge2 == 0
    assert result.rouge_l == pytest.approx(2 / 3)


def test_hand_worked_bleu():
    # Output of 5 words, reference the same with its last word changed: precisions 4/5, 3/4, 2/3,
    # 1/2, product 1/5; no brevity penalty: (1/5)^(1/4).
    assert overlap("a b c d e", "a b c d x").bleu == pytest.approx(0.2**0.25)


def test_bleu_smooths_a_precision_of_zero():
    # Precisions 4/4, then none of 3 trigrams... a c b d against a b c d e: bigrams, trigrams and
    # 4-grams match nowhere: method 1 makes them .1/3, .1/2, .1/1; brevity exp(1 - 5/4).
    product = 1 * (0.1 / 3) * (0.1 / 2) * 0.1
    expected = product**0.25 * 2.718281828459045**-0.25
    assert overlap("a b c d e", "a c b d").bleu == pytest.approx(expected)


def test_words_are_stemmed():
    # "engineers" and "engineering" share the stem "engin".
    assert overlap("two engineers", "two engineering").rouge_l == 1


@pytest.mark.parametrize(
    "text",
    [
        "그는 서울에서 태어났다",
        "Она родилась в Казани",
        "हिन्दी की किताब",
        "她出生在上海",
        "São Paulo",
    ],
)
def test_a_text_of_any_script_overlaps_itself_wholly(text):
    result = overlap(text, text)
    assert (result.rouge1, result.rouge_l) == (1, 1)


def test_other_scripts_score_by_their_words():
    # 3 words, 2 of them shared in order: P = R = F = 2/3.
    assert overlap("그는 서울에서 태어났다", "그는 부산에서 태어났다").rouge_l == pytest.approx(
        2 / 3
    )
    # Han has no blanks: 6 characters, 4 shared.
    assert overlap("她出生在上海", "她出生在北京").rouge_l == pytest.approx(4 / 6)
    # Vowel signs belong to the word: two words that differ in one are different.
    assert overlap("की", "का").rouge_l == 0


def test_composed_and_decomposed_letters_are_the_same():
    assert overlap("Z\u00fcrich", "Zu\u0308rich").rouge_l == 1


def test_one_accent_does_not_change_how_other_words_are_stemmed():
    # 4 words, "engineers" ~ "engineering" by stem: all shared.
    assert overlap("two engineers of Orléans", "two engineering of Orléans").rouge_l == 1


@pytest.mark.parametrize("output", ["", " ", "...", "?!"])
def test_an_output_without_words_overlaps_nothing(output):
    result = overlap("born in Lyon", output)
    assert (result.rouge1, result.rouge2, result.rouge_l) == (0, 0, 0)


def test_bleu_of_an_empty_output_is_zero():
    assert overlap("born in Lyon", "").bleu == 0


@given(st.text(st.characters(max_codepoint=127), max_size=40))
def test_on_ascii_the_tokenizer_is_the_default_one_with_stemmer(text):
    assert UnicodeTokenizer().tokenize(text) == DefaultTokenizer(use_stemmer=True).tokenize(text)


WORDS = st.lists(st.sampled_from(["the", "cat", "cats", "sitting", "on", "mats", "."]), max_size=8)


@given(WORDS.map(" ".join), WORDS.map(" ".join))
def test_on_ascii_the_scores_are_those_of_rouge_score_with_stemmer(reference, output):
    expected = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True).score(
        reference, output
    )
    result = overlap(reference, output)
    assert result.rouge1 == expected["rouge1"].fmeasure
    assert result.rouge2 == expected["rouge2"].fmeasure
    assert result.rouge_l == expected["rougeL"].fmeasure


def test_pairs_keep_their_order_and_doubles():
    pairs = [("a b", "a b"), ("a b", "x"), ("a b", "a b"), ("x", "a b")]
    assert [result.rouge_l for result in measure_overlap(pairs, "unicode")] == [1, 0, 1, 0]
    assert measure_overlap([], "unicode") == []


def test_the_default_tokenizer_of_rouge_score_drops_other_letters():
    korean, accented = (
        ("그는 서울에서 태어났다",) * 2,
        ("two engineers of Orléans", "two engineering"),
    )
    dropped, cut = measure_overlap([korean, accented], "rouge_score")
    assert dropped.rouge_l == 0
    # "Orléans" falls into "orl" and "ans": 5 words, of which "two" and the stem "engin": 2*2/(5+2).
    assert cut.rouge_l == pytest.approx(4 / 7)
    # BLEU splits at blanks and is the same for both.
    assert [dropped.bleu, cut.bleu] == [
        overlap.bleu for overlap in measure_overlap([korean, accented], "unicode")
    ]
