"""Find out if the two versions of each item ask for the same: by a measured proxy, or by people."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import DataError
from parallax.files import write_json, write_table
from parallax.params import load_params
from parallax.stages.command import hold, run_stage

if TYPE_CHECKING:
    import pandas as pd

    from parallax.framing.annotation.verdicts import HumanAudit
    from parallax.framing.prompt_table import ItemPair
    from parallax.params import Audit


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, required=True, metavar="PARQUET", help="of the items")
    parser.add_argument("--labelled", type=Path, required=True, metavar="JSONL")
    parser.add_argument("--human", type=Path, required=True, metavar="FOLDER", help="of answers")
    parser.add_argument("--out", type=Path, required=True, metavar="PARQUET", help="verdicts")
    parser.add_argument("--report", type=Path, required=True, metavar="JSON", help="to write")
    return parser


def main(args: argparse.Namespace) -> str:
    """Write a verdict per item and what the audit can be believed, then refuse one below its gate.

    The proxy always speaks; with `audit.source` human its word is kept beside the people's, which
    decides, and its own gate stops nothing.

    Raises:
        DataError: a file is not usable, or people were not asked about an item and its texts.
        ParamsError: the proxy misses `audit.least_sensitivity` or `audit.least_specificity`, or
            people `audit.least_alpha` or `audit.most_catch_failures`.
    """
    settings = load_params().audit
    from parallax.framing.annotation.verdicts import human_values, require_people_agreed
    from parallax.framing.audit import calibrate, calibration_values, require_passed, tabulate_audit
    from parallax.framing.embedding import SentenceEncoder
    from parallax.framing.items import read_pairs
    from parallax.framing.prompt_table import read_item_pairs
    from parallax.tracking import flatten, input_digests, numbers, stage_run

    used = {"audit": settings.model_dump()}
    pairs = read_item_pairs(args.pairs)
    people = _read_people(args.human, pairs, settings) if settings.source == "human" else None
    digests = input_digests([str(args.pairs), str(args.labelled), str(args.human)])
    with hold(args.out), stage_run("audit", flatten(used), digests) as run:
        encoder = SentenceEncoder()
        calibration = calibrate(
            read_pairs(args.labelled),
            encoder,
            settings.least_sensitivity,
            settings.least_specificity,
        )
        table = tabulate_audit(pairs, calibration.rule, encoder)
        if people:
            table = _let_people_decide(table, people)
        equivalent = int(table["equivalent"].sum())
        items = {"equivalent": equivalent, "doubtful": len(table) - equivalent}
        report = {
            "source": settings.source,
            "passed": not people.faults if people else calibration.passed,
            "items": items,
            "human": human_values(people) if people else None,
            **calibration_values(calibration),
        }
        write_table(args.out, table)
        write_json(args.report, report)
        run.log_metrics(numbers({"test": report["test"], "items": items}))
        run.log_file(args.report)
        if people:
            run.log_metrics(numbers({"human": human_values(people)}))
            require_people_agreed(people)
        else:
            require_passed(calibration)
    reached = calibration.reached
    believed = (
        f"{len(people.catches)} annotators"
        if people
        else f"the proxy, which finds {reached.sensitivity.right} of {reached.sensitivity.pairs}"
        f" planted differences and passes {reached.specificity.right} of"
        f" {reached.specificity.pairs} equivalents"
    )
    return f"audit: {equivalent} of {len(table)} items equivalent by {believed} -> {args.out}"


def _read_people(folder: Path, pairs: "tuple[ItemPair, ...]", settings: "Audit") -> "HumanAudit":
    from parallax.framing.annotation.answers import ANSWERS_FILE, read_answers
    from parallax.framing.annotation.decisions import DECISIONS_FILE, read_decisions
    from parallax.framing.annotation.verdicts import audit_by_people
    from parallax.framing.annotation.votes import choose_votes, count_votes

    if not (folder / ANSWERS_FILE).exists():
        raise DataError(
            f"{folder / ANSWERS_FILE}: no such file; import annotators' answers as docs/audit.md"
            " says, or set audit.source to proxy"
        )
    answers = read_answers(folder / ANSWERS_FILE)
    votes = count_votes(answers)
    decisions = read_decisions(folder / DECISIONS_FILE, votes)
    return audit_by_people(
        answers,
        choose_votes(votes, pairs),
        decisions,
        settings.least_alpha,
        settings.most_catch_failures,
    )


def _let_people_decide(table: "pd.DataFrame", people: "HumanAudit") -> "pd.DataFrame":
    judged = [people.judge(item) for item in table["item"]]
    return table.assign(
        equivalent=[equivalent for equivalent, _ in judged],
        reason=[reason for _, reason in judged],
        source="human",
    )


if __name__ == "__main__":
    run_stage(main, build_parser())
