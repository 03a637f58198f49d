"""Data frames to validate, made from people, profiles and the experiment's tables.

Every frame has a column `row` with a label that tells a reader where the row comes from.
"""

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from parallax.pixels import pixel_digest
from parallax.records import Person
from parallax.validation.findings import require_columns

if TYPE_CHECKING:
    import pandas as pd

# The official split of the fictitious people, by its forget percentage.
SPLITS = {
    "5": ("forget_5", "retain_95"),
    "10": ("forget_10", "retain_90"),
    "15": ("forget_15", "retain_85"),
}
FULL = "Full_Set"
GROUPS = {"Real_Person_Set": "real", "Auxiliary_Set": "auxiliary"}
# The subsets that together hold everyone once.
ROSTER = (FULL, *GROUPS)
# Columns of a profile that no question is made of.
_IDENTITY = ("person_id", "group", "name", "portrait")

People = Mapping[str, Sequence[Person]]
Names = Mapping[str, Mapping[str, str]]
"""Names by group and ID."""


def instance_frame(people: People, names: Names) -> "pd.DataFrame":
    """Return one row per subset, person, task and field, with the person's name (or NaN)."""
    import pandas as pd

    rows = [
        {
            "row": f"{subset}/{person.person_id}/{instance.field}",
            "subset": subset,
            "group": group_of(subset),
            "person_id": person.person_id,
            "name": names.get(group_of(subset), {}).get(person.person_id),
            "task": instance.task,
            "field": instance.field,
            "image_prompt": instance.image.prompt,
            "image_answer": instance.image.answer,
            "image_options": list(instance.image.options),
            "text_prompt": instance.text.prompt,
            "text_answer": instance.text.answer,
            "text_options": list(instance.text.options),
        }
        for subset, members in people.items()
        for person in members
        for instance in person.instances
    ]
    # Finders walk the rows, which is several times faster over Python strings than over Arrow's.
    return pd.DataFrame(rows, dtype=object)


def people_frame(people: People, names: Names) -> "pd.DataFrame":
    """Return one row per subset and person, with digests of the portrait's pixels and the texts."""
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "row": f"{subset}/{person.person_id}",
                "subset": subset,
                "group": group_of(subset),
                "person_id": person.person_id,
                "name": names.get(group_of(subset), {}).get(person.person_id),
                "portrait_md5": pixel_digest(person.portrait),
                "content_md5": _digest(repr((person.biography, person.instances)).encode()),
            }
            for subset, members in people.items()
            for person in members
        ]
    )


def roster_frame(people: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of a people frame outside the forget and retain subsets: everyone once."""
    return people[people["subset"].isin(ROSTER)].drop_duplicates(["subset", "person_id"])


def size_frame(people: "pd.DataFrame", sizes: Mapping[str, int]) -> "pd.DataFrame":
    """Return one row per subset: how many different people it holds, and how many it should."""
    import pandas as pd

    counts = people.groupby("subset")["person_id"].nunique()
    return pd.DataFrame(
        {
            "row": list(sizes),
            "people": [int(counts.get(subset, 0)) for subset in sizes],
            "expected": list(sizes.values()),
        }
    )


def split_frame(people: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row per fictitious person and split, with the parts that hold the person.

    `part` is "forget", "retain", "forget and retain" or "neither"; with " outside Full_Set" where
    Full_Set lacks the person.
    """
    import pandas as pd

    members = {subset: set(rows["person_id"]) for subset, rows in people.groupby("subset")}
    everyone = _fictitious_ids(people)
    rows = []
    for forget, retain in SPLITS.values():
        for person_id in everyone:
            parts = [
                subset.split("_")[0]
                for subset in (forget, retain)
                if person_id in members.get(subset, set())
            ]
            outside = "" if person_id in members.get(FULL, set()) else " outside Full_Set"
            part = (" and ".join(parts) or "neither") + outside
            rows.append({"row": f"{forget}/{retain}/{person_id}", "part": part})
    return pd.DataFrame(rows)


def nesting_frame(people: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row per person of forget_5 and forget_10, with the next larger set or ""."""
    import pandas as pd

    members = {subset: set(rows["person_id"]) for subset, rows in people.groupby("subset")}
    forgets = [forget for forget, _ in SPLITS.values()]
    rows = [
        {
            "row": f"{smaller}/{person_id}",
            "absent_from": "" if person_id in members.get(larger, set()) else larger,
        }
        for smaller, larger in itertools.pairwise(forgets)
        for person_id in sorted(members.get(smaller, set()), key=id_order)
    ]
    return pd.DataFrame(rows, columns=["row", "absent_from"])


def profile_frame(profiles: "pd.DataFrame", group: str | None = None) -> "pd.DataFrame":
    """Return the profiles (of one group) with labels and without portraits.

    Raises:
        DataError: the column person_id or group is missing.
    """
    require_columns(profiles, ("person_id", "group"), "profiles")
    chosen = profiles if group is None else profiles[profiles["group"] == group]
    labels = "profiles/" + chosen["person_id"].astype(str)
    return chosen.drop(columns="portrait", errors="ignore").assign(row=labels)


def match_frame(people: "pd.DataFrame", profiles: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row per group and person: in the data and the profiles, or in one of them.

    Raises:
        DataError: the column person_id or group is missing.
    """
    require_columns(profiles, ("person_id", "group"), "profiles")
    in_data = people[["group", "person_id"]].drop_duplicates()
    merged = in_data.merge(
        profiles[["group", "person_id"]], how="outer", indicator="found", validate="one_to_many"
    )
    found = merged["found"].map(
        {"both": "both", "left_only": "data alone", "right_only": "profiles alone"}
    )
    return merged.assign(row=merged["group"] + "/" + merged["person_id"], found=found.astype(str))


def fact_frame(instances: "pd.DataFrame", profiles: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row per subset, person and field that a profile fills or a QA question asks.

    `value` is the profile's (NaN where it has none), `answer` the QA answer (NaN where none), and
    `times_asked` the number of QA questions; people without a profile are left out.

    Raises:
        DataError: the column person_id or group is missing.
    """
    require_columns(profiles, ("person_id", "group"), "profiles")
    identity = ["group", "person_id"]
    fields = [column for column in profiles.columns if column not in _IDENTITY]
    values = profiles.melt(identity, fields, "field", "value")
    values = values[values["value"].notna() & (values["value"] != "")]
    known = instances.merge(profiles[identity].drop_duplicates(), on=identity)
    subsets = known[["subset", *identity]].drop_duplicates()
    keys = ["subset", *identity, "field"]
    asked = known[known["task"] == "qa"].groupby(keys, sort=False)["text_answer"]
    questions = asked.agg(times_asked="size", answer="first").reset_index()
    facts = subsets.merge(values, on=identity).merge(questions, on=keys, how="outer")
    return facts.assign(
        row=facts["subset"] + "/" + facts["person_id"] + "/" + facts["field"],
        times_asked=facts["times_asked"].fillna(0).astype(int),
        expected=facts["value"].notna().astype(int),
    )


def group_of(subset: str) -> str:
    """Return the group of people that a subset holds."""
    return GROUPS.get(subset, "fictitious")


def _digest(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _fictitious_ids(people: "pd.DataFrame") -> list[str]:
    return sorted(set(people.loc[people["group"] == "fictitious", "person_id"]), key=id_order)


def id_order(person_id: str) -> tuple[int, str]:
    """Return a sort key that puts "2" before "10"."""
    return len(person_id), person_id
