"""Words of a text, and the share of its n-grams that a corpus of any size holds."""

import codecs
import re
import unicodedata
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import numpy as np

from parallax.errors import DataError
from parallax.stats.items import Floats

# Kana and Han put no blanks between words; a character of theirs is a word.
_UNSPACED = "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
# Longest piece of a line that is read at once, bytes; at most one word a piece is cut in two.
PIECE = 1 << 20

Ngram = tuple[str, ...]


def split_words(text: str) -> list[str]:
    """Return the runs of letters and digits of a text, without case."""
    return _WORD.findall(unicodedata.normalize("NFC", text).casefold())


def list_ngrams(text: str, n: int) -> frozenset[Ngram]:
    """Return the distinct runs of `n` words of a text; none where it has fewer words."""
    words = split_words(text)
    return frozenset(tuple(words[start : start + n]) for start in range(len(words) - n + 1))


def list_files(corpus: Path) -> list[Path]:
    """Return the corpus, or all files below it but hidden ones, in sorted order.

    Raises:
        DataError: nothing is there.
    """
    if not corpus.exists():
        raise DataError(
            f"{corpus}: no such file or folder; correct contamination.corpus in params.yaml, or set"
            " it to null"
        )
    if corpus.is_file():
        return [corpus]
    return sorted(
        path
        for path in corpus.rglob("*")
        if path.is_file() and not any(p.startswith(".") for p in path.relative_to(corpus).parts)
    )


def measure_overlap(
    bodies: Sequence[str],
    corpus: Path,
    n: int,
    progress: Callable[[int], object] = lambda count: None,
) -> Floats:
    """Return the share of each body's distinct `n`-grams that stand in the corpus; fractions.

    NaN for a body of fewer than `n` words. The corpus is read once and never held: a file is UTF-8
    text, an n-gram may run over its line ends, and `progress` is told the bytes read. Shape
    (bodies,).

    Raises:
        DataError: the corpus is missing, a file is not UTF-8, or there is no word in it.
    """
    wanted = [list_ngrams(body, n) for body in bodies]
    found = _find(frozenset[Ngram]().union(*wanted), corpus, n, progress)
    return np.array(
        [len(own & found) / len(own) if own else np.nan for own in wanted], dtype=np.float64
    )


def _find(
    wanted: Collection[Ngram], corpus: Path, n: int, progress: Callable[[int], object]
) -> set[Ngram]:
    """Return those of the wanted n-grams that the corpus holds."""
    # Most words are in no n-gram: they only end the run of those that are.
    known = {word for ngram in wanted for word in ngram}
    found: set[Ngram] = set()
    words = 0
    for path in list_files(corpus):
        run: deque[str] = deque(maxlen=n)
        for text in _read_pieces(path, progress):
            for word in (piece := split_words(text)):
                if word not in known:
                    run.clear()
                    continue
                run.append(word)
                if (ngram := tuple(run)) in wanted:
                    found.add(ngram)
            words += len(piece)
    if not words:
        raise DataError(
            f"{corpus}: holds no word; give contamination.corpus a text file or a folder of them"
        )
    return found


def _read_pieces(path: Path, progress: Callable[[int], object]) -> Iterator[str]:
    """Yield a file's text line by line, and lines longer than `PIECE` in pieces."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    read = 0
    with path.open("rb") as file:
        while True:
            piece = file.readline(PIECE)
            try:
                text = decoder.decode(piece, final=not piece)
            except UnicodeDecodeError:
                raise DataError(
                    f"{path}: not UTF-8 text, soon after byte {read}; convert it, or take it out of"
                    " the corpus"
                ) from None
            if not piece:
                return
            read += len(piece)
            progress(len(piece))
            yield text
