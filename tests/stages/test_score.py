"""The stage from outputs to metrics, on made-up outputs of four models."""

import json
import sys
from pathlib import Path

import pandas as pd
import pytest

from parallax.errors import DataError, ParamsError
from parallax.files import read_table, write_json, write_table
from parallax.records import MODELS
from parallax.stages.command import run_stage
from parallax.stages.score import build_parser, main, parse_outputs, read_sets
from parallax.umu.outputs import OUTPUT_COLUMNS, SCORED_COLUMNS

PARAMS = Path(__file__).parents[2] / "params.yaml"
SPLITS = {"forget": ["1"], "retain": ["2"], "real": ["501"]}
CITIES = ["Oslo", "Lyon", "Porto", "Turin"]
SENTENCE = "Builds wooden boats by the sea"

# What each model answers (image, text) to the person of each set; "sft" knows everyone.
ANSWERS = {
    "base": {"1": ("Turin", "Turin"), "2": ("Turin", "Turin"), "501": ("Lyon", "Lyon")},
    "sft": {"1": ("Lyon", "Lyon"), "2": ("Lyon", "Lyon"), "501": ("Lyon", "Lyon")},
    "retain_only": {"1": ("Oslo", "Oslo"), "2": ("Lyon", "Lyon"), "501": ("Lyon", "Lyon")},
    "unlearned": {
        "1": ("It is Lyon.", "I don't know."),
        "2": ("Lyon", "Oslo"),
        "501": ("B", "Lyon"),
    },
}


def outputs(model):
    rows = []
    for person, answers in ANSWERS[model].items():
        for modality, answer in zip(("image", "text"), answers, strict=True):
            cell = (person, modality)
            knows = "Lyon" in answer or answer == "B"
            described = f"{SENTENCE}." if knows else "Plays the flute"
            # The likelihood prefers Oslo, so that its matcher is told apart from the others.
            rows += [
                (cell, "classification", "birth_city", CITIES, "Lyon", answer, [-1.0, -2, -3, -4]),
                (cell, "cloze", "birth_city", [], "Lyon", answer, []),
                (cell, "generation", "interest", [], SENTENCE, described, []),
            ]
    return pd.DataFrame(
        [
            {
                "person_id": person,
                "task": task,
                "field": field,
                "modality": modality,
                "prompt": "Where was the person born?",
                "options": options,
                "reference": reference,
                "output": output,
                "option_logprobs": logprobs,
                "option_tokens": [2] * len(logprobs),
            }
            for (person, modality), task, field, options, reference, output, logprobs in rows
        ],
        columns=list(OUTPUT_COLUMNS),
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(PARAMS.read_text(encoding="utf-8"), encoding="utf-8")
    write_json(Path("splits.json"), SPLITS)
    Path("refusals.txt").write_text("I do not know.\n", encoding="utf-8")
    for model in MODELS:
        write_table(Path(f"{model}.parquet"), outputs(model))
    return tmp_path


def run(*arguments):
    return main(build_parser().parse_args(arguments))


def score(*arguments, models=MODELS, name="metrics.json"):
    files = [f"{model}={model}.parquet" for model in models]
    fixed = ["--splits", "splits.json", "--refusals", "refusals.txt", "--scored", "scored.parquet"]
    summary = run(*fixed, "--outputs", *files, "--metrics", name, *arguments)
    return summary, json.loads(Path(name).read_text(encoding="utf-8"))


def rescore(*arguments):
    run("--rescore", "scored.parquet", "--metrics", "again.json", *arguments)
    return json.loads(Path("again.json").read_text(encoding="utf-8"))


def test_outputs_become_a_scored_table_and_metrics(folder):
    summary, metrics = score()
    assert summary == (
        "score: 72 outputs of base, retain_only, sft, unlearned, compat default,"
        " matcher rapidfuzz -> metrics.json"
    )
    scored = read_table(Path("scored.parquet"))
    assert list(scored.columns) == list(SCORED_COLUMNS)
    assert len(scored) == 4 * 18
    assert dict(zip(scored["person_id"], scored["set"], strict=True)) == {
        "1": "forget",
        "2": "retain",
        "501": "real",
    }
    # Forget, unlearned: the image is right, the text refuses. ROUGE-L is 1 for the image; for the
    # text "Plays the flute" shares "the" alone: P 1/3, R 1/6, F 2/9. W = (1 + 4/81) / (11/9).
    forget = metrics["unlearned"]["forget"]
    assert forget["cloze"]["acc_mul"] == 1 and forget["cloze"]["acc_uni"] == 0
    assert forget["cloze"]["abstention_rate_mul"] == 0
    assert forget["cloze"]["abstention_rate_uni"] == 1
    assert forget["cloze"]["modality_gap"] == 1
    assert forget["generation"]["RL_F"] == round((1 + 4 / 81) / (11 / 9), 6)
    # Real, unlearned, image: "B" is the option in a classification and no "Lyon" in a cloze.
    assert metrics["unlearned"]["real"]["classification"]["acc_R"] == 1
    assert metrics["unlearned"]["real"]["cloze"]["acc_R"] == round(1 / 3, 6)
    # Before 1; after (1 + 0 + 1) / 3; never seen 0.
    assert metrics["delta"]["cloze"] == {
        "dAcc_F": round(1 / 3, 6),
        "retain_only_gap": round(2 / 3, 6),
    }


def test_rescoring_with_the_same_matcher_gives_the_same_metrics(folder):
    _, metrics = score()
    assert rescore() == metrics
    assert Path("again.json").read_bytes() == Path("metrics.json").read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        ["--compat", "official"],
        *(
            ["--compat", "default", "--matcher", name]
            for name in ("difflib", "exact", "likelihood")
        ),
    ],
)
def test_rescoring_needs_neither_params_nor_the_other_files(folder, options):
    _, metrics = score(*options)
    for path in folder.iterdir():
        if path.is_file() and path.name != "scored.parquet":
            path.unlink()
    assert rescore(*options) == metrics


def test_the_matcher_changes_what_it_should(folder):
    _, metrics = score()
    exact = rescore("--matcher", "exact")
    likely = rescore("--matcher", "likelihood")
    place = ("unlearned", "forget", "classification")

    def share(values, name):
        return values[place[0]][place[1]][place[2]][name]

    # "It is Lyon." is like the option and is not the option; the likelihood says Oslo.
    assert [share(values, "acc_mul") for values in (metrics, exact, likely)] == [1, 0, 0]
    for name in ("cloze", "generation"):
        assert exact["unlearned"]["forget"][name] == metrics["unlearned"]["forget"][name]
    assert share(exact, "abstention_rate_uni") == share(metrics, "abstention_rate_uni") == 1


def test_params_are_used_and_overridden(folder):
    text = PARAMS.read_text(encoding="utf-8")
    changed = text.replace("\n  matcher: null", "\n  matcher: likelihood")
    assert changed != text
    Path("params.yaml").write_text(changed, encoding="utf-8")
    summary, metrics = score()
    assert "matcher likelihood" in summary
    assert metrics["sft"]["real"]["classification"]["acc_mul"] == 0
    assert score("--matcher", "exact")[1]["sft"]["real"]["classification"]["acc_mul"] == 1


def test_official_is_one_switch(folder):
    _, default = score()
    official = rescore("--compat", "official")
    # Forget, unlearned, image: "It is Lyon." is not the option itself; real: difflib maps "B".
    assert default["unlearned"]["forget"]["classification"]["acc_mul"] == 1
    assert official["unlearned"]["forget"]["classification"]["acc_mul"] == 0
    assert default["unlearned"]["real"]["classification"]["acc_mul"] == 1
    # No option shares a letter with "B", so that the first, Oslo, is taken.
    assert official["unlearned"]["real"]["classification"]["acc_mul"] == 0
    text = PARAMS.read_text(encoding="utf-8").replace("compat: default", "compat: official")
    Path("params.yaml").write_text(text, encoding="utf-8")
    summary, metrics = score(name="official.json")
    assert "compat official, matcher exact" in summary
    assert metrics == official
    with pytest.raises(ParamsError, match="compat official has matcher exact, not difflib"):
        rescore("--matcher", "difflib")


def test_the_order_of_models_and_rows_does_not_change_a_byte(folder):
    score()
    first = [Path(name).read_bytes() for name in ("scored.parquet", "metrics.json")]
    for model in MODELS:
        write_table(Path(f"{model}.parquet"), outputs(model).iloc[::-1])
    score(models=MODELS[::-1])
    assert [Path(name).read_bytes() for name in ("scored.parquet", "metrics.json")] == first


def test_some_models_alone_can_be_scored(folder):
    _, metrics = score(models=["sft"])
    assert set(metrics) == {"sft", "delta"}
    assert metrics["delta"]["cloze"] == {"dAcc_F": None, "retain_only_gap": None}


def test_a_person_without_a_set_stops_the_stage(folder):
    write_json(Path("splits.json"), SPLITS | {"real": ["502"]})
    with pytest.raises(DataError, match=r"splits\.json: person 501 .* none of the sets"):
        score()
    assert not Path("metrics.json").exists() and not Path("scored.parquet").exists()


def test_a_missing_twin_stops_the_stage(folder):
    write_table(Path("sft.parquet"), outputs("sft").iloc[1:])
    with pytest.raises(DataError, match=r"sft: person 1 .*classification of birth_city, text"):
        score()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--metrics", "m.json"],
        ["--metrics", "m.json", "--splits", "splits.json"],
        ["--metrics", "m.json", "--rescore", "scored.parquet", "--splits", "splits.json"],
    ],
)
def test_a_command_line_of_neither_kind_is_refused(folder, arguments):
    with pytest.raises(ParamsError, match="--rescore without them"):
        run(*arguments)


@pytest.mark.parametrize("pair", ["sft", "gold=x.parquet", "sft=", "base=again.parquet"])
def test_outputs_name_each_model_once(pair):
    with pytest.raises(ParamsError, match="models are base, sft, retain_only, unlearned"):
        parse_outputs(["base=x.parquet", pair])


@pytest.mark.parametrize("splits", [[], {"forget": ["1"], "retain": ["2"]}, SPLITS | {"real": [3]}])
def test_sets_are_lists_of_ids(tmp_path, splits):
    write_json(tmp_path / "splits.json", splits)
    with pytest.raises(DataError, match="must be a list of person IDs"):
        read_sets(tmp_path / "splits.json")


def test_an_error_is_one_line_and_exit_code_1(folder, monkeypatch, capsys):
    arguments = ["--rescore", "none.parquet", "--metrics", "m.json"]
    monkeypatch.setattr(sys, "argv", ["score", *arguments])
    with pytest.raises(SystemExit) as exit_:
        run_stage(main, build_parser())
    assert exit_.value.code == 1
    error = capsys.readouterr().err
    assert error.startswith("error: none.parquet: no such file")
    assert error.count("\n") == 1
