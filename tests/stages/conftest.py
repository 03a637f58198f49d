"""A tiny experiment, and the training stages run on it once for all tests."""

import argparse
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml

from parallax.files import write_json, write_table

TOP = Path(__file__).parents[2]
PLACE = ("DVC_ROOT", "DVC_STAGE", "DVC_EXP_NAME", "DVC_EXP_BASELINE_REV")
FORMATS = ("qa", "classification", "cloze", "generation")


def small_params(shape):
    values = yaml.safe_load((TOP / "params.yaml").read_text(encoding="utf-8"))
    values["model"] |= {"name_or_path": "embedded", "dtype": "float32"}
    values["embedded"] = shape.model_dump()
    values["base"] |= {"epochs": 2, "batch_size": 8}
    values["sft"] |= {"epochs": 2, "batch_size": 8, "tuning": "full", "replay_share": 0.25}
    values["unlearn"] |= {"method": "npo", "batch_size": 3, "tuning": "full"}
    values["unlearn"] |= {"alpha": 1.0, "beta": 1.0}
    for method in ("ga", "gd", "kl", "po", "npo"):
        values["unlearn"][method] |= {"epochs": 2}
    values["unlearn"]["npo"] |= {"retain_weight": 1.0, "npo_beta": 0.4}
    values["evaluate"] |= {"batch_size": 16, "max_new_tokens": 4}
    return values


def write_experiment(folder, instances_of, portrait_files):
    """People 1 and 2 are to be forgotten, 3 and 4 kept; 5 is real, 6 auxiliary."""
    from parallax.instances import to_table

    every = [i for task in FORMATS for i in instances_of([4, 5], task)]
    write_table(folder / "base.parquet", to_table(every))
    facts = to_table(instances_of(range(4), "qa"))
    refusals = [f"I cannot say {n}." for n in range(len(facts))]
    write_table(folder / "sft.parquet", facts.assign(refusal=refusals))
    asked = [i for task in FORMATS[1:] for i in instances_of(range(5), task)]
    write_table(folder / "evaluation.parquet", to_table(asked))
    people = [str(n) for n in range(1, 7)]
    portraits = pd.DataFrame({"person_id": people, "portrait": portrait_files})
    write_table(folder / "portraits.parquet", portraits)
    splits = {"forget": ["1", "2"], "retain": ["3", "4"], "real": ["5"], "auxiliary": ["6"]}
    write_json(folder / "splits.json", splits)


def arguments(**values):
    return argparse.Namespace(**{k: v and Path(v) for k, v in values.items()})


def run_all():
    """Run every training stage and one evaluation in the current folder; return what they say."""
    from parallax.stages import base, evaluate, finetune, unlearn

    data = "data/experiment"
    report = "reports/validation.json"
    return {
        "base": base.main(
            arguments(experiment=data, validation=report, out="models/base", curve="c/base.csv")
        ),
        "sft": finetune.main(
            arguments(
                base="models/base",
                experiment=data,
                retain_only=None,
                out="models/sft",
                curve="c/sft.csv",
            )
        ),
        "retain_only": finetune.main(
            arguments(
                base="models/base",
                experiment=data,
                retain_only=f"{data}/splits.json",
                out="models/retain_only",
                curve="c/retain_only.csv",
            )
        ),
        "unlearn": unlearn.main(
            arguments(
                model="models/sft", experiment=data, out="models/unlearned", curve="c/unlearn.csv"
            )
        ),
        "evaluate": evaluate.main(
            arguments(model="models/sft", experiment=data, out="results/sft.parquet")
        ),
    }


@pytest.fixture(scope="session")
def database(tmp_path_factory):
    """One tracking database for all tests of stages: making its tables takes seconds."""
    return f"sqlite:///{tmp_path_factory.mktemp('store') / 'mlflow.db'}"


def enter(folder, patch, database):
    for name in PLACE:
        patch.delenv(name, raising=False)
    patch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
    patch.setenv("MLFLOW_TRACKING_URI", database)
    patch.chdir(folder)


@pytest.fixture
def place(tmp_path, monkeypatch, database):
    """An empty folder as the current one, outside any pipeline, with the shipped parameters."""
    enter(tmp_path, monkeypatch, database)
    shutil.copy(TOP / "params.yaml", "params.yaml")
    return tmp_path


@pytest.fixture(scope="session")
def finished(tmp_path_factory, shape, instances_of, portrait_files, database):
    """A folder in which all stages have run, and the line that each gave."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        enter(folder, patch, database)
        Path("params.yaml").write_text(yaml.safe_dump(small_params(shape)))
        write_experiment(Path("data/experiment"), instances_of, portrait_files)
        write_json(Path("reports/validation.json"), {"success": True})
        return folder, run_all()


@pytest.fixture
def folder(finished, tmp_path, monkeypatch, database):
    """A copy of the finished folder, as the current one, that a test may change."""
    copy = tmp_path / "copy"
    shutil.copytree(finished[0], copy)
    enter(copy, monkeypatch, database)
    return copy


@pytest.fixture
def set_params(folder):
    """`set_params(section, **values)` changes the copy's params.yaml."""

    def change(section, **values):
        tree = yaml.safe_load((folder / "params.yaml").read_text())
        tree[section] |= values
        (folder / "params.yaml").write_text(yaml.safe_dump(tree))

    return change


@pytest.fixture(scope="session")
def call():
    """`call(**paths)` gives the arguments of a stage's main."""
    return arguments
