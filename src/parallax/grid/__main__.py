"""Run a grid of unlearning experiments, and make its table and picture.

methods: five methods, each unlearning text only, image only and both (the paper's ablation).
ratios:  five methods on 5, 10 and 15 % of the people to forget (the paper's main table).
seeds:   `methods` with three seeds of base training, fine-tuning and unlearning.

Finished runs are not run again while code, data and parameters stay; DVC's cache keeps what runs
share.
Table, runs and picture go to reports/grids/NAME/.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import yaml

from parallax.errors import ParallaxError
from parallax.files import replace_file, replace_folder, write_csv, write_text
from parallax.grid.experiments import (
    Where,
    check_project,
    find_experiments,
    read_outcomes,
    start,
)
from parallax.grid.plan import Grid, GridName, check_runs, plan_grid
from parallax.grid.table import CSV_COLUMNS, Outcome, csv_rows, markdown

RESULTS = Path("reports/grids")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m parallax.grid",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("grid", choices=get_args(GridName))
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


def execute(grid: Grid, *, queue_only: bool, table_only: bool) -> int:
    """Run, queue or only show the grid; return the exit status, 1 where runs are missing.

    Raises:
        ParallaxError: the project is not in a state for experiments, or no run is finished.
    """
    check_project()
    check_runs(grid.runs, yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8")))
    failed = [] if table_only else start_runs(grid, "--queue" if queue_only else "--temp")
    if failed:
        print(
            f"error: {len(failed)} of {len(grid.runs)} runs failed ({', '.join(failed)}), see"
            " above; the same command starts them again",
            file=sys.stderr,
        )
    if queue_only:
        print(
            "start them with `dvc queue start --jobs 1`, watch with `dvc queue status`, then"
            " the same command with --table-only"
        )
        return 1 if failed else 0
    outcomes = list(read_outcomes(grid.runs, find_experiments()[0]))
    if not outcomes:
        raise ParallaxError(
            f"no run of the grid {grid.folder} is finished with this code, data and params.yaml"
        )
    folder = RESULTS / grid.folder
    write_results(folder, grid, outcomes)
    print((folder / "table.md").read_text(encoding="utf-8"))
    print(f"{len(outcomes)} of {len(grid.runs)} runs -> {folder}")
    record_restored()
    return 0 if len(outcomes) == len(grid.runs) else 1


def start_runs(grid: Grid, how: Where) -> list[str]:
    """Start what is neither finished nor queued; return the names of the runs that failed."""
    finished, waiting = find_experiments()
    new = [run for run in grid.runs if run.name not in finished.keys() | waiting]
    print(f"{len(grid.runs)} runs, {len(new)} of them new")
    failed = []
    for number, run in enumerate(new, 1):
        print(f"\n{number} of {len(new)}: {run.name}", flush=True)
        if not start(run, how):
            failed.append(run.name)
    return failed


def write_results(folder: Path, grid: Grid, outcomes: Sequence[Outcome]) -> None:
    """Write `runs.csv`, `table.md` and `modality_plane.png`; same outcomes, same bytes."""
    from parallax.grid.figure import draw_grid
    from parallax.report.drawing import as_png

    with replace_folder(folder) as part:
        write_csv(part / "runs.csv", csv_rows(outcomes), CSV_COLUMNS)
        write_text(part / "table.md", markdown(grid, outcomes))
        with replace_file(part / "modality_plane.png") as picture:
            picture.write_bytes(as_png(draw_grid(grid, outcomes)))


def record_restored() -> None:
    """Make MLflow runs of experiments whose every stage came from DVC's cache."""
    from parallax.tracking.sync import sync

    print(sync()[-1])


def main() -> None:
    """Run `python -m parallax.grid`."""
    args = build_parser().parse_args()
    try:
        grid = plan_grid(args.grid, args.extra)
        status = execute(grid, queue_only=args.queue_only, table_only=args.table_only)
    except ParallaxError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on where it stopped")
    sys.exit(status)


if __name__ == "__main__":
    main()
