"""A causal language model without images, from fine-tuning to the report."""

import importlib.util
import json
import logging
import shutil
from pathlib import Path

import mlflow
import pandas as pd
import pytest

from parallax.errors import ModelError
from parallax.files import read_json, read_table
from parallax.instances import from_table
from parallax.models.embedded import vocabulary_texts
from parallax.report.html import render_page
from parallax.report.inputs import read_inputs
from parallax.report.plots import write_plots
from parallax.report.unlearning import build_sections
from parallax.stages import base, evaluate, finetune, score, unlearn

DATA = "data/experiment"
TOP = Path(__file__).parents[2]
MODELS = ("base", "sft", "retain_only", "unlearned")


@pytest.fixture
def text_folder(folder, set_params, tiny_models):
    """The finished experiment, with a tiny Llama in the place of the embedded model."""
    instances = from_table(read_table(Path(DATA) / "sft.parquet"))
    config, tokenizer = tiny_models.llama(vocabulary_texts(instances), tiny_models.CHAT_TEMPLATE)
    tiny_models.build_text_model(config).save_pretrained("llama")
    tokenizer.save_pretrained("llama")
    set_params("model", name_or_path="llama")
    for name in ("models", "results", "c"):
        shutil.rmtree(name)
    return folder


def tune(call, name, splits=None):
    finetune.main(
        call(
            base="models/base",
            experiment=DATA,
            retain_only=splits,
            out=f"models/{name}",
            curve=f"c/{name}.csv",
        )
    )


def forget(call):
    return unlearn.main(
        call(model="models/sft", experiment=DATA, out="models/unlearned", curve="c/unlearn.csv")
    )


def run(call):
    base.main(
        call(
            experiment=DATA,
            validation="reports/validation.json",
            out="models/base",
            curve="c/base.csv",
        )
    )
    tune(call, "sft")
    tune(call, "retain_only", f"{DATA}/splits.json")
    said = forget(call)
    for name in MODELS:
        evaluate.main(call(model=f"models/{name}", experiment=DATA, out=f"results/{name}.parquet"))
    Path("refusals.txt").write_text("I don't know.\n")
    outputs = [f"{name}=results/{name}.parquet" for name in MODELS]
    arguments = ["--splits", f"{DATA}/splits.json", "--refusals", "refusals.txt", "--outputs"]
    arguments += [*outputs, "--scored", "results/scored.parquet", "--metrics", "metrics.json"]
    score.main(score.build_parser().parse_args(arguments))
    return said


def test_the_stages_say_text_only_and_leave_image_figures_undefined(text_folder, call, caplog):
    with caplog.at_level(logging.WARNING):
        said = run(call)
    messages = [r.getMessage() for r in caplog.records if "text only" in r.getMessage()]
    assert messages == ["text only: the model takes no images; alpha 1 counts as 0"]
    assert "alpha 0, beta 1" in said
    curve = pd.read_csv("c/unlearn.csv")
    assert curve["forget_image"].isna().all()
    assert curve["forget_text"].notna().all()
    assert set(read_table(Path("results/unlearned.parquet"))["modality"]) == {"text"}
    runs = mlflow.search_runs(
        search_all_experiments=True, filter_string="params.text_only LIKE 'text only%'"
    )
    assert set(runs["params.alpha"]) == {"0"}
    check_metrics(read_json(Path("metrics.json")))
    check_report(text_folder)


def check_metrics(metrics):
    accuracy = metrics["unlearned"]["forget"]["accuracy"]
    for name in ("acc_mul", "acc_all", "acc_any", "acc_F", "modality_gap"):
        assert accuracy[name] is None, name
    assert accuracy["n_mul"] == 0
    assert accuracy["n"] == 8  # 2 people, 2 facts, classification and cloze
    assert 0 <= accuracy["acc_uni"] <= 1
    overlap = metrics["unlearned"]["forget"]["generation"]
    assert overlap["RL_F"] is None
    assert overlap["rl_mul"] is None
    assert 0 <= overlap["rl_uni"] <= 1
    assert metrics["delta"]["accuracy"]["dAcc_F"] is None


def check_report(folder):
    from parallax.params import load_params

    spec = importlib.util.spec_from_file_location("sample", TOP / "tests/report/sample.py")
    sample = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sample)
    paths = sample.write_run(folder / "shown")  # checks and names; the rest is this run's
    shutil.copy("metrics.json", paths["metrics"])
    shutil.copy("results/scored.parquet", paths["scored"])
    shutil.copy(f"{DATA}/portraits.parquet", paths["experiment"] / "portraits.parquet")
    shutil.copy("c/unlearn.csv", paths["curves"] / "unlearn.csv")
    origin = json.loads(paths["provenance"].read_text())
    origin["names"] = {"fictitious": {str(n): f"Person {n}" for n in range(1, 7)}}
    paths["provenance"].write_text(json.dumps(origin))
    inputs = read_inputs(**paths)
    assert inputs.modalities == ("text",)
    page = render_page("Report", build_sections(inputs, load_params()))
    assert "Text only" in page
    assert "takes no images" in page
    assert "nan" not in page.lower().replace("finance", "")
    write_plots(folder / "plots", inputs.scores, inputs.curves)
    assert not (folder / "plots/modality_plane.png").exists()
    assert (folder / "plots/unlearning_loss.png").exists()


def test_no_weight_on_text_is_refused(text_folder, call, set_params):
    set_params("unlearn", beta=0.0)
    base.main(
        call(
            experiment=DATA,
            validation="reports/validation.json",
            out="models/base",
            curve="c/base.csv",
        )
    )
    shutil.copytree("models/base", "models/sft")
    with pytest.raises(ModelError, match=r"unlearn\.beta 0: the model takes text alone"):
        forget(call)
