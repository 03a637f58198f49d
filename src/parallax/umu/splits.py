"""Who is forgotten and who is kept: by person, nested, and the same for every forget ratio."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from parallax.errors import DataError
from parallax.seeding import generator

FORGET_PERCENTS = (5, 10, 15)
FORGET_SUBSETS = tuple(f"forget_{percent}" for percent in FORGET_PERCENTS)
RETAIN_SUBSETS = tuple(f"retain_{100 - percent}" for percent in FORGET_PERCENTS)


def shuffle_ids(ids: Sequence[str], seed: int, purpose: str) -> list[str]:
    """Return the IDs in a seeded random order that does not depend on the order given."""
    ordered = sorted(ids, key=lambda person_id: (len(person_id), person_id))
    return generator(seed, purpose).sample(ordered, len(ordered))


def cut_subsets(order: Sequence[str]) -> dict[str, list[str]]:
    """Cut an order P of all people into the six official subsets.

    forget_k is the first k percent of P and retain_(100-k) the rest, so that
    forget_5 ⊂ forget_10 ⊂ forget_15; both keep the order of P, which the files thereby carry.
    """
    subsets: dict[str, list[str]] = {}
    for percent in FORGET_PERCENTS:
        count = round(percent / 100 * len(order))
        subsets[f"forget_{percent}"] = list(order[:count])
        subsets[f"retain_{100 - percent}"] = list(order[count:])
    return subsets


def find_misplaced(
    everyone: Sequence[str], given: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str, str]]:
    """Yield subset, ID and reason for everyone whom the given subsets put in a wrong place.

    They may be some of the six. Each has people of Full_Set alone; a forget subset and its retain
    subset share nobody and lack nobody; a forget subset has everyone of the smaller ones.
    """
    known = set(everyone)
    strangers = [(subset, i) for subset in given for i in given[subset] if i not in known]
    yield from {i: (subset, i, "is not in Full_Set") for subset, i in reversed(strangers)}.values()
    smaller, members = "", list[str]()
    for forget, retain in zip(FORGET_SUBSETS, RETAIN_SUBSETS, strict=True):
        if forget in given and retain in given:
            inside, outside = set(given[forget]), set(given[retain])
            yield from ((retain, i, f"is in {forget} too") for i in given[retain] if i in inside)
            nowhere = (i for i in everyone if i not in inside | outside)
            yield from ((retain, i, f"lacks this person, as does {forget}") for i in nowhere)
        found = _forgotten(given, forget, retain, everyone)
        if found is not None:
            lost = (i for i in members if i in known and i not in set(found))
            yield from ((forget, i, f"lacks this person of {smaller}") for i in lost)
            smaller, members = forget, found


def _forgotten(
    given: Mapping[str, Sequence[str]], forget: str, retain: str, everyone: Sequence[str]
) -> list[str] | None:
    """Return who is forgotten by a given forget subset or, without one, its retain subset."""
    if forget in given:
        return list(given[forget])
    if retain in given:
        return [i for i in everyone if i not in set(given[retain])]
    return None


def complete_subsets(
    everyone: Sequence[str], given: Mapping[str, Sequence[str]], seed: int
) -> dict[str, list[str]]:
    """Return the six subsets: those that are given, and the others drawn so that all nest.

    Nobody is misplaced in the given ones (`find_misplaced`). Where none is given these are
    `cut_subsets` of a seeded order. A missing forget subset gets its percentage of the people, but
    not fewer than the smaller one has, nor more than the larger one.
    """
    order = shuffle_ids(everyone, seed, "official splits")
    pairs = list(zip(FORGET_PERCENTS, FORGET_SUBSETS, RETAIN_SUBSETS, strict=True))
    found = {forget: _forgotten(given, forget, retain, order) for _, forget, retain in pairs}
    chosen: list[str] = []
    subsets: dict[str, list[str]] = {}
    for number, (percent, forget, retain) in enumerate(pairs):
        ids = found[forget]
        if ids is None:
            larger = (found[name] for _, name, _ in pairs[number + 1 :])
            limit = set(next((members for members in larger if members is not None), order))
            count = max(0, round(percent / 100 * len(order)) - len(chosen))
            more = [i for i in order if i in limit and i not in set(chosen)]
            ids = [*chosen, *more[:count]]
        chosen = ids
        subsets[forget] = chosen
        subsets[retain] = list(given.get(retain, [i for i in order if i not in set(chosen)]))
    return subsets


def list_drawn(given: Collection[str]) -> list[str]:
    """Return the subsets whose people `complete_subsets` draws.

    A missing subset whose counterpart is given isn't drawn: it has everyone else.
    """
    pairs = zip(FORGET_SUBSETS, RETAIN_SUBSETS, strict=True)
    return [subset for pair in pairs if not set(pair) & set(given) for subset in pair]


def recover_order(subsets: Mapping[str, Sequence[str]], everyone: Sequence[str]) -> list[str]:
    """Return an order P that cuts into the given subsets, which may be someone else's files.

    forget_5 comes first, then what forget_10 and forget_15 add, then retain_85, each in the order
    of its file.

    Raises:
        DataError: the forget subsets are not nested, or a forget subset and its retain subset do
            not make up `everyone`.
    """
    order: list[str] = []
    for forget, retain in zip(FORGET_SUBSETS, RETAIN_SUBSETS, strict=True):
        if outside := sorted(set(order) - set(subsets[forget])):
            raise DataError(f"{forget}: lacks ID {outside[0]} of the smaller forget subset")
        if both := sorted(set(subsets[forget]) & set(subsets[retain])):
            raise DataError(f"{retain}: has ID {both[0]}, which {forget} has too")
        if odd := sorted(set(subsets[forget]) ^ set(subsets[retain]) ^ set(everyone)):
            raise DataError(
                f"{forget} and {retain} together differ from Full_Set in ID {odd[0]}"
                f" ({len(odd)} such IDs)"
            )
        order += [person_id for person_id in subsets[forget] if person_id not in set(order)]
    return order + list(subsets[RETAIN_SUBSETS[-1]])


def choose_people(order: Sequence[str], forget_15: int, count: int) -> list[str]:
    """Choose the `count` people of the experiment from P, whatever the forget ratio.

    With k = round(.15 count): P[:k] + P[forget_15 : forget_15 + count - k]. So people forgotten at
    a ratio up to .15 are official forget_15 people, people kept at .15 are official retain_85
    people, all 500 give P itself, and the ratio changes nobody's training.

    Raises:
        DataError: P is too short.
    """
    first = round(0.15 * count)
    kept = order[forget_15 : forget_15 + count - first]
    if first > forget_15 or first + len(kept) < count:
        raise DataError(
            f"data.people = {count}: the data set has only {forget_15} people in forget_15 and"
            f" {len(order) - forget_15} others; {first} and {count - first} are needed"
        )
    return [*order[:first], *kept]
