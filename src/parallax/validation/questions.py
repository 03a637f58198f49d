"""Finders over knowledge instances: what is asked, and whether both modalities ask the same.

The frame has one row per subset, person, task and field: the columns of the instance table and
`row` (the label "forget_5/123/occupation"), `subset`, `group` and `name`.
"""

from typing import TYPE_CHECKING

from parallax.records import EVALUATION_TASKS, MODALITIES
from parallax.validation.findings import Findings, finder, iterate
from parallax.words import contains_words, find_name_part, find_spelt_part, fold_words

if TYPE_CHECKING:
    import pandas as pd

# The least a person is asked about in an evaluation: with fewer fields one answer decides.
FEWEST_FIELDS = {"classification": 4, "cloze": 4, "generation": 1}
PERSON = ("subset", "person_id")
TEXTS = tuple(f"{modality}_{part}" for modality in MODALITIES for part in ("prompt", "answer"))


@finder("questions_filled", columns=("row", "task", *TEXTS))
def _find_empty(frame: "pd.DataFrame") -> Findings:
    rows = []
    for label, task, *texts in iterate(frame, "row", "task", *TEXTS):
        empty = [
            column
            for column, text in zip(TEXTS, texts, strict=True)
            if not isinstance(text, str) or not text.strip()
        ]
        if empty:
            rows.append(f"{label}: {task} has no {', '.join(empty)}")
    return Findings(len(frame), tuple(rows))


@finder("modalities_agree", columns=("row", "task", "image_answer", "text_answer"))
def _find_disagreeing_modalities(frame: "pd.DataFrame") -> Findings:
    columns = ("row", "task", "image_answer", "text_answer")
    rows = [
        f"{label}: {task} answers {image!r} by image, {text!r} by text"
        for label, task, image, text in iterate(frame, *columns)
        if image != text
    ]
    return Findings(len(frame), tuple(rows))


@finder("tasks_agree", columns=("row", *PERSON, "task", "field", "text_answer"))
def _find_disagreeing_tasks(frame: "pd.DataFrame") -> Findings:
    keys = [*PERSON, "field"]
    taught = frame[frame["task"] == "qa"].drop_duplicates(keys)[[*keys, "text_answer"]]
    asked = frame[frame["task"] != "qa"].merge(
        taught, on=keys, how="left", suffixes=("", "_qa"), indicator=True
    )
    columns = ("row", "task", "text_answer", "text_answer_qa", "_merge")
    rows = []
    for label, task, answer, taught_answer, origin in iterate(asked, *columns):
        if origin != "both":
            rows.append(f"{label}: {task} asks what no QA teaches")
        elif answer != taught_answer:
            rows.append(f"{label}: {task} answers {answer!r}, QA {taught_answer!r}")
    return Findings(len(asked), tuple(rows))


@finder("evaluation_complete", columns=(*PERSON, "group", "task", "field"))
def _find_missing_tasks(frame: "pd.DataFrame") -> Findings:
    """Compare each person's fields with those of the group; real people's facts differ."""
    fields: dict[tuple[str, str, str], set[str]] = {}
    wanted: dict[tuple[str, str], set[str]] = {}
    for subset, person_id, group, task, field in iterate(frame, *PERSON, "group", "task", "field"):
        fields.setdefault((subset, person_id, task), set()).add(field)
        wanted.setdefault((group, task), set()).add(field)
    people = frame.drop_duplicates(list(PERSON))
    rows = []
    for subset, person_id, group in iterate(people, *PERSON, "group"):
        asked = {task: fields.get((subset, person_id, task), set()) for task in EVALUATION_TASKS}
        either = asked["classification"] | asked["cloze"]
        for task in EVALUATION_TASKS:
            if group != "real":
                expected = wanted.get((group, task), set())
            else:
                expected = asked[task] if task == "generation" else either
            rows += [
                f"{subset}/{person_id}/{field}: not asked as {task}"
                for field in sorted(expected - asked[task])
            ]
            if len(expected) < FEWEST_FIELDS[task]:
                rows.append(
                    f"{subset}/{person_id}: {task} asks {len(expected)} fields,"
                    f" at least {FEWEST_FIELDS[task]} are needed"
                )
    return Findings(len(people), tuple(rows))


@finder(
    "image_hides_name",
    columns=("row", "name", "task", "image_prompt", "image_answer", "image_options"),
)
def _find_named_images(frame: "pd.DataFrame") -> Findings:
    named = frame[frame["name"].notna()]
    columns = ("row", "name", "task", "image_prompt", "image_answer", "image_options")
    rows = []
    for label, name, task, prompt, answer, options in iterate(named, *columns):
        for part, text in (
            ("question", prompt),
            ("answer", answer),
            ("options", "; ".join(options)),
        ):
            if word := find_name_part(text, name):
                rows.append(f"{label}: {task} image {part} has {word!r} of {name}")
    return Findings(len(named), tuple(rows))


@finder("image_question_hides_name", columns=("row", "name", "task", "image_prompt"))
def _find_named_image_questions(frame: "pd.DataFrame") -> Findings:
    """Look for names in the questions alone, and only for words that have no small initial.

    Answers of others may name the person, and their questions have words such as "will".
    """
    named = frame[frame["name"].notna()]
    rows = [
        f"{label}: {task} image question has {part!r} of {name}"
        for label, name, task, prompt in iterate(named, "row", "name", "task", "image_prompt")
        if (part := find_spelt_part(prompt, name))
    ]
    return Findings(len(named), tuple(rows))


@finder("text_names_person", columns=("row", "name", "task", "text_prompt"))
def _find_nameless_texts(frame: "pd.DataFrame") -> Findings:
    named = frame[frame["name"].notna()]
    columns = ("row", "name", "task", "text_prompt")
    rows = [
        f"{label}: {task} text question lacks {name}"
        for label, name, task, prompt in iterate(named, *columns)
        if not contains_words(prompt, name)
    ]
    return Findings(len(named), tuple(rows))


@finder("evaluation_wording_new", columns=("row", *PERSON, "task", *TEXTS))
def _find_taught_prompts(frame: "pd.DataFrame") -> Findings:
    """Look for evaluation prompts inside the same person's QA text, whole words in a row."""
    taught: dict[tuple[str, str], list[str]] = {}
    for subset, person_id, *texts in iterate(frame[frame["task"] == "qa"], *PERSON, *TEXTS):
        taught.setdefault((subset, person_id), []).extend(map(fold_words, texts))
    asked = frame[frame["task"] != "qa"]
    corpora = {person: "\n".join(texts) for person, texts in taught.items()}
    columns = ("row", *PERSON, "task", "image_prompt", "text_prompt")
    rows = []
    for label, subset, person_id, task, *prompts in iterate(asked, *columns):
        for modality, prompt in zip(MODALITIES, prompts, strict=True):
            if fold_words(prompt) in corpora.get((subset, person_id), ""):
                rows.append(f"{label}: {task} {modality} question occurs in QA text")
    return Findings(len(asked), tuple(rows))
