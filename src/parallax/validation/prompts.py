"""The checks that framed prompts must pass before a model sees one of them."""

import dataclasses
from collections.abc import Callable

import great_expectations.expectations as gxe
import pandas as pd

from parallax.validation import prompt_faults as faults
from parallax.validation import prompt_tables as tables
from parallax.validation.prompt_tables import Plan, Reading, Slot
from parallax.validation.suite import Check, ExpectNoFindings, FrameBuilder, once
from parallax.words import ALIKE_PERCENT

AUDITORS = {"proxy": "a proxy, not people", "human": "people"}
"""Who audited the pairs, by the source that the audit's report names."""


@dataclasses.dataclass(frozen=True)
class Inputs:
    """What is validated, read when first needed; each of them may raise DataError.

    `items` has one row per item of the whole file (item, topic, harm_class, chosen, body,
    paraphrase); `prompts`, `pairs` and `audit` are the tables of those names. `source` names the
    auditor (a key of `AUDITORS`), and `audit_passed` says whether it reached its gate.
    """

    items: Callable[[], pd.DataFrame]
    slot: Callable[[], Slot]
    prompts: Callable[[], pd.DataFrame]
    pairs: Callable[[], pd.DataFrame]
    audit: Callable[[], pd.DataFrame]
    source: str
    audit_passed: bool


def prompt_frames(inputs: Inputs, plan: Plan, reading: Reading) -> dict[str, FrameBuilder]:
    """Return the builder of every frame that the checks name."""
    items, slot, prompts = once(inputs.items), once(inputs.slot), once(inputs.prompts)
    return {
        "cells": lambda: tables.cell_frame(items(), prompts(), plan),
        "prompts": lambda: tables.prompt_frame(prompts(), items(), slot(), plan),
        "versions": lambda: tables.version_frame(items(), reading),
        "clauses": lambda: tables.clause_frame(slot(), reading),
        "lengths": lambda: tables.length_frame(slot(), reading),
        "pairs": lambda: tables.pair_frame(inputs.pairs(), items()),
        "audit": lambda: tables.audit_frame(inputs.audit(), items(), inputs.source),
        "gate": lambda: pd.DataFrame(
            [{"row": f"audit by {AUDITORS[inputs.source]}", "passed": inputs.audit_passed}]
        ),
        "classes": lambda: tables.class_frame(items()),
        "items": items,
    }


def prompt_checks(source: str) -> list[Check]:
    """Return all checks: which prompts there are, their parts, clauses, paraphrases, balance.

    `source` names who audited the paraphrases, a key of `AUDITORS`.
    """
    return [
        *_prompt_checks(),
        *_text_checks(),
        *_paraphrase_checks(AUDITORS[source]),
        *_balance_checks(),
    ]


def _found(name: str, frame: str, description: str) -> Check:
    return Check(name, description, frame, ExpectNoFindings(finder=name))


def _prompt_checks() -> list[Check]:
    return [
        Check(
            "prompts_planned",
            "Both versions of every chosen item are there once in every wording and arm (once"
            " without a frame), and nothing else is.",
            "cells",
            gxe.ExpectColumnPairValuesToBeEqual(column_A="times", column_B="expected"),
        ),
        _found(
            "body_hashes_agree",
            "prompts",
            "All prompts of a version of an item have one body hash.",
        ),
        _found(
            "bodies_are_the_items",
            "prompts",
            "A prompt's body is the item's text, and its hash is that text's sha256.",
        ),
        _found(
            "masked_texts_agree",
            "prompts",
            "With the clause masked, the prompts of a version and wording are the same in all"
            " arms, byte for byte.",
        ),
        Check(
            "clauses_fill_the_span",
            "What stands in a prompt's span is the clause that the frames' file has for its wording"
            " and arm.",
            "prompts",
            gxe.ExpectColumnPairValuesToBeEqual(column_A="inside", column_B="file_clause"),
        ),
        _found(
            "carriers_kept",
            "prompts",
            "What stands around the span is the file's carrier with the body in it.",
        ),
        Check(
            "roles_agree",
            "Every prompt is one message of the role that the frames' file names.",
            "prompts",
            gxe.ExpectColumnPairValuesToBeEqual(column_A="role", column_B="file_role"),
        ),
        _found(
            "frameless_bare",
            "prompts",
            "A prompt without a frame is the bare body and has no span; every other one has a"
            " span.",
        ),
    ]


def _text_checks() -> list[Check]:
    return [
        Check(
            "bodies_silent_on_evaluation",
            "No body or paraphrase has a word that tells of an evaluation.",
            "versions",
            gxe.ExpectColumnValuesToBeInSet(column="evaluation", value_set=[""]),
        ),
        _found(
            "bodies_distinct",
            "versions",
            "No two bodies or paraphrases have the same words in the same order.",
        ),
        _found(
            "items_apart",
            "versions",
            "No two items of one harm class have bodies or paraphrases whose words are more than"
            f" {ALIKE_PERCENT:g} % alike: near copies count as one item and are tested as several.",
        ),
        Check(
            "evaluation_told_by_e_alone",
            "Neither the carrier nor a clause of another arm than E has a word that tells of an"
            " evaluation.",
            "clauses",
            gxe.ExpectColumnValuesToBeInSet(column="evaluation", value_set=[""]),
        ),
        Check(
            "clauses_permit_nothing",
            "Neither the carrier nor a clause has a word that permits, forbids or demands.",
            "clauses",
            gxe.ExpectColumnValuesToBeInSet(column="permission", value_set=[""]),
        ),
        Check(
            "clauses_end_no_sentence",
            "A clause stays in its slot: it doesn't end the carrier's sentence to say more.",
            "clauses",
            gxe.ExpectColumnValuesToBeInSet(column="rest", value_set=[""]),
        ),
        _found(
            "lengths_matched",
            "lengths",
            "In each wording of the length-matched set the clauses' lengths lie within"
            f" {faults.LENGTH_BAND} tokens.",
        ),
    ]


def _paraphrase_checks(auditor: str) -> list[Check]:
    return [
        Check(
            "pairs_complete",
            "Every chosen item, and no other, has one pair of versions.",
            "pairs",
            gxe.ExpectColumnPairValuesToBeEqual(column_A="times", column_B="expected"),
        ),
        Check(
            "pairs_are_the_items",
            "A pair has topic, harm class, body and paraphrase of the items' file.",
            "pairs",
            gxe.ExpectColumnValuesToBeInSet(column="differing", value_set=[""]),
        ),
        _found(
            "paraphrases_apart",
            "pairs",
            f"The words of body and paraphrase are at most {ALIKE_PERCENT:g} % alike.",
        ),
        Check(
            "paraphrases_audited",
            "Every chosen item, and no other, was audited once.",
            "audit",
            gxe.ExpectColumnPairValuesToBeEqual(column_A="times", column_B="expected"),
        ),
        Check(
            "paraphrases_equivalent",
            f"The audit found the two versions of every item equivalent; audited by {auditor}.",
            "audit",
            gxe.ExpectColumnValuesToBeInSet(column="verdict", value_set=[""]),
        ),
        Check(
            "audit_passed",
            "The audit reached its gate: a proxy tells labelled pairs apart, people agree with each"
            f" other and see through catch pairs; audited by {auditor}.",
            "gate",
            gxe.ExpectColumnValuesToBeInSet(column="passed", value_set=[True]),
        ),
    ]


def _balance_checks() -> list[Check]:
    return [
        Check(
            "classes_chosen",
            "Every harm class of the items' file is among the chosen items.",
            "classes",
            gxe.ExpectColumnValuesToBeBetween(column="chosen", min_value=1),
        ),
        _found(
            "topics_several",
            "items",
            f"The chosen items are of at least {faults.FEWEST_TOPICS} topics, if the items' file"
            " has as many.",
        ),
    ]
