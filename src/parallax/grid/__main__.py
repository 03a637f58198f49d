"""Run a grid of experiments, and make its table and, but for subjects, its picture.

methods:  five methods, each unlearning text only, image only and both (the paper's ablation).
ratios:   five methods on 5, 10 and 15 % of the people to forget (the paper's main table).
seeds:    `methods` with three seeds of base training, fine-tuning and unlearning.
subjects: the framing half for each subject of params.yaml by itself.

Finished runs are not run again while code, data and parameters stay; DVC's cache keeps what runs
share.
Table, runs and picture go to reports/grids/NAME/.
"""

import argparse
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import get_args

import yaml

from parallax.errors import ParallaxError
from parallax.files import replace_file, replace_folder, write_csv, write_json, write_text
from parallax.grid.experiments import (
    Where,
    check_project,
    find_experiments,
    read_outcomes,
    read_result,
    start,
)
from parallax.grid.plan import Experiment, Grid, GridName, check_runs, plan_grid
from parallax.grid.subjects import SubjectGrid, plan_subjects, subjects_table
from parallax.grid.table import CSV_COLUMNS, Outcome, csv_rows, markdown

RESULTS = Path("reports/grids")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m parallax.grid",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("grid", choices=(*get_args(GridName), "subjects"))
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--queue-only",
        action="store_true",
        help="queue the runs for `dvc queue start --jobs N` and make no table",
    )
    what.add_argument(
        "--table-only", action="store_true", help="make the table of the runs that are finished"
    )
    parser.add_argument(
        "-S",
        dest="extra",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set a parameter in all runs; may be given more than once",
    )
    return parser


def execute(
    folder: str,
    runs: Sequence[Experiment],
    write: Callable[[Path, Mapping[str, str]], int],
    *,
    queue_only: bool,
    table_only: bool,
) -> int:
    """Run, queue or only show the runs; return the exit status, 1 where runs are missing.

    `write` puts the table of the finished runs (name to revision) into a folder, and returns how
    many they are.

    Raises:
        ParallaxError: the project is not in a state for experiments, or no run is finished.
    """
    check_project()
    check_runs(runs, read_values())
    failed = [] if table_only else start_runs(runs, "--queue" if queue_only else "--temp")
    if failed:
        print(
            f"error: {len(failed)} of {len(runs)} runs failed ({', '.join(failed)}), see"
            " above; the same command starts them again",
            file=sys.stderr,
        )
    if queue_only:
        print(
            "start them with `dvc queue start --jobs 1`, watch with `dvc queue status`, then"
            " the same command with --table-only"
        )
        return 1 if failed else 0
    finished = find_experiments()[0]
    if not any(run.name in finished for run in runs):
        raise ParallaxError(
            f"no run of the grid {folder} is finished with this code, data and params.yaml"
        )
    count = write(RESULTS / folder, finished)
    print((RESULTS / folder / "table.md").read_text(encoding="utf-8"))
    print(f"{count} of {len(runs)} runs -> {RESULTS / folder}")
    record_restored()
    return 0 if count == len(runs) else 1


def read_values() -> dict[str, object]:
    """Return the content of params.yaml."""
    return dict(yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8")))


def start_runs(runs: Sequence[Experiment], how: Where) -> list[str]:
    """Start what is neither finished nor queued; return the names of the runs that failed."""
    finished, waiting = find_experiments()
    new = [run for run in runs if run.name not in finished.keys() | waiting]
    print(f"{len(runs)} runs, {len(new)} of them new")
    if held := [run.name for run in runs if run.name in waiting]:
        print(
            f"queued, or running elsewhere: {', '.join(held)}. DVC counts a killed run as running:"
            " where no process of it lives, delete .dvc/tmp/exps/standalone and give the command"
            " again"
        )
    failed = []
    for number, run in enumerate(new, 1):
        print(f"\n{number} of {len(new)}: {run.name}", flush=True)
        if not start(run, how):
            failed.append(run.name)
    return failed


def write_grid(grid: Grid, folder: Path, finished: Mapping[str, str]) -> int:
    """Write the results of a grid's finished runs; return how many they are."""
    outcomes = list(read_outcomes(grid.runs, finished))
    write_results(folder, grid, outcomes)
    return len(outcomes)


def write_results(folder: Path, grid: Grid, outcomes: Sequence[Outcome]) -> None:
    """Write `runs.csv`, `table.md` and `modality_plane.png`; same outcomes, same bytes."""
    from parallax.grid.figure import draw_grid
    from parallax.report.drawing import as_png

    with replace_folder(folder) as part:
        write_csv(part / "runs.csv", csv_rows(outcomes), CSV_COLUMNS)
        write_text(part / "table.md", markdown(grid, outcomes))
        with replace_file(part / "modality_plane.png") as picture:
            picture.write_bytes(as_png(draw_grid(grid, outcomes)))


def write_subjects(grid: SubjectGrid, folder: Path, finished: Mapping[str, str]) -> int:
    """Write `table.md`, and each finished run's metrics; return how many they are."""
    found = {
        run.name: read_result(run, finished[run.name])[1]
        for run in grid.runs
        if run.name in finished
    }
    with replace_folder(folder) as part:
        for name, metrics in found.items():
            write_json(part / f"{name}.json", metrics)
        write_text(part / "table.md", subjects_table(grid, found))
    return len(found)


def record_restored() -> None:
    """Make MLflow runs of experiments whose every stage came from DVC's cache."""
    from parallax.tracking.sync import sync

    print(sync()[-1])


def run(args: argparse.Namespace) -> int:
    """Run the grid that the command line asks for; return the exit status."""
    how = {"queue_only": args.queue_only, "table_only": args.table_only}
    if args.grid == "subjects":
        check_project()
        subjects = plan_subjects(read_values(), args.extra)
        write = functools.partial(write_subjects, subjects)
        return execute(subjects.folder, subjects.runs, write, **how)
    grid = plan_grid(args.grid, args.extra)
    return execute(grid.folder, grid.runs, functools.partial(write_grid, grid), **how)


def main() -> None:
    """Run `python -m parallax.grid`."""
    args = build_parser().parse_args()
    try:
        status = run(args)
    except ParallaxError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on where it stopped")
    sys.exit(status)


if __name__ == "__main__":
    main()
