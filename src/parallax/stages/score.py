"""Score the models' outputs, or score a scored table again, and measure what was forgotten.

Score:   python -m parallax.stages.score --splits data/experiment/splits.json
             --refusals data/raw/refusals.txt --outputs base=results/base.parquet ...
             --scored results/scored.parquet --metrics metrics/unlearning.json
Rescore: python -m parallax.stages.score --rescore results/scored.parquet --matcher difflib
             --metrics out.json
"""

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from parallax.errors import DataError, ParamsError
from parallax.files import read_json, read_table, write_json, write_table
from parallax.params import Matcher, load_params
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
    parser.add_argument(
        "--matcher", choices=get_args(Matcher), help="in place of scoring.matcher of params.yaml"
    )
    parser.add_argument(
        "--first-sentence",
        action=argparse.BooleanOptionalAction,
        help="in place of scoring.first_sentence of params.yaml",
    )
    return parser


def main(args: argparse.Namespace) -> str:
    """Score or rescore, write the metrics, and say so.

    Raises:
        DataError: a file or one of its rows is not usable.
        ParamsError: the arguments fit neither command, or params.yaml is not usable.
    """
    from parallax.umu.metrics import measure

    matcher, first_sentence = _choose(args)
    inputs = (args.splits, args.refusals, args.outputs, args.scored)
    if bool(args.rescore) == any(inputs) or any(inputs) != all(inputs):
        raise ParamsError(
            "give --splits, --refusals, --outputs and --scored, or --rescore without them"
        )
    with hold(args.metrics):
        if args.rescore:
            scored = _rescore(args.rescore, matcher, first_sentence=first_sentence)
        else:
            scored = _score(args, matcher, first_sentence=first_sentence)
        metrics = measure(scored)
        write_json(args.metrics, metrics)
        if args.scored:
            write_table(args.scored, scored)
            settings = {"scoring": {"matcher": matcher, "first_sentence": first_sentence}}
            _record(args, settings, scored, metrics)
    models = ", ".join(dict.fromkeys(scored["model"]))
    return f"score: {len(scored)} outputs of {models} by {matcher} -> {args.metrics}"


def _record(
    args: argparse.Namespace,
    settings: Mapping[str, object],
    scored: "pd.DataFrame",
    metrics: Mapping[str, object],
) -> None:
    from parallax.tracking import flatten, input_digests, numbers, stage_run

    outputs = parse_outputs(args.outputs).values()
    digests = input_digests(str(path) for path in [args.splits, *outputs])
    with stage_run("score", flatten(settings), digests) as run:
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


def _choose(args: argparse.Namespace) -> tuple[Matcher, bool]:
    """Return matcher and first_sentence; params.yaml is read only for what was not given."""
    if args.matcher is not None and args.first_sentence is not None:
        return args.matcher, args.first_sentence
    params = load_params()
    return (
        params.scoring.matcher if args.matcher is None else args.matcher,
        params.scoring.first_sentence if args.first_sentence is None else args.first_sentence,
    )


def _score(args: argparse.Namespace, matcher: Matcher, *, first_sentence: bool) -> "pd.DataFrame":
    from parallax.umu.abstention import abstention_rule, read_refusals
    from parallax.umu.matchers import MATCHERS
    from parallax.umu.scoring import assign_sets, score_outputs, sort_scored

    sets = read_sets(args.splits)
    abstains = abstention_rule(read_refusals(args.refusals))
    tables = []
    for model, path in parse_outputs(args.outputs).items():
        outputs = read_table(path)
        table = score_outputs(
            outputs, MATCHERS[matcher], first_sentence=first_sentence, source=str(path)
        )
        table["model"] = model
        table["set"] = assign_sets(table["person_id"], sets, str(args.splits))
        table["abstained"] = table["output"].map(abstains)
        tables.append(table)
    return sort_scored(tables)


def _rescore(path: Path, matcher: Matcher, *, first_sentence: bool) -> "pd.DataFrame":
    from parallax.umu.matchers import MATCHERS
    from parallax.umu.scoring import check_scored, score_outputs, sort_scored

    scored = read_table(path)
    check_scored(scored, str(path))
    return sort_scored(
        score_outputs(
            outputs,
            MATCHERS[matcher],
            first_sentence=first_sentence,
            source=f"{path}, model {model}",
        )
        for model, outputs in scored.groupby("model")
    )


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
