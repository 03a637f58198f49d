"""Test the contrasts between frames item by item, and write what may be claimed."""

import argparse
from pathlib import Path

from parallax.files import read_json, write_json, write_table
from parallax.params import load_params
from parallax.stages.command import add_overlay, hold, run_stage


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_overlay(parser)
    for name, kind in (
        ("responses", "PARQUET"),
        ("verdicts", "PARQUET"),
        ("log-odds", "PARQUET"),
        ("items", "JSONL"),
        ("cards", "JSON"),
        ("sensitivity", "JSON"),
        ("audit", "JSON"),
    ):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar=kind)
    parser.add_argument(
        "--familiarity", type=Path, metavar="PARQUET", help="without it no effect is related to it"
    )
    for name, kind in (
        ("effects", "PARQUET"),
        ("item-effects", "PARQUET"),
        ("analysis", "JSON"),
        ("metrics", "JSON"),
    ):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar=kind, help="to write")
    return parser


def main(args: argparse.Namespace) -> str:
    """Write the metrics, the table of effects and that of items.

    Raises:
        DataError: a file is not usable, or is made from other responses than the rest.
    """
    # Before the slow imports: a misspelt key is told at once.
    params = load_params(overlay=args.overlay)
    from tqdm import tqdm

    from parallax.framing.analysis.audited import add_audit, read_audit
    from parallax.framing.analysis.comparisons import order_pair
    from parallax.framing.analysis.experiment import analyse_experiment
    from parallax.framing.analysis.logs import read_logs
    from parallax.framing.analysis.rows import effects_table, item_effects_table
    from parallax.tracking import flatten, input_digests, numbers, stage_run

    settings = params.analysis
    logs = read_logs(
        args.responses,
        args.verdicts,
        args.log_odds,
        args.familiarity,
        args.items,
        args.cards,
        [subject.name for subject in params.subjects],
        params.judging.names,
    )
    sensitivity, audit = read_json(args.sensitivity), read_audit(args.audit)
    pairs = [order_pair(pair) for pair in params.subject_pairs]
    tables = (args.responses, args.verdicts, args.log_odds, args.familiarity)
    digests = input_digests(str(path) for path in tables if path is not None)
    used = {"analysis": settings.model_dump()}
    with hold(args.metrics), stage_run("analyse", flatten(used), digests) as run:
        with tqdm(total=len(logs.design.subjects), desc="analyse", unit="subject") as bar:
            found = analyse_experiment(
                logs, sensitivity, str(args.sensitivity), pairs, settings, bar.update
            )
        effects = effects_table(found.effects)
        write_table(args.effects, effects)
        write_table(args.item_effects, item_effects_table(logs))
        metrics = add_audit(found.metrics, audit)
        write_json(args.analysis, metrics)
        write_json(args.metrics, metrics["headline"])
        run.headline(metrics=numbers(metrics["headline"]))
        run.log_table("effects", effects)
        for path in (args.analysis, args.effects, args.item_effects):
            run.log_file(path)
    claims = "; ".join(
        f"{subject}: {values['claim']}" for subject, values in metrics["headline"].items()
    )
    return f"analyse: {claims}; paraphrases audited by {audit['source']} -> {args.metrics}"


if __name__ == "__main__":
    run_stage(main, build_parser())
