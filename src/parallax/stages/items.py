"""Turn a benchmark's file into items for `framing.items`; a command for users, no DVC stage.

python -m parallax.stages.items harmbench behaviors.csv --sheet second.csv
python -m parallax.stages.items harmbench behaviors.csv --paraphrases second.csv --out items.jsonl

The first writes a sheet with a row per request, whose column `paraphrase` is to be filled in.
"""

import argparse
import dataclasses
import json
from pathlib import Path

from parallax.errors import ParamsError
from parallax.files import write_text
from parallax.stages.command import hold, run_stage


def main(args: argparse.Namespace) -> str:
    """Write the sheet, or the items with the second versions that the benchmark lacks.

    Raises:
        DataError: a file is malformed, or an item is left without a second version.
        ParamsError: there is no such layout, no file is named for the items, or the sheet is there
            already.
    """
    from parallax.framing.benchmarks import read_benchmark
    from parallax.framing.second_versions import add_paraphrases, write_sheet

    items = read_benchmark(args.file, args.layout)
    if args.sheet is not None:
        if args.sheet.exists():
            raise ParamsError(
                f"--sheet {args.sheet} is there already, perhaps filled in: move it or name another"
            )
        with hold(args.sheet):
            write_sheet(args.sheet, items)
        return f"items: a sheet of {len(items)} requests of {args.layout} -> {args.sheet}"
    if args.out is None:
        raise ParamsError("--out is missing: name the JSONL file for the items")
    items = add_paraphrases(items, args.paraphrases)
    lines = [json.dumps(dataclasses.asdict(item), ensure_ascii=False) + "\n" for item in items]
    with hold(args.out):
        write_text(args.out, "".join(lines))
    return f"items: {len(items)} of {args.layout} -> {args.out}"


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("layout", help="harmbench, strongreject, xstest or advbench")
    parser.add_argument("file", type=Path, help="the benchmark's own CSV file")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--sheet", type=Path, help="CSV to write, for the second versions")
    what.add_argument("--paraphrases", type=Path, help="CSV: id, paraphrase; the filled sheet")
    parser.add_argument("--out", type=Path, help="JSONL to write, with --paraphrases")
    return parser


if __name__ == "__main__":
    run_stage(main, build_parser())
