from pathlib import Path

import pandas as pd
import pytest
import safetensors.torch
import torch

from parallax.errors import DataError, ParamsError
from parallax.files import digest, read_json, write_json
from parallax.stages import unlearn
from parallax.training.loop import CURVE
from parallax.unlearn.objective import TERMS


def paths(call, **others):
    values = {
        "model": "models/sft",
        "experiment": "data/experiment",
        "out": "models/again",
        "curve": "c/again.csv",
    }
    return call(**(values | others))


def weights(folder):
    return safetensors.torch.load_file(Path(folder) / "model.safetensors")


def test_model_and_curve_are_written(finished):
    folder, said = finished
    curve = pd.read_csv(folder / "c/unlearn.csv")
    assert tuple(curve.columns) == (*CURVE, *TERMS)
    # 2 epochs over 4 facts in steps of 3: 2 steps each.
    assert curve["epoch"].tolist() == [0.5, 1.0, 1.5, 2.0]
    assert said["unlearn"].startswith("unlearn: npo, alpha 1, beta 1, 2 people, 4 steps -> ")
    # At the reference NPO is (2 / .4) ln 2 = 3.4657 in both modalities.
    assert curve["forget_image"][0] == pytest.approx(3.4657, abs=1e-3)
    assert curve["forget_text"][0] == pytest.approx(3.4657, abs=1e-3)
    own = curve["forget_image"] + curve["forget_text"]
    own += curve["retain_image"] + curve["retain_text"]
    assert curve["loss"].tolist() == pytest.approx(own.tolist())


@pytest.mark.parametrize("method", ["ga", "gd", "kl", "po", "npo"])
def test_every_method_runs_and_moves_the_model(folder, call, set_params, method):
    set_params("unlearn", method=method)
    said = unlearn.main(paths(call))
    assert said.startswith(f"unlearn: {method}, ")
    assert digest(Path("models/again/model.safetensors")) != digest(
        Path("models/sft/model.safetensors")
    )
    curve = pd.read_csv("c/again.csv")
    assert curve["retain_text"].isna().all() == (method == "ga")
    assert curve["forget_text"].notna().all()


def test_same_inputs_same_bytes(folder, call):
    unlearn.main(paths(call, out="again/unlearned"))
    assert digest(Path("again/unlearned")) == digest(Path("models/unlearned"))
    assert Path("c/again.csv").read_bytes() == Path("c/unlearn.csv").read_bytes()


@pytest.mark.parametrize(
    ("weights", "kept", "left_out"),
    [({"alpha": 0.0}, "text", "image"), ({"beta": 0.0}, "image", "text")],
)
def test_one_modality_alone(folder, call, set_params, weights, kept, left_out):
    set_params("unlearn", **weights)
    unlearn.main(paths(call))
    curve = pd.read_csv("c/again.csv")
    assert curve[f"forget_{kept}"].notna().all()
    assert curve[f"forget_{left_out}"].isna().all()
    assert curve[f"retain_{left_out}"].isna().all()


def test_text_alone_leaves_the_vision_tower_as_it_was(folder, call, set_params):
    set_params("unlearn", alpha=0.0)
    unlearn.main(paths(call))
    before, after = weights("models/sft"), weights("models/again")
    for name in before:
        if "vision_tower" in name or "projector" in name:
            assert torch.equal(before[name], after[name]), name


def test_po_learns_the_refusals_of_the_table(folder, call, set_params):
    set_params("unlearn", method="po")
    unlearn.main(paths(call))
    first = digest(Path("models/again/model.safetensors"))
    facts = pd.read_parquet("data/experiment/sft.parquet")
    facts["refusal"] = "No idea."
    facts.to_parquet("data/experiment/sft.parquet", index=False)
    unlearn.main(paths(call))
    assert digest(Path("models/again/model.safetensors")) != first


def test_other_methods_do_not_look_at_refusals(folder, call):
    facts = pd.read_parquet("data/experiment/sft.parquet")
    facts["refusal"] = "No idea."
    facts.to_parquet("data/experiment/sft.parquet", index=False)
    unlearn.main(paths(call))
    again = Path("models/again/model.safetensors")
    assert digest(again) == digest(Path("models/unlearned/model.safetensors"))


def test_lora_is_merged_and_changes_the_language_model_alone(folder, call, set_params):
    set_params("unlearn", tuning="lora", lora={"rank": 2, "alpha": 4, "dropout": 0.1})
    unlearn.main(paths(call))
    before, after = weights("models/sft"), weights("models/again")
    assert before.keys() == after.keys()
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved
    assert all("language_model" in name and "_proj" in name for name in moved)


def test_both_weights_zero_are_refused(folder, call, set_params):
    set_params("unlearn", alpha=0.0, beta=0.0)
    with pytest.raises(ParamsError, match="alpha and beta are both 0"):
        unlearn.main(paths(call))


@pytest.mark.parametrize("part", ["forget", "retain"])
def test_a_part_without_people_is_refused(folder, call, part):
    splits = read_json(Path("data/experiment/splits.json"))
    write_json(Path("data/experiment/splits.json"), splits | {part: []})
    with pytest.raises(DataError, match=part):
        unlearn.main(paths(call))
    assert not Path("models/again").exists()
