"""Let people judge whether two versions of a request ask the same; a command, no DVC stage.

python -m parallax.stages.human_audit export --out sheets --key audit_key.csv --seed 7
python -m parallax.stages.human_audit import --key audit_key.csv --sheets 1.csv 2.csv 3.csv
python -m parallax.stages.human_audit adjudicate --sheet adjudication.csv
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

from parallax.errors import ParallaxError
from parallax.files import write_text
from parallax.params import load_params
from parallax.stages.command import hold, run_stage

FOLDER = Path("data/raw/framing/human_audit")


def main(args: argparse.Namespace) -> str:
    """Do what the first word of the command says; return what was done.

    Raises:
        DataError: a file is malformed, or is not what was exported.
        ParallaxError: a file would be written over, and `--replace` is not given.
    """
    done: str = args.action(args)
    return done


def export(args: argparse.Namespace) -> str:
    """Write a sheet and a form for each annotator, and the key apart from them."""
    from parallax.framing.annotation.form import render_form
    from parallax.framing.annotation.masking import mask_pairs
    from parallax.framing.annotation.questions import ANNOTATORS
    from parallax.framing.annotation.sheets import instruct, write_key, write_sheet
    from parallax.framing.items import read_pairs
    from parallax.framing.prompt_table import read_item_pairs

    if args.key.resolve().is_relative_to(args.out.resolve()):
        raise ParallaxError(
            f"--key {args.key}: lies in {args.out}, which annotators get; choose another place"
        )
    places = {name: args.out / f"annotator-{name}" for name in ANNOTATORS}
    _require_free([args.key, *places.values()], args.replace)
    pairs = read_item_pairs(args.pairs)
    masked = mask_pairs(pairs, read_pairs(args.labelled), args.seed)
    with hold(args.key):
        for name, place in places.items():
            own = [row for row in masked if row.annotator == name]
            write_sheet(place / "sheet.csv", own)
            write_text(place / "form.html", render_form(own))
            write_text(place / "read-me.txt", instruct(name))
        write_key(args.key, masked)
    catches = len(masked) // len(ANNOTATORS) - len(pairs)
    return (
        f"human_audit: {len(pairs)} pairs and {catches} catch pairs for each of {len(ANNOTATORS)}"
        f" annotators -> {args.out}; the key, not for them -> {args.key}"
    )


def collect(args: argparse.Namespace) -> str:
    """Check the filled sheets and keep the answers; write a sheet of the contested pairs."""
    settings = load_params().audit
    from parallax.framing.annotation.answers import ANSWERS_FILE, write_answers
    from parallax.framing.annotation.decisions import DECISIONS_FILE, write_adjudication
    from parallax.framing.annotation.sheets import collect_answers, read_key
    from parallax.framing.annotation.verdicts import audit_by_people, describe_audit
    from parallax.framing.annotation.votes import count_votes

    answers_file, decisions_file = args.out / ANSWERS_FILE, args.out / DECISIONS_FILE
    sheet: Path = args.adjudication
    _require_free([answers_file, decisions_file, sheet], args.replace)
    old = _find_old(sheet)
    key = read_key(args.key)
    answers = collect_answers(key, args.sheets)
    votes = count_votes(answers)
    found = audit_by_people(answers, votes, {}, settings.least_alpha, settings.most_catch_failures)
    with hold(answers_file):
        write_answers(answers_file, answers)
        # Decisions on other answers are none on these.
        decisions_file.unlink(missing_ok=True)
        texts = {row.pair: (row.a, row.b) for row in key if not row.catch}
        if old:
            sheet.rename(old)
        sheet.unlink(missing_ok=True)
        contested = write_adjudication(sheet, votes, texts)
    return "\n".join(
        [
            *describe_audit(found),
            f"human_audit: {len(answers)} rows of answers -> {answers_file};"
            f" {contested} contested pairs{f' -> {sheet}' if contested else ''}"
            f"{f'; the decisions that were in {sheet} -> {old}' if old else ''}",
        ]
    )


def _find_old(sheet: Path) -> Path | None:
    """Return where an earlier sheet is to be moved; None if nothing in it is to be kept."""
    from parallax.framing.annotation.decisions import is_filled

    if not sheet.exists() or not is_filled(sheet):
        return None
    old = sheet.with_name(f"{sheet.name}.old")
    if old.exists():
        raise ParallaxError(
            f"{old} is there already, and {sheet} has decisions that would be moved there: move or"
            " delete one of the two"
        )
    return old


def adjudicate(args: argparse.Namespace) -> str:
    """Check the decisions on contested pairs and keep them."""
    from parallax.framing.annotation.answers import ANSWERS_FILE, read_answers
    from parallax.framing.annotation.decisions import (
        DECISIONS_FILE,
        read_adjudication,
        write_decisions,
    )
    from parallax.framing.annotation.votes import count_votes

    decisions_file = args.out / DECISIONS_FILE
    _require_free([decisions_file], args.replace)
    decisions = read_adjudication(args.sheet, count_votes(read_answers(args.out / ANSWERS_FILE)))
    with hold(decisions_file):
        write_decisions(decisions_file, decisions)
    kept = sum(decision.equivalent for decision in decisions.values())
    return f"human_audit: {len(decisions)} decisions, {kept} of them equivalent -> {decisions_file}"


def _require_free(paths: Iterable[Path], replace: bool) -> None:
    taken = [path for path in paths if path.exists()]
    if taken and not replace:
        raise ParallaxError(
            f"{taken[0]} is there already; add --replace to write over it, or choose another place"
        )


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="parallax.stages.human_audit",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words = parser.add_subparsers(required=True, metavar="export|import|adjudicate")

    def add(word: str, action: object, text: str) -> argparse.ArgumentParser:
        command = words.add_parser(word, help=text, description=text)
        command.set_defaults(action=action)
        command.add_argument("--replace", action="store_true", help="write over what is there")
        return command

    command = add("export", export, "Write masked sheets and forms for three annotators.")
    command.add_argument("--pairs", type=Path, default=Path("data/framing/pairs.parquet"))
    command.add_argument(
        "--labelled",
        type=Path,
        default=Path("data/raw/framing/equivalence_pairs.jsonl"),
        help="pairs with known answers, to catch carelessness with",
    )
    command.add_argument("--out", type=Path, required=True, help="folder, annotator by annotator")
    command.add_argument("--key", type=Path, required=True, help="CSV that annotators never get")
    command.add_argument("--seed", type=int, required=True, help="of orders, sides and IDs")
    command = add("import", collect, "Check and keep the answers of three annotators.")
    command.add_argument("--key", type=Path, required=True, help="CSV that export wrote")
    command.add_argument("--sheets", type=Path, nargs="+", required=True, help="filled sheets")
    command.add_argument("--out", type=Path, default=FOLDER, help="folder of the answers")
    command.add_argument("--adjudication", type=Path, default=Path("adjudication.csv"))
    command = add("adjudicate", adjudicate, "Check and keep decisions on contested pairs.")
    command.add_argument("--sheet", type=Path, required=True, help="filled adjudication sheet")
    command.add_argument("--out", type=Path, default=FOLDER, help="folder of the answers")
    return parser


if __name__ == "__main__":
    run_stage(main, build_parser())
