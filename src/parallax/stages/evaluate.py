"""Ask one model every evaluation question in both modalities and keep every answer."""

import argparse
from pathlib import Path

from parallax.files import read_table, write_table
from parallax.params import load_params
from parallax.processes import join_processes
from parallax.stages.command import hold, run_stage


def main(args: argparse.Namespace) -> str:
    """Write one row per question and modality: the answer, and the options' log-probabilities."""
    params = load_params()  # before the slow imports: a misspelt key is told at once
    from parallax.instances import from_table
    from parallax.models.answering import answer_questions
    from parallax.models.encoding import Encoder
    from parallax.models.loading import load_params_model

    processes = join_processes()
    with hold(args.out):
        loaded = load_params_model(params.model, args.model)
        portraits = read_table(args.experiment / "portraits.parquet")
        encoder = Encoder(loaded.processor, loaded.family, portraits)
        instances = from_table(read_table(args.experiment / "evaluation.parquet"))
        answers = answer_questions(
            loaded.model,
            encoder,
            instances,
            params.evaluate.batch_size,
            params.evaluate.max_new_tokens,
            processes,
        )
        if processes.main:
            write_table(args.out, answers)
    return f"evaluate: {len(answers)} answers of {args.model.name} -> {args.out}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--experiment", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    run_stage(main, parser, lambda args: load_params().accelerate)
