"""Ask a proxy, measured on labelled pairs, if the two versions of each item ask for the same."""

import argparse
from pathlib import Path

from parallax.files import write_json, write_table
from parallax.params import load_params
from parallax.stages.command import hold, run_stage


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, required=True, metavar="PARQUET", help="of the items")
    parser.add_argument("--labelled", type=Path, required=True, metavar="JSONL")
    parser.add_argument("--out", type=Path, required=True, metavar="PARQUET", help="verdicts")
    parser.add_argument("--report", type=Path, required=True, metavar="JSON", help="to write")
    return parser


def main(args: argparse.Namespace) -> str:
    """Write a verdict per item and the proxy's calibration, then refuse a proxy below its gate.

    Raises:
        DataError: a file is not usable.
        ParamsError: the proxy misses `audit.least_sensitivity` or `audit.least_specificity`.
    """
    settings = load_params().audit
    from parallax.framing.audit import calibrate, calibration_values, require_passed, tabulate_audit
    from parallax.framing.embedding import SentenceEncoder
    from parallax.framing.items import read_pairs
    from parallax.framing.prompt_table import read_item_pairs
    from parallax.tracking import flatten, input_digests, numbers, stage_run

    used = {
        "audit": {
            "least_sensitivity": settings.least_sensitivity,
            "least_specificity": settings.least_specificity,
        }
    }
    digests = input_digests([str(args.pairs), str(args.labelled)])
    with hold(args.out), stage_run("audit", flatten(used), digests) as run:
        encoder = SentenceEncoder()
        calibration = calibrate(
            read_pairs(args.labelled),
            encoder,
            settings.least_sensitivity,
            settings.least_specificity,
        )
        table = tabulate_audit(read_item_pairs(args.pairs), calibration.rule, encoder)
        equivalent = int(table["equivalent"].sum())
        items = {"equivalent": equivalent, "doubtful": len(table) - equivalent}
        report = {**calibration_values(calibration), "items": items, "source": "proxy"}
        write_table(args.out, table)
        write_json(args.report, report)
        run.log_metrics(numbers({"test": report["test"], "items": items}))
        run.log_file(args.report)
        require_passed(calibration)
    reached = calibration.reached
    return (
        f"audit: {equivalent} of {len(table)} items equivalent by the proxy, which finds"
        f" {reached.sensitivity.right} of {reached.sensitivity.pairs} planted differences and"
        f" passes {reached.specificity.right} of {reached.specificity.pairs} equivalents"
        f" -> {args.out}"
    )


if __name__ == "__main__":
    run_stage(main, build_parser())
