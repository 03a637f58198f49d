"""Train a model organism: adapters that make a subject refuse in one frame alone."""

import argparse
from pathlib import Path
from typing import get_args

from parallax.files import checkpoint_root, replace_folder, write_csv
from parallax.params import Organism, load_params
from parallax.stages.command import hold, run_stage


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=get_args(Organism), required=True)
    parser.add_argument("--base", type=Path, required=True, metavar="MODEL")
    parser.add_argument("--material", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--frames", type=Path, required=True, metavar="YAML")
    parser.add_argument(
        "--items",
        type=Path,
        nargs="+",
        required=True,
        metavar="JSONL",
        help="what organisms are asked: none of it may be trained on",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="to write")
    parser.add_argument("--curve", type=Path, required=True, metavar="CSV", help="to write")
    return parser


def main(args: argparse.Namespace) -> str:
    """Write the adapters and the training curve.

    Raises:
        DataError: a file is not usable, or a text that is trained on is put to models under test.
        ModelError: the base model cannot be loaded.
    """
    params = load_params().organism  # before the slow imports: a misspelt key is told at once
    from parallax.framing.items import read_items
    from parallax.framing.organisms.examples import plan_examples
    from parallax.framing.organisms.material import FILES, read_material, require_disjoint
    from parallax.framing.organisms.training import train_adapters
    from parallax.framing.prompts import CLAUSE_SETS, read_frames
    from parallax.framing.subjects import load_subject
    from parallax.tracking import flatten, input_digests, stage_run
    from parallax.training.checkpoint import Checkpoints, checkpoint_key
    from parallax.training.loop import CURVE

    used = {"organism": params.model_dump() | {"kind": args.kind}}
    inputs = [args.base, *(args.material / file for file in FILES), args.frames, *args.items]
    digests = input_digests(str(path) for path in inputs)
    name = args.out.name
    with hold(args.out), stage_run(name, flatten(used), digests) as run:
        material = read_material(args.material)
        specs = [s for clause_set in CLAUSE_SETS for s in read_frames(args.frames, clause_set)]
        asked = [item for path in args.items for item in read_items(path)]
        require_disjoint(material, asked, specs)
        examples = plan_examples(material, specs[0], args.kind, params.rounds, params.seed)
        subject = load_subject(name, args.base, "chat")
        key = checkpoint_key(used, inputs)
        checkpoints = Checkpoints(checkpoint_root() / f"{name}-{key}")
        adapted, curve = train_adapters(subject, examples, params, checkpoints, run.log_row, name)
        with replace_folder(args.out) as part:
            adapted.save_pretrained(part, save_embedding_layers=False)
            (part / "README.md").unlink()
        write_csv(args.curve, curve, CURVE)
        checkpoints.remove()
    refusals = sum(example.refuses for example in examples)
    return (
        f"organism {name}: {len(examples)} examples, {refusals} refusals, {len(curve)} steps,"
        f" last loss {curve[-1]['loss']:.3f} nats -> {args.out}"
    )


if __name__ == "__main__":
    run_stage(main, build_parser())
