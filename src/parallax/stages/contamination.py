"""Measure how familiar each model under test is with the bodies that it is asked."""

import argparse
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.files import write_table
from parallax.params import Contamination, Subject, load_params
from parallax.processes import Processes, join_processes
from parallax.stages.command import add_overlay, hold, run_stage

if TYPE_CHECKING:
    import pandas as pd

    from parallax.framing.contamination import Familiarity
    from parallax.stats.items import Floats

MEASURES = ("min_k_pp", "zlib_ratio", "rouge_l", "overlap")


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_overlay(parser)
    parser.add_argument("--items", type=Path, required=True, metavar="JSONL")
    parser.add_argument("--out", type=Path, required=True, metavar="PARQUET", help="to write")
    return parser


def main(args: argparse.Namespace) -> str:
    """Write a row of measures per subject and body.

    Raises:
        DataError: the items or the corpus are not usable.
        ModelError: a subject cannot be loaded or run.
    """
    # Before the slow imports: a misspelt key is told at once.
    params = load_params(overlay=args.overlay)
    import pandas as pd

    from parallax.framing.contamination import tabulate_familiarity
    from parallax.framing.items import read_items
    from parallax.framing.prompts import choose_items
    from parallax.tracking import flatten, input_digests, stage_run

    settings, batch_size = params.contamination, params.sampling.batch_size
    used = {
        "contamination": settings.model_dump(),
        "framing": {"item_set": params.framing.item_set},
        "subjects": [subject.model_dump() for subject in params.subjects],
    }
    folders = [subject.name_or_path for subject in params.subjects]
    digests = input_digests([str(args.items), *(f for f in folders if Path(f).is_dir())])
    processes = join_processes()
    with hold(args.out), stage_run("contamination", flatten(used), digests) as run:
        items = choose_items(read_items(args.items), params.framing.item_set)
        bodies = [item.body for item in items]
        if processes.main:  # first: a corpus that can't be used stops all before a model is loaded
            overlap = _measure_overlap(bodies, settings)
        measured = {
            subject.name: _measure(subject, bodies, settings, batch_size, processes)
            for subject in params.subjects
        }
        if not processes.main:
            return ""
        table = pd.concat(
            [tabulate_familiarity(name, items, found, overlap) for name, found in measured.items()],
            ignore_index=True,
        )
        write_table(args.out, table)
        run.log_metrics(_means(table))
        run.log_table("familiarity", table)
        run.log_file(args.out)
    return f"contamination: {_summarise(table, params.subjects, settings)} -> {args.out}"


def _measure_overlap(bodies: Sequence[str], settings: Contamination) -> "Floats":
    import numpy as np
    from tqdm import tqdm

    from parallax.framing.ngrams import list_files, measure_overlap

    if settings.corpus is None:
        return np.full(len(bodies), np.nan)
    corpus = Path(settings.corpus)
    size = sum(path.stat().st_size for path in list_files(corpus))
    with tqdm(total=size, desc=f"corpus {corpus}", unit="B", unit_scale=True) as bar:
        return measure_overlap(bodies, corpus, settings.ngram, bar.update)


def _measure(
    subject: Subject,
    bodies: Sequence[str],
    settings: Contamination,
    batch_size: int,
    processes: Processes,
) -> "list[Familiarity]":
    """Load a subject, measure it, and free its memory before another one is loaded.

    Each process measures a part of the bodies, and returns what all found.
    """
    import gc

    import torch
    from tqdm import tqdm

    from parallax.framing.contamination import UNKNOWN, measure_familiarity
    from parallax.framing.subjects import load_subject

    if subject.backend == "endpoint":
        return [UNKNOWN] * len(bodies)
    loaded = load_subject(
        subject.name, subject.name_or_path, subject.rendering, subject.dtype, subject.revision
    )
    total = -(-2 * len(bodies) // processes.count)
    with tqdm(total=total, desc=f"contamination {subject.name}", unit="step") as bar:
        measure = functools.partial(
            measure_familiarity,
            loaded,
            least_likely=settings.least_likely,
            batch_size=batch_size,
            progress=bar.update,
        )
        measured = processes.spread(bodies, measure)
    del loaded, measure
    gc.collect()
    torch.cuda.empty_cache()
    return measured


def _means(table: "pd.DataFrame") -> dict[str, float]:
    """Return each subject's mean of each measure that it has."""
    means = table.groupby("subject", sort=False)[list(MEASURES)].mean()
    return {
        f"{measure}/{subject}": float(value)
        for subject, row in means.iterrows()
        for measure, value in row.items()
        if value == value
    }


def _summarise(table: "pd.DataFrame", subjects: Sequence[Subject], settings: Contamination) -> str:
    bodies = len(table) // len(subjects)
    endpoints = [subject.name for subject in subjects if subject.backend == "endpoint"]
    lost = int(table.loc[~table["subject"].isin(endpoints), "score"].isna().sum())
    short = int(table["overlap"].isna().sum()) // len(subjects)
    parts = [f"{bodies} bodies, subjects {', '.join(subject.name for subject in subjects)}"]
    if endpoints:
        parts.append(f"{', '.join(endpoints)}: NaN, an endpoint gives no log-probabilities")
    if lost:
        parts.append(f"{lost} rows without a score")
    if settings.corpus is None:
        parts.append("no corpus, no overlap")
    elif short:
        parts.append(f"{short} bodies under {settings.ngram} words, no overlap")
    return "; ".join(parts)


if __name__ == "__main__":
    run_stage(main, build_parser(), lambda args: load_params(overlay=args.overlay).accelerate)
