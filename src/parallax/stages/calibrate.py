"""Stage `calibrate`: prove the framing instrument's statistics on simulated responders."""

import argparse
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallax.errors import ParallaxError
from parallax.files import write_json
from parallax.params import load_params
from parallax.stages.command import hold, run_stage

if TYPE_CHECKING:
    from parallax.proof.grid import Sizes


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=Path, required=True, metavar="JSONL", help="requests")
    parser.add_argument("--frames", type=Path, required=True, metavar="YAML", help="clauses")
    parser.add_argument("--out", type=Path, required=True, metavar="JSON", help="to write")
    parser.add_argument("--figure", type=Path, required=True, metavar="PNG", help="to write")
    parser.add_argument("--drawing", type=Path, required=True, metavar="SVG", help="to write")
    return parser


def main(args: argparse.Namespace) -> str:
    """Simulate on all cores; write the figures found, the requirements that they meet, a plot.

    Raises:
        ParamsError: params.yaml is not usable.
        ParallaxError: something is not as it must be; all is written nevertheless.
    """
    from parallax.proof.grid import FULL

    said, failures = calibrate(args, FULL)
    if failures:
        raise ParallaxError(f"{said}; {'; '.join(failures)}")
    return said


def calibrate(args: argparse.Namespace, sizes: "Sizes") -> tuple[str, list[str]]:
    """Run the stage with as many simulations as `sizes` says.

    Return what was found in one line, and what is not as it must be.
    """
    settings = load_params().analysis
    from parallax.proof.calibration import Rules
    from parallax.proof.grid import plan_cells, plan_experiments, run_cell, run_experiment
    from parallax.proof.summary import (
        doubt_values,
        list_failures,
        require_all,
        requirement_values,
    )
    from parallax.report.proof_plots import write_proof_figure
    from parallax.tracking import flatten, input_digests, stage_run

    rules = Rules(settings.alpha, settings.smallest_effect)
    used = {"analysis": settings.model_dump()}
    digests = input_digests([str(args.items), str(args.frames)])
    with hold(args.out), stage_run("calibrate", flatten(used), digests) as run:
        experiments, cells = plan_experiments(sizes), plan_cells(sizes)
        with _work_on_all_cores() as work:
            # The longest first, so that no core waits for another at the end.
            order = sorted(range(len(cells)), key=lambda n: -cells[n].items * cells[n].sets)
            found = work(run_cell, [(cells[n], rules) for n in order], "calibrate")
            findings = work(
                run_experiment,
                [(e, args.items, args.frames, settings) for e in experiments],
                "plant faults",
            )
        grid = [found[order.index(n)] for n in range(len(cells))]
        requirements = require_all(grid)
        values: dict[str, Any] = {
            "settings": {"alpha": settings.alpha, "smallest_effect": settings.smallest_effect},
            "requirements": [requirement_values(entry) for entry in requirements],
            "doubts": doubt_values(experiments, findings),
            "cells": grid,
        }
        write_json(args.out, values)
        write_proof_figure(args.figure, args.drawing, values)
        run.log_metrics({f"least/{r.name}": r.least for r in requirements})
        run.log_metrics({f"most/{r.name}": r.most for r in requirements})
        for path in (args.out, args.figure):
            run.log_file(path)
    met = [requirement.met for requirement in requirements]
    kept = [entry["kept"] for entry in values["doubts"]["false_alarms"].values()]
    caught = [entry["caught"]["value"] for entry in values["doubts"]["faults"].values()]
    said = (
        f"calibrate: {sum(met)} of {len(met)} requirements met, {sum(kept)} of {len(kept)} doubts"
        f" keep their rate, faults are caught in {min(caught):.0%} of cases or more -> {args.out}"
    )
    return said, list_failures(requirements, values["doubts"])


@contextmanager
def _work_on_all_cores() -> Iterator[Callable[..., list[Any]]]:
    """Yield `work(function, arguments, name)`: the results in the order of the arguments."""
    from tqdm import tqdm

    # Read by a worker when it imports numpy: two threads of each would only wait for each other.
    os.environ["OMP_NUM_THREADS"] = "1"
    cores = len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:

        def work(function: Callable[..., Any], arguments: list[Any], name: str) -> list[Any]:
            futures: list[Future[Any]] = [pool.submit(function, *each) for each in arguments]
            for future in tqdm(as_completed(futures), total=len(futures), desc=name):
                future.result()  # a failure is told at once
            return [future.result() for future in futures]

        yield work


if __name__ == "__main__":
    run_stage(main, build_parser())
