"""Judge responses that are already there; nothing is generated, however often this runs."""

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from parallax.files import read_json, write_json, write_table
from parallax.params import load_params
from parallax.stages.command import add_overlay, hold, run_stage


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_overlay(parser)
    parser.add_argument("--responses", type=Path, nargs="+", required=True, metavar="PARQUET")
    parser.add_argument("--items", type=Path, required=True, metavar="JSONL")
    parser.add_argument("--frames", type=Path, required=True, metavar="YAML")
    parser.add_argument("--calibration", type=Path, required=True, metavar="JSONL")
    parser.add_argument("--cards", type=Path, required=True, metavar="JSON")
    parser.add_argument("--verdicts", type=Path, required=True, metavar="PARQUET", help="to write")
    parser.add_argument("--sensitivity", type=Path, required=True, metavar="JSON", help="to write")
    return parser


def main(args: argparse.Namespace) -> str:
    """Write a verdict per response and judge, and what the judges make of frame labels.

    Raises:
        DataError: a file is not usable, or the primary judge has no card.
        ParamsError: the primary judge is reliable on no preregistered outcome, or a judge is under
            test itself.
    """
    import pandas as pd

    from parallax.framing.items import read_calibration, read_items
    from parallax.framing.judges import JUDGES, Setup
    from parallax.framing.judges.cards import require_passed
    from parallax.framing.judges.echo import measure_echo
    from parallax.framing.judges.judge import require_independent
    from parallax.framing.judges.responses import read_responses, tabulate_verdicts
    from parallax.framing.judges.sensitivity import measure_sensitivity, sensitivity_values
    from parallax.framing.prompts import CLAUSE_SETS, read_frames
    from parallax.tracking import flatten, input_digests, stage_run

    params = load_params(overlay=args.overlay)
    settings = params.judging
    specs = {s.name: s for name in CLAUSE_SETS for s in read_frames(args.frames, name)}
    responses = read_responses(args.responses, {i.id: i for i in read_items(args.items)})
    subjects = {
        name: [response for response in responses if response.subject == name]
        for name in sorted({response.subject for response in responses})
    }
    fit = tuple(row for row in read_calibration(args.calibration) if row.split == "fit")
    judges = [JUDGES[name](Setup(settings, fit)) for name in settings.names]
    tested = {*subjects, *(subject.name_or_path for subject in params.subjects)}
    for judge in judges:
        require_independent(judge, tested, allow_self=settings.allow_self)
    reliable = require_passed(read_json(args.cards), judges[0], str(args.cards))
    used = {
        "judging": settings.model_dump(),
        "analysis": {"smallest_effect": params.analysis.smallest_effect},
    }
    digests = input_digests(map(str, [*args.responses, args.calibration, args.cards]))
    with hold(args.verdicts), stage_run("judge", flatten(used), digests) as run:
        verdicts = pd.concat(
            [tabulate_verdicts(judge, responses) for judge in judges], ignore_index=True
        )
        report: dict[str, dict[str, dict[str, Any]]] = {
            name: {
                "echo": {
                    arm: dataclasses.asdict(rates)
                    for arm, rates in measure_echo(rows, specs).items()
                },
                "judges": {
                    judge.name: sensitivity_values(
                        measure_sensitivity(judge, rows, specs, params.analysis.smallest_effect)
                    )
                    for judge in judges
                },
            }
            for name, rows in subjects.items()
        }
        write_table(args.verdicts, verdicts)
        write_json(args.sensitivity, report)
        run.log_metrics(
            {
                f"largest_bias/{subject}/{judge}": values["gate"]["largest_bias"]
                for subject, found in report.items()
                for judge, values in found["judges"].items()
            }
        )
        run.log_file(args.verdicts)
        run.log_file(args.sensitivity)
    unscored = int((verdicts["category"] == "").sum())
    gates = [v["gate"]["passed"] for found in report.values() for v in found["judges"].values()]
    return (
        f"judge: {len(verdicts)} verdicts by {', '.join(settings.names)}, {unscored} unscored;"
        f" {gates.count(False)} of {len(gates)} frame-sensitivity gates failed;"
        f" {judges[0].name} is reliable on {', '.join(reliable)} -> {args.verdicts}"
    )


if __name__ == "__main__":
    run_stage(main, build_parser())
