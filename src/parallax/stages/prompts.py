"""Render the chosen items in every chosen arm and wording, and pair their two versions."""

import argparse
from pathlib import Path

from parallax.files import write_table
from parallax.params import load_params
from parallax.stages.command import add_overlay, hold, run_stage


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_overlay(parser)
    parser.add_argument("--items", type=Path, required=True, metavar="JSONL")
    parser.add_argument("--frames", type=Path, required=True, metavar="YAML")
    parser.add_argument("--out", type=Path, required=True, metavar="PARQUET", help="prompts")
    parser.add_argument("--pairs", type=Path, required=True, metavar="PARQUET", help="paraphrases")
    return parser


def main(args: argparse.Namespace) -> str:
    """Write the prompts and, for the audit, each item's body beside its paraphrase.

    Raises:
        DataError: a file is not usable, no item is of the set, or a wording is unknown.
    """
    from parallax.framing.items import read_items
    from parallax.framing.prompt_table import pairs_table, prompts_table
    from parallax.framing.prompts import (
        choose_items,
        choose_wordings,
        plan_prompts,
        read_frames,
    )

    framing = load_params(overlay=args.overlay).framing
    items = choose_items(read_items(args.items), framing.item_set)
    specs = choose_wordings(read_frames(args.frames, framing.clause_set), framing.wordings)
    prompts = plan_prompts(items, specs, framing.arms)
    with hold(args.out):
        write_table(args.out, prompts_table(prompts, items))
        write_table(args.pairs, pairs_table(items))
    return (
        f"prompts: {len(prompts)} of {len(items)} items in {', '.join(framing.arms)},"
        f" {framing.clause_set} {', '.join(framing.wordings)} -> {args.out}"
    )


if __name__ == "__main__":
    run_stage(main, build_parser())
