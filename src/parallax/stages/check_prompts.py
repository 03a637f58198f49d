"""Stage `check_prompts`: refuse prompts that differ in more than the frame, or in too little."""

import argparse
import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import DataError
from parallax.files import read_json, read_table
from parallax.params import load_params
from parallax.stages.command import add_overlay, hold, run_stage

if TYPE_CHECKING:
    import pandas as pd
    from tokenizers import Tokenizer

    from parallax.framing.prompts import ItemSet
    from parallax.validation.prompt_tables import Slot
    from parallax.validation.prompts import Inputs


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(prog="parallax.stages.check_prompts", description=__doc__)
    add_overlay(parser)
    parser.add_argument("--prompts", type=Path, required=True, metavar="PARQUET")
    parser.add_argument("--pairs", type=Path, required=True, metavar="PARQUET")
    parser.add_argument("--audit", type=Path, required=True, metavar="PARQUET")
    parser.add_argument("--audit-report", type=Path, required=True, metavar="JSON")
    parser.add_argument("--items", type=Path, required=True, metavar="JSONL")
    parser.add_argument("--frames", type=Path, required=True, metavar="YAML")
    parser.add_argument(
        "--tokenizer",
        type=Path,
        required=True,
        metavar="JSON",
        help="the tokenizer.json that measures clauses, whatever subjects there are",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="JSON", help="the report")
    return parser


def main(args: argparse.Namespace) -> str:
    """Write the report, then refuse the prompts if a check failed.

    Clauses are measured with one tokenizer, SmolLM2's in the pipeline: the frames' file is worded
    for it, and a rule that followed the subjects would pass the same file for one of them and
    stop it for the next, or need a tokenizer that an endpoint doesn't give.

    Raises:
        DataError: a check failed or could not be evaluated; a line for each is on stderr.
    """
    # Before the slow imports: a misspelt key is told at once.
    framing = load_params(overlay=args.overlay).framing
    from parallax.framing.prompts import EVALUATION_WORDS, PERMISSION_WORDS, find_words
    from parallax.tracking import flatten, input_digests, stage_run
    from parallax.validation.conclusion import conclude_checks
    from parallax.validation.prompt_tables import Plan, Reading
    from parallax.validation.prompts import AUDITORS, prompt_checks, prompt_frames
    from parallax.validation.suite import run_checks

    plan = Plan(framing.clause_set, framing.wordings, framing.arms)
    reading = Reading(
        functools.partial(find_words, words=EVALUATION_WORDS),
        functools.partial(find_words, words=PERMISSION_WORDS),
        _count_tokens(args.tokenizer),
    )
    used = {"framing": {"item_set": framing.item_set} | dataclasses.asdict(plan)}
    paths = (args.prompts, args.pairs, args.audit, args.audit_report, args.items, args.frames)
    digests = input_digests(str(path) for path in (*paths, args.tokenizer))
    inputs = _inputs(args, framing.item_set)
    with hold(args.out), stage_run("check_prompts", flatten(used), digests) as run:
        report = run_checks(prompt_checks(inputs.source), prompt_frames(inputs, plan, reading))
        passed = conclude_checks(report, "prompts", args.out, run)
    return f"check_prompts: paraphrases audited by {AUDITORS[inputs.source]}; {passed}"


def _inputs(args: argparse.Namespace, item_set: "ItemSet") -> "Inputs":
    from parallax.validation.prompts import Inputs

    source, passed = _read_audit(args.audit_report)
    return Inputs(
        items=lambda: _read_items(args.items, item_set),
        slot=lambda: _read_slot(args.frames),
        prompts=lambda: read_table(args.prompts),
        pairs=lambda: read_table(args.pairs),
        audit=lambda: read_table(args.audit),
        source=source,
        audit_passed=passed,
    )


def _read_items(path: Path, item_set: "ItemSet") -> "pd.DataFrame":
    import pandas as pd

    from parallax.framing.items import read_items
    from parallax.framing.prompts import choose_items

    items = read_items(path)
    chosen = {item.id for item in choose_items(items, item_set)}
    return pd.DataFrame(
        [
            {
                "row": item.id,
                "item": item.id,
                "topic": item.topic,
                "harm_class": item.harm_class,
                "chosen": item.id in chosen,
                "body": item.body,
                # A chosen item needs one; `text` says which item has none.
                "paraphrase": item.text(1) if item.id in chosen else item.paraphrase,
            }
            for item in items
        ]
    )


def _read_slot(path: Path) -> "Slot":
    from parallax.framing.prompts import CLAUSE_ARMS, CLAUSE_SETS, read_frames
    from parallax.validation.prompt_tables import Slot

    specs = [(name, spec) for name in CLAUSE_SETS for spec in read_frames(path, name)]
    return Slot(
        specs[0][1].carrier,
        specs[0][1].role,
        {(name, spec.name, arm): spec.clause[arm] for name, spec in specs for arm in CLAUSE_ARMS},
    )


def _read_audit(path: Path) -> tuple[str, bool]:
    """Return who audited the paraphrases, and whether the audit reached its gate."""
    from parallax.validation.prompts import AUDITORS

    report = read_json(path)
    values = report if isinstance(report, dict) else {}
    source, passed = str(values.get("source")), values.get("passed")
    if source not in AUDITORS or not isinstance(passed, bool):
        raise DataError(
            f"{path}: want a source, {' or '.join(AUDITORS)}, and passed, true or false; run `dvc"
            " repro audit`"
        )
    return source, passed


def _count_tokens(path: Path) -> Callable[[str], int]:
    """Return a function that counts a text's tokens; it raises DataError for a wrong file."""

    @functools.cache
    def load() -> "Tokenizer":
        from tokenizers import Tokenizer

        values = read_json(path)
        if not isinstance(values, dict) or "model" not in values:
            raise DataError(f"{path}: no tokenizer; run `dvc repro subject`")
        return Tokenizer.from_file(str(path))

    return lambda text: len(load().encode(text, add_special_tokens=False).ids)


if __name__ == "__main__":
    run_stage(main, build_parser())
