"""Finders over people: who is in which subset, and whether profiles are plausible and distinct."""

import re
from datetime import datetime
from typing import TYPE_CHECKING

from parallax.validation.findings import Findings, finder, iterate
from parallax.words import fold_words

if TYPE_CHECKING:
    import pandas as pd

# Of fictitious people: the years are UMU-Bench's; outside these heights an adult would stand out.
BIRTH_YEARS = (1950, 2010)
HEIGHTS_CM = (120, 215)


@finder("subset_copies", columns=("row", "person_id", "subset", "portrait_md5", "content_md5"))
def _find_altered_copies(frame: "pd.DataFrame") -> Findings:
    """Compare the people of the forget and retain subsets with the same people in Full_Set."""
    full = frame[frame["subset"] == "Full_Set"].drop_duplicates("person_id")
    copies = frame[frame["subset"].str.startswith(("forget_", "retain_"))]
    pairs = copies.merge(full, on="person_id", suffixes=("", "_full"))
    rows = []
    for label, *digests in iterate(
        pairs, "row", "portrait_md5", "portrait_md5_full", "content_md5", "content_md5_full"
    ):
        if digests[0] != digests[1]:
            rows.append(f"{label}: another portrait than in Full_Set")
        if digests[2] != digests[3]:
            rows.append(f"{label}: other texts than in Full_Set")
    return Findings(len(copies), tuple(rows))


@finder("groups_disjoint", columns=("row", "person_id", "group", "name"))
def _find_shared_identities(frame: "pd.DataFrame") -> Findings:
    """Look for people whose ID or name another group has too; later groups are reported."""
    rows = []
    owners: dict[tuple[str, str], str] = {}
    for label, person_id, group, name in iterate(frame, "row", "person_id", "group", "name"):
        keys = [("ID", person_id)]
        if isinstance(name, str):
            keys.append(("name", fold_words(name).strip()))
        for kind, value in keys:
            owner = owners.setdefault((kind, value), group)
            if owner != group:
                rows.append(f"{label}: {kind} {value!r} is {owner} too")
                break
    return Findings(len(frame), tuple(rows))


@finder("birthdates_plausible", columns=("row", "birthdate"))
def _find_odd_birthdates(frame: "pd.DataFrame") -> Findings:
    first, last = BIRTH_YEARS
    rows = []
    for label, text in iterate(frame, "row", "birthdate"):
        try:
            year = datetime.strptime(text, "%d %B %Y").year
        except ValueError:
            rows.append(f"{label}: birthdate {text!r} is no date like '14 March 1974'")
        else:
            if not first <= year <= last:
                rows.append(f"{label}: birthdate {text!r} is outside {first} to {last}")
    return Findings(len(frame), tuple(rows))


@finder("heights_plausible", columns=("row", "height"))
def _find_odd_heights(frame: "pd.DataFrame") -> Findings:
    lowest, highest = HEIGHTS_CM
    rows = []
    for label, text in iterate(frame, "row", "height"):
        match = re.fullmatch(r"(\d+) cm", text)
        if not match:
            rows.append(f"{label}: height {text!r} is not like '172 cm'")
        elif not lowest <= int(match[1]) <= highest:
            rows.append(f"{label}: height {text!r} is outside {lowest} to {highest} cm")
    return Findings(len(frame), tuple(rows))


@finder("answers_match_profile", columns=("row", "value", "answer"))
def _find_contradicted_profiles(frame: "pd.DataFrame") -> Findings:
    """Compare QA answers with profiles; fields not asked are left to `profile_fields_asked`."""
    known = frame[frame["value"].notna() & frame["answer"].notna()]
    rows = [
        f"{label}: QA answers {answer!r}, the profile says {value!r}"
        for label, answer, value in iterate(known, "row", "answer", "value")
        if answer != value
    ]
    return Findings(len(known), tuple(rows))
