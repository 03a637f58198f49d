"""Turn a benchmark's file into items for `framing.items`; a command for users, no DVC stage.

python -m parallax.stages.items harmbench behaviors.csv --paraphrases second.csv --out items.jsonl
"""

import argparse
import dataclasses
import json
from pathlib import Path

from parallax.files import write_text
from parallax.stages.command import hold, run_stage


def main(args: argparse.Namespace) -> str:
    """Write the items, with the second versions that the benchmark lacks.

    Raises:
        DataError: a file is malformed, or an item is left without a second version.
        ParamsError: there is no such layout.
    """
    from parallax.framing.benchmarks import read_benchmark
    from parallax.framing.items import add_paraphrases

    items = add_paraphrases(read_benchmark(args.file, args.layout), args.paraphrases)
    lines = [json.dumps(dataclasses.asdict(item), ensure_ascii=False) + "\n" for item in items]
    with hold(args.out):
        write_text(args.out, "".join(lines))
    return f"items: {len(items)} of {args.layout} -> {args.out}"


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("layout", help="harmbench, strongreject, xstest or advbench")
    parser.add_argument("file", type=Path, help="the benchmark's own CSV file")
    parser.add_argument("--paraphrases", type=Path, required=True, help="CSV: id, paraphrase")
    parser.add_argument("--out", type=Path, required=True, help="JSONL to write")
    return parser


if __name__ == "__main__":
    run_stage(main, build_parser())
