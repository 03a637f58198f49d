"""From a model's words to one of the options of a classification question."""

import dataclasses
import difflib
import re
from collections.abc import Callable

from rapidfuzz import fuzz, utils

from parallax.errors import DataError
from parallax.records import LETTERS
from parallax.registry import Registry


@dataclasses.dataclass(frozen=True)
class Choice:
    """An answer to a classification question.

    `options` are the options' texts in the order A to D; `logprobs` holds the summed
    log-probability of each option's answer tokens (nats; empty where it was not computed).
    """

    output: str
    options: tuple[str, ...]
    logprobs: tuple[float, ...] = ()


MatchOption = Callable[[Choice], int | None]
"""Returns the index of the chosen option, or None where the matcher chooses none."""

MATCHERS: Registry[MatchOption] = Registry("matcher")

# "B", "(b)" or "B." alone, or a marked letter and a blank before more text, "B. Lyon"; either may
# follow "Answer:", "Option" or "The correct answer is".
_LETTER_FORM = re.compile(
    r"(?:(?:the\s+)?(?:correct\s+)?(?:answer|option)(?:\s+is)?\s*:?\s+)?"
    r"\(?(?:(?P<alone>[A-D])[.):]*|(?P<mark>[A-D])[.):]+\s+(?P<rest>\S.*))",
    re.IGNORECASE | re.DOTALL,
)


@MATCHERS.register("rapidfuzz")
def match_rapidfuzz(choice: Choice) -> int:
    """Return the option most similar to the output; a letter answer counts as its option.

    In this order: (1) an output that is an option's text is that option; (2) a letter form ("B",
    "(B)", "B. Lyon", "The answer is B.") is the letter's option, unless the text after the letter
    is another option's text; (3) else the option of the highest `fuzz.WRatio`, ties by
    `fuzz.ratio`, then by option order. Texts are compared as `utils.default_process` leaves them,
    lower-cased letters and digits, after a look at the raw texts. WRatio finds an option inside a
    sentence, where the plain ratio favours long options; where one option lies inside another, as
    Niger in "It is Nigeria", the ratio takes the longer.
    """
    verbatim = match_exact(choice)
    if verbatim is not None:
        return verbatim
    output = utils.default_process(choice.output)
    options = [utils.default_process(option) for option in choice.options]
    if output in options:
        return options.index(output)
    letter = _match_letter(choice.output, options)
    if letter is not None:
        return letter
    scores = [(fuzz.WRatio(output, option), fuzz.ratio(output, option)) for option in options]
    return scores.index(max(scores))


@MATCHERS.register("difflib")
def match_difflib(choice: Choice) -> int:
    """Return the option of the highest `SequenceMatcher(None, output, option).ratio()`, raw texts.

    The first of equals wins, as in the official `select_answer`; letters mean nothing to it.
    """
    output = choice.output.strip()
    ratios = [difflib.SequenceMatcher(None, output, option).ratio() for option in choice.options]
    return ratios.index(max(ratios))


@MATCHERS.register("exact")
def match_exact(choice: Choice) -> int | None:
    """Return the option whose text is the output without its outer blanks, or None.

    This is what the official code does on its forget and retain sets.
    """
    output = choice.output.strip()
    return choice.options.index(output) if output in choice.options else None


@MATCHERS.register("likelihood")
def match_likelihood(choice: Choice) -> int:
    """Return argmax over options of log P(option | question), the sum over its answer tokens.

    UMU-Bench's formula of classification; the first of equals wins. The output is not looked at.

    Raises:
        DataError: there is not one log-probability for each option, or one is NaN.
    """
    logprobs = choice.logprobs
    if len(logprobs) != len(choice.options) or any(value != value for value in logprobs):
        raise DataError(
            f"option_logprobs {list(logprobs)!r} for {len(choice.options)} options: the matcher"
            " 'likelihood' needs one number for each; evaluate again, or choose another matcher"
        )
    return logprobs.index(max(logprobs))


def _match_letter(output: str, options: list[str]) -> int | None:
    form = _LETTER_FORM.fullmatch(output.strip())
    if form is None:
        return None
    rest = utils.default_process(form["rest"] or "")
    if rest in options:
        return options.index(rest)
    return LETTERS.index((form["alone"] or form["mark"]).upper())
