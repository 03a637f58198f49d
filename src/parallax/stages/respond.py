"""Put every framed prompt to every subject, several draws each, and keep every response."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import DataError
from parallax.files import checkpoint_root, read_json, write_table
from parallax.params import Sampling, Subject, load_params
from parallax.processes import Processes, join_processes
from parallax.stages.command import add_overlay, hold, run_stage

if TYPE_CHECKING:
    import pandas as pd

    from parallax.framing.logodds import Openings
    from parallax.framing.prompts import Prompt
    from parallax.framing.respond import Cell, Pace


def main(args: argparse.Namespace) -> str:
    """Write the table of responses and, for local models, that of log-odds.

    A draw that was made before is taken from the store (`DrawStore`), so that a killed or changed
    run draws only what is new.

    Raises:
        DataError: the prompts did not pass their checks, or a file is not usable.
        ModelError: a model cannot be loaded, or an endpoint fails.
    """
    params = load_params(overlay=args.overlay)
    if not read_json(args.checks)["success"]:
        raise DataError(f"{args.checks}: the prompts did not pass; no model is asked")
    import pandas as pd

    from parallax.framing.logodds import COLUMNS, read_openings
    from parallax.framing.prompt_table import read_prompts
    from parallax.framing.respond import Pace, plan_cells
    from parallax.tracking import flatten, input_digests, stage_run

    prompts = read_prompts(args.prompts)
    openings = read_openings(args.openings)
    cells = plan_cells(prompts, params.framing.draws, params.framing.seed)
    used = {
        "framing": {"draws": params.framing.draws, "seed": params.framing.seed},
        "sampling": params.sampling.model_dump(),
        "subjects": [subject.model_dump() for subject in params.subjects],
    }
    digests = input_digests([str(args.prompts), str(args.openings)])
    processes = join_processes()
    with hold(args.out), stage_run("respond", flatten(used), digests) as run:
        paces = {subject.name: Pace() for subject in params.subjects}
        found = {}
        # Endpoints come last and are asked by one process: no other one waits for them.
        for subject in sorted(params.subjects, key=lambda subject: subject.backend == "endpoint"):
            if processes.main or subject.backend != "endpoint":
                pace = paces[subject.name]
                found[subject.name] = _ask(
                    subject, params.sampling, prompts, cells, openings, pace, processes
                )
        if not processes.main:
            return ""
        pairs = [found[subject.name] for subject in params.subjects]
        responses = pd.concat([table for table, _ in pairs], ignore_index=True)
        log_odds = [table for _, table in pairs if table is not None]
        none = pd.DataFrame(columns=list(COLUMNS))
        write_table(args.log_odds, pd.concat(log_odds or [none], ignore_index=True))
        write_table(args.out, responses)
        run.log_metrics(_describe(responses))
        # Not in the table: outputs hold no timings. Draws from the store took none.
        speeds = {name: p.tokens / p.seconds for name, p in paces.items() if p.tokens}
        run.log_metrics({f"tokens_per_second/{name}": speed for name, speed in speeds.items()})
        run.log_file(args.out)
    names = ", ".join(
        f"{name} ({speeds[name]:.0f} tokens/s)" if name in speeds else name for name in paces
    )
    return f"respond: {len(responses)} responses of {names} -> {args.out}"


def _ask(
    subject: Subject,
    sampling: Sampling,
    prompts: Sequence["Prompt"],
    cells: Sequence["Cell"],
    openings: "Openings",
    pace: "Pace",
    processes: Processes,
) -> tuple["pd.DataFrame", "pd.DataFrame | None"]:
    """Return a subject's responses and, where its weights are at hand, its log-odds."""
    from tqdm import tqdm

    from parallax.framing.choosing import Decoding
    from parallax.framing.endpoint import endpoint_from_environment
    from parallax.framing.logodds import measure_log_odds
    from parallax.framing.respond import DrawStore, EndpointResponder, LocalResponder, respond
    from parallax.framing.subjects import load_subject

    decoding = Decoding(sampling.temperature, sampling.top_p, sampling.max_new_tokens)
    store = DrawStore(checkpoint_root() / "draws" / f"{subject.name}.jsonl")
    if subject.backend == "endpoint":
        responder = EndpointResponder(
            subject.name,
            endpoint_from_environment(subject.name_or_path),
            str(subject.revision),
            subject.rendering,
            decoding,
            sampling.batch_size,
        )
        return respond(responder, cells, store, pace), None
    model = load_subject(
        subject.name, subject.name_or_path, subject.rendering, subject.dtype, subject.revision
    )
    local = LocalResponder(model, decoding, sampling.batch_size)
    table = respond(local, cells, store, pace, processes)
    total = -(-len(prompts) // processes.count)
    with tqdm(total=total, desc=f"log-odds {subject.name}", unit="prompt") as bar:
        log_odds = measure_log_odds(model, prompts, openings, bar.update, processes)
    return table, log_odds


def _describe(responses: "pd.DataFrame") -> dict[str, float]:
    """Return the mean length (tokens) and the share cut off, per subject and arm."""
    found = {}
    for subject, of_subject in responses.groupby("subject"):
        for arm, rows in of_subject.groupby("arm"):
            found[f"new_tokens/{subject}/{arm}"] = float(rows["new_tokens"].mean())
            found[f"cut_off/{subject}/{arm}"] = float((rows["finish"] == "length").mean())
    return found


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_overlay(parser)
    for name, text in (
        ("prompts", "framed prompts, parquet"),
        ("checks", "results of the prompt checks, JSON"),
        ("openings", "with what responses begin, YAML"),
        ("out", "table of responses to write"),
        ("log-odds", "table of log-odds to write"),
    ):
        parser.add_argument(f"--{name}", type=Path, required=True, help=text)
    return parser


if __name__ == "__main__":
    run_stage(main, build_parser(), lambda args: load_params(overlay=args.overlay).accelerate)
