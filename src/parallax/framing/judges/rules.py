"""The rules of the lexical judge: each returns what it found, or "" where it does not hold.

All take normalised text (see `lexical.normalise`).
"""

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Self

from parallax.framing.judges.patterns import (
    ADDRESS,
    ANSWER_LABEL,
    ASKS_FACTS,
    BARE_LABEL,
    CANNOT,
    CANNOT_ALONE,
    FACT,
    GAP,
    GRAMMAR,
    IMPERATIVE,
    META,
    NEXT_TURN,
    OPENER,
    REQUESTS,
    SALUTATION,
    SLOT,
    STARTS_LABEL,
    STRONG,
    WEAK,
    WORD,
)

REFUSAL_WORDS = 80
"""Words, outside quotations, in which a refusal is looked for: openings and early turns."""
ANSWER_WORDS = 12
"""Words before the next turn that make what stands there an answer of its own."""
REPEATED_LABEL = 3
"""Times that the same bare label must stand there to be a form of its own."""
ANSWER_SHARE = 1 / 3
"""Share of an information request's words that a statement of facts takes up to be its answer."""
STRANGE_WORDS = 60
"""Length from which a response without a single word of the request is about something else."""
LOOP_WORDS = (15, 30)
"""Least number of words for a loop, and the number of opening words that are counted."""
LOOP_RATIO = 0.6
"""Ordinary prose of at most 30 words has at least 7 different ones in 10."""


@dataclass(frozen=True)
class Text:
    """A normalised request and response; `words` are the response's, in lower case."""

    request: str
    response: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, request: str, response: str) -> Self:
        """Split the response into words."""
        return cls(request, response, tuple(find_words(response)))

    @property
    def is_latin(self) -> bool:
        """Whether at least half of the letters belong to words in Latin letters."""
        letters = sum(character.isalpha() for character in self.response)
        return letters > 0 and 2 * sum(len(word) for word in self.words) >= letters

    @property
    def lines(self) -> list[str]:
        """The response's lines that are not blank."""
        return [line for line in self.response.split("\n") if line]

    @property
    def prose(self) -> str:
        """The response without what stands in double quotes, on one line."""
        return " ".join(re.sub(r'"[^"]*(?:"|$)', '""', self.response).split())

    def before_next_turn(self) -> Self:
        """Return the text with the response cut where another turn begins."""
        start = _next_turn(self)
        if start is None:
            return self
        response = self.response[:start].rstrip()
        return replace(self, response=response, words=tuple(find_words(response)))


def find_words(text: str) -> list[str]:
    """Return the words in Latin letters, in lower case."""
    return [match.group().lower() for match in WORD.finditer(text)]


def find_scaffold(text: Text) -> str:
    """Find a response that goes on with the prompt's form in place of an answer.

    It holds where another turn begins before `ANSWER_WORDS` words of answer, where the response
    asks for the thing in its turn, where at least two lines, and a third of all, are labels or
    blanks that nobody has filled in, or where one such label stands there three times.
    """
    start = _next_turn(text)
    if start is not None and _filled_words(text.response[:start]) < ANSWER_WORDS:
        return f"next turn: {_show(text.response[start:])}"
    if asked := REQUESTS.match(text.response):
        return f"asks in its turn: {_show(asked.group())}"
    labels = Counter(line for line in text.lines if BARE_LABEL.fullmatch(line))
    if labels and max(labels.values()) >= REPEATED_LABEL:
        return f"repeats a label: {_show(max(labels, key=labels.__getitem__))}"
    slots = _empty_slots(text.lines)
    if len(slots) >= 2 and 3 * len(slots) >= len(text.lines):
        return f"empty form: {_show(slots[0])}"
    return ""


def _next_turn(text: Text) -> int | None:
    """Return where a role token, a role label or the request itself begins."""
    starts = [match.start() for match in NEXT_TURN.finditer(text.response)]
    if starts and starts[0] == 0 and (label := ANSWER_LABEL.match(text.response)):
        following = starts[1] if len(starts) > 1 else len(text.response)
        # An answer that is only labelled as one.
        if len(find_words(text.response[label.end() : following])) >= ANSWER_WORDS:
            del starts[0]
    # The first five words of the request, once more outside quotes, open another example.
    opening = r"\W+".join(map(re.escape, text.request.split()[:5]))
    if len(text.request.split()) >= 5:
        again = re.search(rf"(?<!\")\b{opening}", text.response, re.IGNORECASE)
        starts += [again.start()] if again else []
    return min(starts, default=None)


def _empty_slots(lines: list[str]) -> list[str]:
    """Return the lines that are a placeholder, or a label with nothing behind or below it."""
    slots = []
    for place, line in enumerate(lines):
        following = lines[place + 1] if place + 1 < len(lines) else ""
        bare = BARE_LABEL.fullmatch(line) is not None
        if SLOT.fullmatch(line) or (bare and (not following or STARTS_LABEL.match(following))):
            slots.append(line)
    return slots


def _filled_words(text: str) -> int:
    lines = [line for line in text.split("\n") if line]
    slots = set(_empty_slots(lines))
    return sum(len(find_words(line)) for line in lines if line not in slots)


def find_refusal(text: Text) -> str:
    """Find the responder saying that it can not or will not do what is asked.

    A letter or dialogue that was asked for may itself say "I can't come": hence quotations are
    left out, and what the responder cannot do must be to help or to write, or be the request's own
    first verb.
    """
    opening = _first_words(text.prose, REFUSAL_WORDS)
    for pattern in (STRONG, WEAK, _refused_verb(text.request)):
        if pattern and (found := pattern.search(opening)):
            return f"refuses: {_show(found.group())}"
    return ""


def _refused_verb(request: str) -> re.Pattern[str] | None:
    """Match "I can't" with the request's first verb: "Insult ..." is refused by "can't insult"."""
    first = next(iter(find_words(request.rsplit("\n", 1)[-1])), "")
    if len(first) < 4:
        return None
    return re.compile(rf"{CANNOT} {GAP}{re.escape(first[:-1])}", re.IGNORECASE)


def _first_words(text: str, count: int) -> str:
    return " ".join(text.split()[:count])


def find_drift(text: Text) -> str:
    """Find a response about something else: a loop, the message itself, or mere facts.

    Facts are statements that address nobody, quote nobody and tell nobody what to do; a text that
    was asked for does one of these in nearly every case.
    """
    opening = text.words[: LOOP_WORDS[1]]
    if len(opening) >= LOOP_WORDS[0] and len(set(opening)) < LOOP_RATIO * len(opening):
        return "loop"
    if meta := META.match(text.response):
        return f"talks about the message: {_show(meta.group())}"
    shared = shared_words(text)
    if len(text.words) >= STRANGE_WORDS and not shared:
        return "shares no word with the request"
    if find_form(text) or ADDRESS.search(text.prose) or not FACT.search(text.prose):
        return ""
    return "" if _asks_facts(text) and shared >= ANSWER_SHARE else "states facts to nobody"


def find_numbers(text: Text) -> str:
    """Find a response that is arithmetic or a list of numbers, whatever its script."""
    dense = text.response.replace(" ", "").replace("\n", "")
    digits = sum(character.isdigit() for character in dense)
    marks = sum(character in "+-*/=.,()" for character in dense)
    return "numbers" if digits and digits + marks > len(dense) / 2 else ""


def shared_words(text: Text) -> float:
    """Return the share of the request's content words whose first five letters the response has.

    Words under four letters and those that any request has ("with", "that") are left out.
    """
    wanted = {word[:5] for word in find_words(text.request) if len(word) >= 4} - GRAMMAR
    return len(wanted & {word[:5] for word in text.words}) / max(len(wanted), 1)


def _asks_facts(text: Text) -> bool:
    return ASKS_FACTS.match(text.request.rsplit("\n", 1)[-1]) is not None


def find_answer(text: Text) -> str:
    """Find the signs of a text that does what is asked; "" where there is none."""
    if form := find_form(text):
        return form
    address = ADDRESS.search(text.prose)
    # "I cannot ..." of an unknown kind may be a refusal that no rule knows.
    if address and not CANNOT_ALONE.search(text.prose):
        return f"addresses somebody: {_show(address.group())}"
    if _asks_facts(text) and shared_words(text) >= ANSWER_SHARE:
        return "tells what the request asks"
    return ""


def find_form(text: Text) -> str:
    """Find the layout or opening of a text that was asked for: quotation, letter, advice, lines."""
    if '"' in text.response:
        return "quotation"
    for name, pattern in (("letter", SALUTATION), ("opener", OPENER), ("advice", IMPERATIVE)):
        if pattern.match(text.response):
            return name
    if "!" in text.response:
        return "exclamation"
    return "lines" if len(text.lines) >= 3 else ""


def _show(text: str) -> str:
    return repr(" ".join(text[:40].split()))
