"""What people are called, found in the questions that name them: the files have no such column."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from parallax.records import Person
from parallax.words import fold_words

# A name is in nearly every text question of its bearer; one that lacks it is a fault to find, not
# a reason to know no name.
_LEAST_SHARE = 2 / 3
# Fewer questions have more in common than the name.
_FEWEST_QUESTIONS = 4
_MOST_WORDS = 8
# Words that so many people's questions have in common are the questions' own.
_TEMPLATE_SHARE = 0.2
_WORD = re.compile(r"[^\W_]+")


def infer_names(people: Sequence[Person]) -> dict[str, str]:
    """Return each person's name by ID; who has none that is plain is left out.

    A name is the longest run of words that stands in two thirds of a person's text questions,
    begins and ends with a word that has no small initial, and has no word that stands as often in
    the questions of a fifth of the other people.
    """
    frequent = {person.person_id: _frequent_words(person) for person in people}
    holders = Counter(word for words in frequent.values() for word in words)
    most = max(1.0, _TEMPLATE_SHARE * len(people))
    names = {}
    for person in people:
        own = {word for word in frequent[person.person_id] if holders[word] <= most}
        if name := _longest_run(_prompts(person), own):
            names[person.person_id] = name
    return names


def _prompts(person: Person) -> list[str]:
    return [unicodedata.normalize("NFC", instance.text.prompt) for instance in person.instances]


def _frequent_words(person: Person) -> set[str]:
    prompts = _prompts(person)
    if len(prompts) < _FEWEST_QUESTIONS:
        return set()
    counts = Counter(word for prompt in prompts for word in set(fold_words(prompt).split()))
    return {word for word, count in counts.items() if count >= _LEAST_SHARE * len(prompts)}


def _longest_run(prompts: Sequence[str], own: set[str]) -> str:
    spellings: dict[str, Counter[str]] = {}
    for prompt in prompts:
        for folded, spelt in dict(_runs(prompt, own)).items():
            spellings.setdefault(folded, Counter())[spelt] += 1
    least = _LEAST_SHARE * len(prompts)
    common = [run for run, spelt in spellings.items() if spelt.total() >= least]
    if not common:
        return ""
    longest = max(common, key=lambda run: (len(run.split()), spellings[run].total()))
    return spellings[longest].most_common(1)[0][0]


def _runs(prompt: str, own: set[str]) -> Iterable[tuple[str, str]]:
    """Yield runs of a person's own words in a question: folded, and as they are spelt there."""
    words = list(_WORD.finditer(prompt))
    for first, start in enumerate(words):
        if start[0][0].islower():
            continue
        for end in words[first : first + _MOST_WORDS]:
            if fold_words(end[0]).strip() not in own:
                break
            if not end[0][0].islower():
                spelt = prompt[start.start() : end.end()]
                yield fold_words(spelt).strip(), spelt
