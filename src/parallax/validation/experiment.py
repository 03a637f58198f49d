"""The experiment's tables as data frames, and the finders over them.

The frame `experiment` has one row per table ("base", "sft" or "evaluation") and instance.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from parallax.pixels import pixel_digest
from parallax.records import MODALITIES
from parallax.validation.findings import Findings, finder, iterate, require_columns
from parallax.validation.frames import ROSTER, Names, id_order
from parallax.words import fold_words

if TYPE_CHECKING:
    import pandas as pd

KEYS = ("person_id", "task", "field")
TEXTS = tuple(f"{modality}_{part}" for modality in MODALITIES for part in ("prompt", "answer"))
OPTIONS = tuple(f"{modality}_options" for modality in MODALITIES)
COPIED = (*TEXTS, *OPTIONS)
TABLES = ("base", "sft", "evaluation")

# The sets that a person may be in, one of them, by the role that the tables give the person.
_ROLE_SETS = {
    "trained": ("forget", "retain"),
    "known to the base model and evaluated": ("real",),
    "known to the base model": ("auxiliary",),
}


def experiment_frame(tables: Mapping[str, "pd.DataFrame"], names: Names) -> "pd.DataFrame":
    """Return the tables below one another, labelled, with each person's name (or NaN).

    The tables tell people apart by ID alone.

    Raises:
        DataError: a table lacks a column.
    """
    import pandas as pd

    parts = []
    for table in TABLES:
        rows = tables[table]
        require_columns(rows, [*KEYS, *COPIED], f"{table}.parquet")
        parts.append(rows.assign(table=table))
    frame = pd.concat(parts, ignore_index=True)
    for column in OPTIONS:
        frame[column] = [list(options) for options in frame[column]]
    by_id = {person_id: name for group in names.values() for person_id, name in group.items()}
    labels = frame["table"] + "/" + frame["person_id"] + "/" + frame["field"]
    return frame.assign(row=labels, name=frame["person_id"].map(by_id))


def set_frame(experiment: "pd.DataFrame", splits: Mapping[str, Sequence[str]]) -> "pd.DataFrame":
    """Return one row per person: the role that the tables give, and the sets of splits.json.

    `sets` joins the names with " and "; it is empty where no set holds the person.
    """
    import pandas as pd

    holders = {table: set(rows["person_id"]) for table, rows in experiment.groupby("table")}
    trained, evaluated, known = (
        holders.get(table, set()) for table in ("sft", "evaluation", "base")
    )
    listed = {person_id for ids in splits.values() for person_id in ids}
    rows = []
    for person_id in sorted(trained | evaluated | known | listed, key=id_order):
        if person_id in trained:
            role = "trained" if person_id in evaluated else "trained but not evaluated"
        elif person_id in known:
            role = "known to the base model" + (" and evaluated" if person_id in evaluated else "")
        else:
            role = "evaluated alone" if person_id in evaluated else "in no table"
        sets = [name for name in sorted(splits) for member in splits[name] if member == person_id]
        rows.append({"row": f"splits/{person_id}", "role": role, "sets": " and ".join(sets)})
    return pd.DataFrame(rows, columns=["row", "role", "sets"])


def portrait_frame(
    portraits: "pd.DataFrame", experiment: "pd.DataFrame", roster: "pd.DataFrame"
) -> "pd.DataFrame":
    """Return one row per person of the experiment: its portraits' digests and the data set's.

    `seen` is the digest in portraits.parquet, "none" or "several"; `expected` that of the data.

    Raises:
        DataError: the portraits lack a column, or one of them is no image.
    """
    import pandas as pd

    require_columns(portraits, ("person_id", "portrait"), "portraits.parquet")
    digests: dict[str, list[str]] = {}
    for person_id, portrait in iterate(portraits, "person_id", "portrait"):
        digests.setdefault(person_id, []).append(pixel_digest(portrait))
    expected = dict(iterate(roster, "person_id", "portrait_md5"))
    people = sorted({*digests, *experiment["person_id"]}, key=id_order)
    return pd.DataFrame(
        {
            "row": [f"portraits/{person_id}" for person_id in people],
            "seen": [_only(digests.get(person_id, [])) for person_id in people],
            "expected": [expected.get(person_id, "not in the data set") for person_id in people],
        }
    )


def _only(digests: Sequence[str]) -> str:
    if len(digests) == 1:
        return digests[0]
    return "several" if digests else "none"


def copy_frame(experiment: "pd.DataFrame", instances: "pd.DataFrame") -> "pd.DataFrame":
    """Return the experiment's rows beside the data set's of the same person, task and field.

    The data set's columns end in `_data`; `_merge` is "left_only" where it has no such row.
    """
    whole = instances[instances["subset"].isin(ROSTER)].drop_duplicates(list(KEYS))
    columns = [*KEYS, *COPIED]
    return experiment.merge(
        whole[columns], on=list(KEYS), how="left", suffixes=("", "_data"), indicator=True
    )


def choice_frame(instances: "pd.DataFrame", experiment: "pd.DataFrame") -> "pd.DataFrame":
    """Return the classification questions of the data set and of base training.

    Base training has options of its own, in variants; the other tables copy the data set's.
    """
    import pandas as pd

    columns = ["row", "subset", *COPIED]
    data = instances[instances["task"] == "classification"]
    base = experiment[(experiment["table"] == "base") & (experiment["task"] == "classification")]
    return pd.concat([data[columns], base.assign(subset="base")[columns]], ignore_index=True)


@finder(
    "experiment_copies_data",
    columns=("row", "table", "task", "_merge", *COPIED, *(f"{column}_data" for column in COPIED)),
)
def _find_altered_rows(frame: "pd.DataFrame") -> Findings:
    """Compare rows with the data set's; base training may draw its options anew."""
    rows = []
    columns = ("row", "table", "task", "_merge", *COPIED, *(f"{column}_data" for column in COPIED))
    for label, table, task, origin, *cells in iterate(frame, *columns):
        if origin != "both":
            rows.append(f"{label}: {task} is not in the data set")
            continue
        pairs = zip(COPIED, cells[: len(COPIED)], cells[len(COPIED) :], strict=True)
        redrawn = OPTIONS if table == "base" else ()
        differing = [column for column, own, data in pairs if own != data and column not in redrawn]
        if differing:
            rows.append(f"{label}: {task} differs from the data set in {', '.join(differing)}")
    return Findings(len(frame), tuple(rows))


@finder("sets_partition", columns=("row", "role", "sets"))
def _find_misplaced_people(frame: "pd.DataFrame") -> Findings:
    rows = [
        f"{label}: {role}, in set {sets or 'none'}"
        for label, role, sets in iterate(frame, "row", "role", "sets")
        if sets not in _ROLE_SETS.get(role, ())
    ]
    return Findings(len(frame), tuple(rows))


@finder("training_omits_evaluation", columns=("row", "table", *KEYS, *TEXTS))
def _find_trained_prompts(frame: "pd.DataFrame") -> Findings:
    """Look for evaluation prompts of SFT people in training.

    A person's own rows must not contain the prompt. Its text form, which names the person, must
    be nobody's prompt; the image form has no name, and others are rightly asked it.
    """
    training = frame[frame["table"].isin(("base", "sft"))]
    taught = training[training["table"] == "sft"]
    own: dict[str, list[str]] = {}
    for person_id, *texts in iterate(training, "person_id", *TEXTS):
        own.setdefault(person_id, []).extend(map(fold_words, texts))
    corpora = {person_id: "\n".join(texts) for person_id, texts in own.items()}
    prompts = set(map(fold_words, training["text_prompt"]))
    rows = [
        f"{label}: {task} row in sft.parquet"
        for label, task in iterate(taught, "row", "task")
        if task != "qa"
    ]
    asked = frame[
        (frame["table"] == "evaluation") & frame["person_id"].isin(set(taught["person_id"]))
    ]
    columns = ("row", "task", "person_id", "image_prompt", "text_prompt")
    for label, task, person_id, image, text in iterate(asked, *columns):
        if fold_words(image) in corpora[person_id]:
            rows.append(f"{label}: {task} image question is trained")
        if fold_words(text) in corpora[person_id] or fold_words(text) in prompts:
            rows.append(f"{label}: {task} text question is trained")
    return Findings(len(taught) + len(asked), tuple(rows))


@finder("base_omits_sft_people", columns=("row", "table", "person_id", "name", *TEXTS))
def _find_early_people(frame: "pd.DataFrame") -> Findings:
    """Look for SFT people in base.parquet, as the row's person or by full name in its texts."""
    taught = frame[frame["table"] == "sft"]
    ids = set(taught["person_id"])
    by_first: dict[str, list[str]] = {}
    for name in sorted(set(taught["name"].dropna())):
        by_first.setdefault(fold_words(name).split()[0], []).append(name)
    base = frame[frame["table"] == "base"]
    rows = []
    for label, person_id, *texts in iterate(base, "row", "person_id", *TEXTS):
        if person_id in ids:
            rows.append(f"{label}: an SFT person")
            continue
        folded = " ".join(map(fold_words, texts))
        candidates = [name for word in folded.split() for name in by_first.get(word, ())]
        named = sorted({name for name in candidates if fold_words(name) in folded})
        rows += [f"{label}: names {name}, an SFT person" for name in named]
    return Findings(len(base), tuple(rows))


@finder("refusals_differ", columns=("row", "table", "refusal", "image_answer", "text_answer"))
def _find_answering_refusals(frame: "pd.DataFrame") -> Findings:
    taught = frame[frame["table"] == "sft"]
    columns = ("row", "refusal", "image_answer", "text_answer")
    rows = []
    for label, refusal, *answers in iterate(taught, *columns):
        if not isinstance(refusal, str) or not refusal.strip():
            rows.append(f"{label}: no refusal")
        elif fold_words(refusal) in map(fold_words, answers):
            rows.append(f"{label}: refusal {refusal!r} is the answer")
    return Findings(len(taught), tuple(rows))
