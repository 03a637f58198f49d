"""Unlearn the forget set: L = alpha * L_mul + beta * L_uni by the chosen method."""

import argparse
import logging
from pathlib import Path

from parallax.files import checkpoint_root, read_json, read_table, write_csv
from parallax.params import load_params
from parallax.processes import join_processes
from parallax.stages.command import hold, run_stage

_logger = logging.getLogger(__name__)


def main(args: argparse.Namespace) -> str:
    """Write the unlearned model and the loss curve of both modalities."""
    params = load_params()  # before the slow imports: a misspelt key is told at once
    from parallax.models.encoding import Encoder
    from parallax.models.loading import load_params_model
    from parallax.models.tuning import open_weights, recompute_activations
    from parallax.tracking import flatten, input_digests, stage_run
    from parallax.training.checkpoint import Checkpoints, checkpoint_key
    from parallax.training.engine import build_engine
    from parallax.training.loop import CURVE, Plan, train
    from parallax.unlearn.knowledge import encode_parts
    from parallax.unlearn.objective import TERMS, for_text_alone, plan_steps, unlearning_objective

    unlearn = params.unlearn
    used = {
        "accelerate": params.accelerate.model_dump(),
        "model": params.model.training,
        "unlearn": unlearn.model_dump(),
    }
    tables = [
        args.experiment / name for name in ("portraits.parquet", "sft.parquet", "splits.json")
    ]
    digests = input_digests(str(path) for path in [args.model, *tables])
    processes = join_processes()
    with hold(args.out), stage_run("unlearn", flatten(used), digests) as run:
        splits = read_json(args.experiment / "splits.json")
        facts = read_table(args.experiment / "sft.parquet")
        loaded = load_params_model(params.model, args.model)
        if params.model.gradient_checkpointing:
            recompute_activations(loaded.model)
        portraits = read_table(args.experiment / "portraits.parquet")
        encoder = Encoder(loaded.processor, loaded.family, portraits)
        forget, retain = encode_parts(encoder, facts, splits, unlearn.method)
        text_alone = "image" not in encoder.modalities
        if text_alone:
            message = f"text only: the model takes no images; alpha {unlearn.alpha:g} counts as 0"
            _logger.warning(message)
            run.log_params({"text_only": message})
            unlearn = for_text_alone(unlearn)
        steps = plan_steps(
            len(forget),
            len(retain),
            unlearn.batch_size,
            unlearn.descent.epochs,
            unlearn.seed,
        )
        opened = open_weights(loaded, unlearn.tuning, unlearn.lora, unlearn.seed)
        engine = build_engine(loaded.model, processes)
        objective = unlearning_objective(engine, unlearn, forget, retain, steps, encoder)
        key = checkpoint_key(used, [args.model, *tables])
        checkpoints = Checkpoints(checkpoint_root() / f"{args.out.name}-{key}")
        count = len(steps.forget)
        plan = Plan(count, count / unlearn.descent.epochs, unlearn.descent.learning_rate, unlearn)
        curve = train(engine, objective, plan, checkpoints, run.log_row, "unlearn")
        run.headline(
            params={
                "method": unlearn.method,
                "alpha": unlearn.alpha,
                "beta": unlearn.beta,
                "tuning": unlearn.tuning,
                "forget_people": len(splits["forget"]),
                **unlearn.descent.model_dump(),
            },
            title=f"{unlearn.method} alpha={unlearn.alpha:g} beta={unlearn.beta:g}"
            + (" text only" if text_alone else ""),
        )
        if processes.main:
            opened.save(unlearn.save, args.model, args.out)
            write_csv(args.curve, curve, (*CURVE, *TERMS))
            checkpoints.remove()
    return (
        f"unlearn: {unlearn.method}, alpha {unlearn.alpha:g}, beta {unlearn.beta:g},"
        f" {len(splits['forget'])} people, {len(curve)} steps -> {args.out}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="the fine-tuned model")
    parser.add_argument("--experiment", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--curve", type=Path, required=True)
    run_stage(main, parser, lambda args: load_params().accelerate)
