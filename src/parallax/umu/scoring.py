"""From the outputs of one model to scores."""

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from parallax.errors import DataError
from parallax.params import Scoring
from parallax.records import LETTERS
from parallax.umu.matchers import MATCHERS, Choice, MatchOption
from parallax.umu.outputs import SCORE_COLUMNS, describe_row
from parallax.umu.rouge import measure_overlap

ROLE = "ASSISTANT:"
"""Begins the model's turn in the prompts of LLaVA-1.5."""


def score_outputs(outputs: pd.DataFrame, scoring: Scoring, source: str) -> pd.DataFrame:
    """Return one model's outputs, in their order, with matched option and score.

    `outputs` has passed `check_outputs`, and its column `set` names each person's set. `score` is 0
    or 1 for classification and cloze, ROUGE-L F in [0, 1] for generation; `rouge1`, `rouge2` and
    `bleu` are NaN for the other two tasks. The texts themselves stay as they are.

    Raises:
        DataError: an answer cannot be scored; names `source` and the row.
    """
    scored = outputs.reset_index(drop=True)
    scored["matched_option"] = ""
    for column in SCORE_COLUMNS[1:]:
        scored[column] = math.nan

    generated = scored["task"] == "generation"
    judged = scored[~generated]
    letters = _letters_of_texts(judged) if scoring.option_letter == "text" else {}
    verdicts = [_judge(row, scoring, letters, source) for row in judged.to_dict("records")]
    scored.loc[judged.index, "matched_option"] = [letter for letter, _ in verdicts]
    scored.loc[judged.index, "score"] = [float(right) for _, right in verdicts]

    texts = scored.loc[generated, ["reference", "output"]].itertuples(index=False, name=None)
    overlaps = measure_overlap(
        [(reference, _cut(output, scoring)) for reference, output in texts], scoring.tokenizer
    )
    scored.loc[generated, "score"] = [overlap.rouge_l for overlap in overlaps]
    scored.loc[generated, "rouge1"] = [overlap.rouge1 for overlap in overlaps]
    scored.loc[generated, "rouge2"] = [overlap.rouge2 for overlap in overlaps]
    scored.loc[generated, "bleu"] = [overlap.bleu for overlap in overlaps]
    return scored


def score_cloze(output: str, reference: str, *, first_sentence: bool, cut_reference: bool) -> bool:
    """Return whether the output holds the answer, whatever the case of letters.

    `first_sentence` cuts the output at its first full stop (UMU-Bench's paper), `cut_reference` the
    reference at *its* first one (official LLaVA runs, which leave the output whole).

    Raises:
        DataError: the reference (after that cut) is empty, so that it would always match.
    """
    if first_sentence:
        output = output.split(".")[0]
    if cut_reference:
        reference = reference.split(".")[0]
    if not reference.strip():
        raise DataError(
            "the reference holds nothing to look for (it is empty, or begins with the full stop at"
            " which it is cut), so that every output would match; mend the answer"
        )
    return reference.lower() in output.lower()


def score_choice(choice: Choice, right: str, match: MatchOption) -> tuple[str, bool]:
    """Return the letter of the matched option ("" for none) and whether its text is the right one.

    Raises:
        DataError: `right` is none of the options.
    """
    if right not in choice.options:
        raise DataError(f"reference {right!r} is none of the options {list(choice.options)!r}")
    index = match(choice)
    if index is None:
        return "", False
    return LETTERS[index], choice.options[index] == right


def _cut(output: str, scoring: Scoring) -> str:
    return output.split(ROLE)[0].strip() if scoring.cut_at_assistant else output


def _judge(
    row: Mapping[Hashable, Any],
    scoring: Scoring,
    letters: Mapping[tuple[str, str], int],
    source: str,
) -> tuple[str, bool]:
    """Return the matched option's letter ("" for a cloze) and whether the row's output is right."""
    output = _cut(row["output"], scoring)
    try:
        if row["task"] == "cloze":
            return "", score_cloze(
                output,
                row["reference"],
                first_sentence=scoring.first_sentence,
                cut_reference=scoring.cut_reference,
            )
        options = tuple(row["options"])
        right = row["reference"]
        if scoring.option_letter == "text" and row["modality"] == "image":
            right = options[_twin_letter(row, letters)]
        matcher = scoring.real_matcher if row["set"] == "real" else scoring.matcher
        logprobs = tuple(float(value) for value in row["option_logprobs"])
        return score_choice(Choice(output, options, logprobs), right, MATCHERS[matcher])
    except DataError as error:
        raise DataError(f"{source}: {describe_row(row)}: {error}") from None


def _letters_of_texts(judged: pd.DataFrame) -> dict[tuple[str, str], int]:
    """Return the place of the right option in each text classification, by person and field."""
    texts = judged[(judged["task"] == "classification") & (judged["modality"] == "text")]
    return {
        (row["person_id"], row["field"]): list(row["options"]).index(row["reference"])
        for row in texts.to_dict("records")
        if row["reference"] in list(row["options"])
    }


def _twin_letter(row: Mapping[Hashable, Any], letters: Mapping[tuple[str, str], int]) -> int:
    try:
        return letters[row["person_id"], row["field"]]
    except KeyError:
        raise DataError(
            "its text twin is missing or names none of its options, and scoring.option_letter text"
            " takes the letter from there"
        ) from None
