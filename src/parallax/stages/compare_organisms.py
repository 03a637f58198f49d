"""Set what was planted in each model organism against what the protocol found."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.files import read_json, write_json, write_text
from parallax.params import Subject, load_params
from parallax.stages.command import add_overlay, hold, run_stage

if TYPE_CHECKING:
    from parallax.stats.items import Floats


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_overlay(parser)
    for name, kind in (
        ("analysis", "JSON"),
        ("expected", "YAML"),
        ("items", "JSONL"),
        ("answers", "JSONL"),
        ("frames", "YAML"),
    ):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar=kind)
    for name, kind in (("out", "JSON"), ("table", "MD")):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar=kind, help="to write")
    return parser


def main(args: argparse.Namespace) -> str:
    """Write the comparison and its table.

    Raises:
        DataError: a file is not usable, or no subject is untouched.
        ModelError: a subject cannot be loaded.
    """
    params = load_params(overlay=args.overlay)
    from parallax.framing.organisms.comparison import compare, describe, planted_in, read_expected
    from parallax.report.organisms import write_organisms
    from parallax.tracking import flatten, input_digests, stage_run

    planted = planted_in(params.subjects)
    analysis, expected = read_json(args.analysis), read_expected(args.expected)
    used = {"analysis": {"alpha": params.analysis.alpha}}
    files = (args.analysis, args.expected, args.items, args.answers, args.frames)
    digests = input_digests(str(path) for path in files)
    with hold(args.out), stage_run("compare_organisms", flatten(used), digests) as run:
        rows = compare(analysis, planted, expected)
        measured = _measure(args, params.subjects)
        values = describe(analysis, rows, measured, params.analysis.alpha)
        write_json(args.out, values)
        write_text(args.table, write_organisms(values))
        run.log_metrics({"as_expected": values["as_expected"], "contrasts": len(rows)})
        run.log_file(args.out)
        run.log_file(args.table)
    return (
        f"compare_organisms: {values['as_expected']} of {len(rows)} contrasts as expected"
        f" -> {args.table}"
    )


def _measure(args: argparse.Namespace, subjects: tuple[Subject, ...]) -> "dict[str, Floats]":
    """Load each subject and measure it on the reference answers."""
    from tqdm import tqdm

    from parallax.framing.items import read_items
    from parallax.framing.organisms.comparison import measure_answers, read_answers
    from parallax.framing.prompts import read_frames
    from parallax.framing.subjects import load_subject

    items = read_items(args.items)
    answers = read_answers(args.answers, items)
    spec = read_frames(args.frames, "length_matched")[0]
    measured = {}
    for subject in tqdm(subjects, "reference answers", unit="subject"):
        loaded = load_subject(
            subject.name, subject.name_or_path, subject.rendering, subject.dtype, subject.revision
        )
        measured[subject.name] = measure_answers(loaded, items, answers, spec)
    return measured


if __name__ == "__main__":
    run_stage(main, build_parser())
