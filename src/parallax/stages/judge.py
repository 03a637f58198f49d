"""Judge responses that are already there; nothing is generated, however often this runs."""

import argparse
import dataclasses
from pathlib import Path
from typing import get_args

from parallax.files import read_json, write_json, write_table
from parallax.stages.command import hold, run_stage


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__)
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
        ParamsError: the primary judge's card failed its gate, or a judge is under test itself.
    """
    import pandas as pd

    from parallax.framing.items import read_calibration, read_items
    from parallax.framing.judges import JUDGES, Setup
    from parallax.framing.judges.calibration import require_passed
    from parallax.framing.judges.echo import measure_echo
    from parallax.framing.judges.judge import require_independent
    from parallax.framing.judges.responses import read_responses, tabulate_verdicts
    from parallax.framing.judges.sensitivity import measure_sensitivity, sensitivity_values
    from parallax.framing.judges.settings import read_settings
    from parallax.framing.prompts import ClauseSet, read_frames

    settings = read_settings()
    specs = {s.name: s for name in get_args(ClauseSet) for s in read_frames(args.frames, name)}
    responses = read_responses(args.responses, {i.id: i for i in read_items(args.items)})
    subjects = {
        name: [response for response in responses if response.subject == name]
        for name in sorted({response.subject for response in responses})
    }
    fit = tuple(row for row in read_calibration(args.calibration) if row.split == "fit")
    judges = [JUDGES[name](Setup(settings, fit)) for name in settings.names]
    for judge in judges:
        require_independent(judge, subjects, allow_self=settings.allow_self)
    require_passed(read_json(args.cards), judges[0], str(args.cards))
    with hold(args.verdicts):
        verdicts = pd.concat(
            [tabulate_verdicts(judge, responses) for judge in judges], ignore_index=True
        )
        controls = {
            (judge.name, name): measure_sensitivity(judge, rows, specs, settings.smallest_effect)
            for judge in judges
            for name, rows in subjects.items()
        }
        report = {
            name: {
                "echo": {
                    arm: dataclasses.asdict(rates)
                    for arm, rates in measure_echo(rows, specs).items()
                },
                "judges": {
                    judge.name: sensitivity_values(controls[judge.name, name]) for judge in judges
                },
            }
            for name, rows in subjects.items()
        }
        write_table(args.verdicts, verdicts)
        write_json(args.sensitivity, report)
    unscored = int((verdicts["category"] == "").sum())
    failed = sum(not control.passed for control in controls.values())
    return (
        f"judge: {len(verdicts)} verdicts by {', '.join(settings.names)}, {unscored} unscored;"
        f" {failed} of {len(controls)} frame-sensitivity gates failed -> {args.verdicts}"
    )


if __name__ == "__main__":
    run_stage(main, build_parser())
