"""Overlap of a generated sentence with its reference: ROUGE in any script, and BLEU."""

import dataclasses
import functools
import unicodedata
from collections.abc import Sequence

from nltk.stem.porter import PorterStemmer
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

from parallax.params import Tokenizer

# Scripts that put no blanks between words; a character of theirs is a token.
_UNSPACED = ("CJK ", "HIRAGANA ", "KATAKANA ")


@dataclasses.dataclass(frozen=True)
class Overlap:
    """F-measures of ROUGE-1, ROUGE-2 and ROUGE-L, and BLEU; fractions."""

    rouge1: float
    rouge2: float
    rouge_l: float
    bleu: float


class UnicodeTokenizer:
    """Lower-cased runs of letters, marks and digits; ASCII words over 3 characters are stemmed.

    On ASCII text it yields what rouge_score's default tokenizer with the Porter stemmer does; that
    one drops every other letter, so that two identical Korean strings would score 0. A character
    of a script without blanks (Han, Hiragana, Katakana) is a token of its own.
    """

    def __init__(self) -> None:
        self._stem = functools.cache(PorterStemmer().stem)

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of a text; `RougeScorer` calls it."""
        words = "".join(_spell(char) for char in unicodedata.normalize("NFC", text).lower()).split()
        stems = (self._stem(word) if len(word) > 3 and word.isascii() else word for word in words)
        return [stem for stem in stems if stem]


def _spell(char: str) -> str:
    if char.isascii():
        return char if char.isalnum() else " "
    if char.isalpha() and unicodedata.name(char, "").startswith(_UNSPACED):
        return f" {char} "
    return char if char.isalnum() or unicodedata.category(char).startswith("M") else " "


def measure_overlap(pairs: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> list[Overlap]:
    """Measure each (reference, output) pair; identical pairs are computed once.

    ROUGE-N and ROUGE-L are F1 = 2PR/(P + R) of n-gram and longest-common-subsequence matches (Lin
    2004) by `rouge_score`, on the tokens of `UnicodeTokenizer` (`unicode`) or of its own default
    tokenizer with the Porter stemmer (`rouge_score`, as in the official code). BLEU (Papineni et
    al. 2002) is nltk's `sentence_bleu` up to 4-grams on words between blanks, with smoothing
    method 1 (Chen and Cherry 2014), as in the official code; a sentence of fewer than 4 words
    stays below 1.
    """
    words = UnicodeTokenizer() if tokenizer == "unicode" else DefaultTokenizer(use_stemmer=True)
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], tokenizer=words)
    smoothing = SmoothingFunction().method1

    def measure(reference: str, output: str) -> Overlap:
        rouge = scorer.score(reference, output)
        bleu = sentence_bleu([reference.split()], output.split(), smoothing_function=smoothing)
        return Overlap(
            rouge1=float(rouge["rouge1"].fmeasure),
            rouge2=float(rouge["rouge2"].fmeasure),
            rouge_l=float(rouge["rougeL"].fmeasure),
            bleu=float(bleu),
        )

    known = {pair: measure(*pair) for pair in set(pairs)}
    return [known[pair] for pair in pairs]
