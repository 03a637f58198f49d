"""Score the models' outputs, or score a scored table again, and measure what was forgotten.

Score:   python -m parallax.stages.score --splits data/experiment/splits.json
             --refusals data/raw/refusals.txt --outputs base=results/base.parquet ...
             --scored results/scored.parquet --metrics metrics/unlearning.json
Rescore: python -m parallax.stages.score --rescore results/scored.parquet --compat official
             --metrics out.json
"""

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from parallax.errors import DataError, ParamsError
from parallax.files import read_json, read_table, write_json, write_table
from parallax.params import Scoring, load_params, parse_scoring
from parallax.records import MODELS, SETS
from parallax.stages.command import hold, run_stage

if TYPE_CHECKING:
    import pandas as pd

HEADLINE = re.compile(
    r"unlearned\.\w+\.(accuracy\.acc_(mul|uni|F|R)|accuracy\.modality_gap|generation\.RL_[FR])"
    r"|delta\.(accuracy\.\w+|generation\.\w+)"
)
"""The metrics by which executions are compared, by their flat names."""


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(
        prog="python -m parallax.stages.score", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--splits", type=Path, metavar="JSON", help="people of each set")
    parser.add_argument("--refusals", type=Path, metavar="TXT", help="refusals, one a line")
    parser.add_argument(
        "--outputs",
        nargs="+",
        metavar="MODEL=PARQUET",
        help="outputs of base, sft, retain_only and unlearned",
    )
    parser.add_argument("--scored", type=Path, metavar="PARQUET", help="scored table to write")
    parser.add_argument(
        "--rescore",
        type=Path,
        metavar="PARQUET",
        help="scored table to score again, in place of the four above",
    )
    parser.add_argument("--metrics", type=Path, required=True, metavar="JSON", help="to write")
    group = parser.add_argument_group(
        "options of scoring",
        "in place of those of params.yaml; with --compat nothing is read from there",
    )
    for name, field in Scoring.model_fields.items():
        how: dict[str, Any] = {"choices": get_args(field.annotation)}
        if field.annotation is bool:
            how = {"action": argparse.BooleanOptionalAction}
        group.add_argument(f"--{name.replace('_', '-')}", **how)
    return parser


def main(args: argparse.Namespace) -> str:
    """Score or rescore, write the metrics, and say so.

    Raises:
        DataError: a file or one of its rows is not usable.
        ParamsError: the arguments fit neither command, or params.yaml is not usable.
    """
    from parallax.umu.metrics import measure

    scoring = _choose(args)
    inputs = (args.splits, args.refusals, args.outputs, args.scored)
    if bool(args.rescore) == any(inputs) or any(inputs) != all(inputs):
        raise ParamsError(
            "give --splits, --refusals, --outputs and --scored, or --rescore without them"
        )
    with hold(args.metrics):
        scored = _rescore(args.rescore, scoring) if args.rescore else _score(args, scoring)
        metrics = measure(scored)
        write_json(args.metrics, metrics)
        if args.scored:
            write_table(args.scored, scored)
            _record(args, scoring, scored, metrics)
    models = ", ".join(dict.fromkeys(scored["model"]))
    return (
        f"score: {len(scored)} outputs of {models}, compat {scoring.compat},"
        f" matcher {scoring.matcher} -> {args.metrics}"
    )


def _record(
    args: argparse.Namespace,
    scoring: Scoring,
    scored: "pd.DataFrame",
    metrics: Mapping[str, object],
) -> None:
    from parallax.tracking import flatten, input_digests, numbers, stage_run

    outputs = parse_outputs(args.outputs).values()
    digests = input_digests(str(path) for path in [args.splits, *outputs])
    with stage_run("score", flatten({"scoring": scoring.model_dump()}), digests) as run:
        values = numbers(metrics)
        run.log_metrics(values)
        run.headline(
            metrics={key: value for key, value in values.items() if HEADLINE.fullmatch(key)}
        )
        shown = scored[scored["model"] == "unlearned"]
        run.log_table(
            "questions", shown.drop(columns=["model", "option_logprobs", "option_tokens"])
        )
        run.log_file(args.scored)


def _choose(args: argparse.Namespace) -> Scoring:
    """Return the options in effect; with --compat, params.yaml is not read."""
    given = {name: getattr(args, name) for name in Scoring.model_fields}
    if args.compat is not None:
        return parse_scoring(given, "command line")
    return load_params(scoring={k: v for k, v in given.items() if v is not None}).scoring


def _score(args: argparse.Namespace, scoring: Scoring) -> "pd.DataFrame":
    from parallax.umu.abstention import abstention_rule, read_refusals
    from parallax.umu.outputs import assign_sets, check_outputs, sort_scored
    from parallax.umu.scoring import score_outputs

    sets = read_sets(args.splits)
    abstains = abstention_rule(read_refusals(args.refusals))
    tables = []
    for model, path in parse_outputs(args.outputs).items():
        outputs = read_table(path)
        check_outputs(outputs, str(path))
        outputs["model"] = model
        outputs["set"] = assign_sets(outputs["person_id"], sets, str(args.splits))
        outputs["abstained"] = outputs["output"].map(abstains)
        tables.append(score_outputs(outputs, scoring, str(path)))
    return sort_scored(tables)


def _rescore(path: Path, scoring: Scoring) -> "pd.DataFrame":
    from parallax.umu.outputs import check_outputs, check_scored, sort_scored
    from parallax.umu.scoring import score_outputs

    scored = read_table(path)
    check_scored(scored, str(path))
    tables = []
    for model, outputs in scored.groupby("model"):
        source = f"{path}, model {model}"
        check_outputs(outputs, source)
        tables.append(score_outputs(outputs, scoring, source))
    return sort_scored(tables)


def parse_outputs(pairs: Sequence[str]) -> dict[str, Path]:
    """Return the file of each model from arguments such as `sft=results/sft.parquet`.

    Raises:
        ParamsError: an argument is no MODEL=FILE, names no model, or names one twice.
    """
    files: dict[str, Path] = {}
    for pair in pairs:
        model, _, file = pair.partition("=")
        if model not in MODELS or not file or model in files:
            raise ParamsError(
                f"--outputs {pair!r}: give MODEL=FILE once for each model; models are"
                f" {', '.join(MODELS)}"
            )
        files[model] = Path(file)
    return files


def read_sets(path: Path) -> dict[str, list[str]]:
    """Read the people of the sets forget, retain and real; other keys are left alone.

    Raises:
        DataError: the file is missing, or a set is missing or is no list of person IDs.
    """
    splits = read_json(path)
    for name in SETS:
        people = splits.get(name) if isinstance(splits, dict) else None
        if not isinstance(people, list) or not all(isinstance(person, str) for person in people):
            raise DataError(
                f"{path}: {name!r} is {people!r}; it must be a list of person IDs (text)"
            )
    return {name: splits[name] for name in SETS}


if __name__ == "__main__":
    run_stage(main, build_parser())
