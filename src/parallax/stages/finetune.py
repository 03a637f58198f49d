"""Fine-tune the base model on the fictitious people: all of them, or the retained ones only."""

import argparse
from pathlib import Path

from parallax.errors import DataError
from parallax.files import checkpoint_root, read_json, read_table, write_csv
from parallax.params import load_params
from parallax.processes import join_processes
from parallax.stages.command import hold, run_stage


def main(args: argparse.Namespace) -> str:
    """Write the fine-tuned model and its training curve."""
    params = load_params()  # before the slow imports: a misspelt key is told at once
    from parallax.instances import from_table
    from parallax.models.encoding import Encoder
    from parallax.models.loading import load_params_model
    from parallax.models.tuning import open_weights, recompute_activations
    from parallax.tracking import flatten, input_digests, stage_run
    from parallax.training.checkpoint import Checkpoints, checkpoint_key
    from parallax.training.engine import build_engine
    from parallax.training.loop import CURVE
    from parallax.training.supervised import fit, list_sources

    used = {
        "accelerate": params.accelerate.model_dump(),
        "sft": params.sft.model_dump(),
        "base": {"shares": params.base.shares.model_dump()},
        "model": params.model.training,
    }
    inputs = [args.base, *(args.experiment / f"{n}.parquet" for n in ("base", "sft", "portraits"))]
    if args.retain_only is not None:
        inputs.append(args.retain_only)
    digests = input_digests(str(path) for path in inputs)
    processes = join_processes()
    with hold(args.out), stage_run(args.out.name, flatten(used), digests) as run:
        facts = read_table(args.experiment / "sft.parquet")
        if args.retain_only is not None:
            facts = facts[facts["person_id"].isin(read_json(args.retain_only)["retain"])]
        if facts.empty:
            raise DataError(f"{args.experiment}: nobody to learn (retain set); run `dvc repro`")
        loaded = load_params_model(params.model, args.base)
        if params.model.gradient_checkpointing:
            recompute_activations(loaded.model)
        portraits = read_table(args.experiment / "portraits.parquet")
        encoder = Encoder(loaded.processor, loaded.family, portraits)
        known = from_table(read_table(args.experiment / "base.parquet"))
        sources = list_sources(encoder, from_table(facts), known, params.sft, params.base.shares)
        opened = open_weights(loaded, params.sft.tuning, params.sft.lora, params.sft.seed)
        key = checkpoint_key(used, inputs)
        checkpoints = Checkpoints(checkpoint_root() / f"{args.out.name}-{key}")
        curve = fit(
            build_engine(loaded.model, processes),
            sources,
            params.sft,
            encoder,
            checkpoints,
            run.log_row,
            args.out.name,
        )
        if processes.main:
            opened.save(params.sft.save, args.base, args.out)
            write_csv(args.curve, curve, CURVE)
            checkpoints.remove()
    people = facts["person_id"].nunique()
    return (
        f"{args.out.name}: {people} people, {len(curve)} steps,"
        f" last loss {curve[-1]['loss']:.3f} nats -> {args.out}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--experiment", type=Path, required=True)
    parser.add_argument("--retain-only", type=Path, help="splits.json: leave its forget set out")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--curve", type=Path, required=True)
    run_stage(main, parser, lambda args: load_params().accelerate)
