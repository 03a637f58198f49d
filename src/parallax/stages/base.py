"""Make the base model: train the embedded one from scratch, or fetch a published one."""

import argparse
from pathlib import Path

from parallax.errors import DataError
from parallax.files import checkpoint_root, read_json, read_table, write_csv
from parallax.params import EMBEDDED, load_params
from parallax.processes import join_processes
from parallax.stages.command import hold, run_stage


def main(args: argparse.Namespace) -> str:
    """Write the base model and its training curve (empty for a published model)."""
    params = load_params()  # before the slow imports: a misspelt key is told at once
    import torch

    from parallax.instances import from_table
    from parallax.models import embedded
    from parallax.models.device import best_device
    from parallax.models.encoding import Encoder
    from parallax.models.loading import Loaded, load, save, set_attention
    from parallax.models.tuning import recompute_activations
    from parallax.tracking import flatten, input_digests, stage_run
    from parallax.training.checkpoint import Checkpoints, checkpoint_key
    from parallax.training.engine import build_engine
    from parallax.training.loop import CURVE
    from parallax.training.supervised import by_format, fit

    if not read_json(args.validation)["success"]:
        raise DataError(f"{args.validation}: the data did not pass; nothing is trained on it")
    used = {
        "accelerate": params.accelerate.model_dump(),
        "base": params.base.model_dump(),
        "embedded": params.embedded.model_dump(),
        "model": params.model.base,
    }
    tables = [args.experiment / f"{name}.parquet" for name in ("base", "sft", "portraits")]
    digests = input_digests(str(table) for table in tables)
    processes = join_processes()
    with hold(args.out), stage_run("base", flatten(used), digests) as run:
        if params.model.name_or_path != EMBEDDED:
            if processes.main:
                name = params.model.name_or_path
                save(load(name, params.model.dtype, params.model.revision), args.out)
                write_csv(args.curve, [], CURVE)
            return f"base: {params.model.name_or_path} -> {args.out}"
        taught, later = (from_table(read_table(table)) for table in tables[:2])
        portraits = read_table(tables[2])
        processor = embedded.build_processor(
            # The words of the people to come are in the vocabulary; nothing about them is learned.
            embedded.vocabulary_texts([*taught, *later]),
            params.embedded,
            *embedded.channel_statistics(portraits["portrait"]),
        )
        torch.manual_seed(params.base.seed)
        model = embedded.build_model(params.embedded, processor).to(best_device())
        set_attention(model, params.model.attention)
        if params.model.gradient_checkpointing:
            recompute_activations(model)
        loaded = Loaded(model, processor)
        encoder = Encoder(processor, loaded.family, portraits)
        checkpoints = Checkpoints(checkpoint_root() / f"base-{checkpoint_key(used, tables)}")
        curve = fit(
            build_engine(model, processes),
            by_format(encoder, taught, params.base.shares),
            params.base,
            encoder,
            checkpoints,
            run.log_row,
            "base",
        )
        if processes.main:
            save(loaded, args.out)
            write_csv(args.curve, curve, CURVE)
            checkpoints.remove()
    return f"base: {len(curve)} steps, last loss {curve[-1]['loss']:.3f} nats -> {args.out}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiment", type=Path, required=True)
    parser.add_argument("--validation", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--curve", type=Path, required=True)
    run_stage(main, parser, lambda args: load_params().accelerate)
