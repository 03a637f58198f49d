from pathlib import Path

import pandas as pd
import pytest
import safetensors.torch
import torch

from parallax.errors import DataError
from parallax.files import digest, read_json, write_json
from parallax.stages import finetune
from parallax.training.loop import CURVE


def paths(call, **others):
    values = {
        "base": "models/base",
        "experiment": "data/experiment",
        "retain_only": None,
        "out": "models/again",
        "curve": "c/again.csv",
    }
    return call(**(values | others))


def weights(folder):
    return safetensors.torch.load_file(Path(folder) / "model.safetensors")


def changed(one, two):
    first, second = weights(one), weights(two)
    assert first.keys() == second.keys()
    return {name for name in first if not torch.equal(first[name], second[name])}


def test_both_models_and_curves_are_written(finished):
    folder, said = finished
    for name, people in (("sft", 4), ("retain_only", 2)):
        curve = pd.read_csv(folder / f"c/{name}.csv")
        assert tuple(curve.columns) == CURVE
        assert said[name].startswith(f"{name}: {people} people, {len(curve)} steps, last loss ")
    # 2 epochs of 2 * 8 samples are .75 of all: 43 samples (32 and 11), 6 batches of 8.
    assert len(pd.read_csv(folder / "c/sft.csv")) == 6
    assert changed(folder / "models/sft", folder / "models/base")
    assert changed(folder / "models/sft", folder / "models/retain_only")


def test_same_inputs_same_bytes(folder, call):
    finetune.main(paths(call, out="again/sft"))
    assert digest(Path("again/sft")) == digest(Path("models/sft"))
    assert Path("c/again.csv").read_bytes() == Path("c/sft.csv").read_bytes()


def test_retain_only_never_sees_the_people_to_forget(folder, call):
    facts = pd.read_parquet("data/experiment/sft.parquet")
    gone = facts["person_id"].isin(["1", "2"])
    for column in ("image_answer", "text_answer"):
        facts.loc[gone, column] = "something else"
    facts.to_parquet("data/experiment/sft.parquet", index=False)
    splits = "data/experiment/splits.json"
    finetune.main(paths(call, out="again/retain_only", retain_only=splits))
    assert digest(Path("again/retain_only")) == digest(Path("models/retain_only"))


def test_lora_changes_the_language_model_alone_and_is_merged(folder, call, set_params):
    set_params("sft", tuning="lora", lora={"rank": 2, "alpha": 4, "dropout": 0.1})
    finetune.main(paths(call))
    moved = changed("models/again", "models/base")
    assert moved
    assert all("language_model" in name and "_proj" in name for name in moved)


def test_text_path_and_replay_change_the_training(folder, call, set_params):
    made = {digest(Path("models/sft/model.safetensors"))}
    set_params("sft", text_path="image")
    finetune.main(paths(call))
    made.add(digest(Path("models/again/model.safetensors")))
    set_params("sft", text_path="text", replay_share=0.0)
    finetune.main(paths(call))
    made.add(digest(Path("models/again/model.safetensors")))
    assert len(made) == 3
    # 2 epochs of 2 * 8 samples and no replay: 32 samples, 4 batches of 8.
    assert len(pd.read_csv("c/again.csv")) == 4


def test_a_killed_stage_goes_on_from_its_checkpoint(folder, call, monkeypatch):
    from parallax.training import checkpoint, loop

    monkeypatch.setattr(checkpoint, "COST_FACTOR", 0)
    monkeypatch.setattr(checkpoint.Checkpoints.__init__, "__defaults__", (0.0,))
    clip, calls = torch.nn.utils.clip_grad_norm_, []

    def die_at_the_fourth(*args):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return clip(*args)

    monkeypatch.setattr(loop.torch.nn.utils, "clip_grad_norm_", die_at_the_fourth)
    with pytest.raises(KeyboardInterrupt):
        finetune.main(paths(call, out="again/sft"))
    assert not Path("again/sft").exists()
    assert list(Path(".checkpoints").glob("sft-*/step-3/*.pt"))
    finetune.main(paths(call, out="again/sft"))
    assert len(calls) == 4 + 3  # 6 steps, of which 3 were done
    assert digest(Path("again/sft")) == digest(Path("models/sft"))
    assert Path("c/again.csv").read_bytes() == Path("c/sft.csv").read_bytes()
    assert not list(Path(".checkpoints").glob("sft-*"))


def test_missing_base_model_is_named(folder, call):
    with pytest.raises(DataError, match="no-such: no such file or folder"):
        finetune.main(paths(call, base="./no-such"))


def test_missing_table_is_named(folder, call):
    Path("data/experiment/sft.parquet").unlink()
    with pytest.raises(DataError, match=r"sft\.parquet.*no such file"):
        finetune.main(paths(call))


def test_splits_that_keep_nobody_are_refused(folder, call):
    splits = read_json(Path("data/experiment/splits.json"))
    write_json(Path("data/experiment/splits.json"), splits | {"retain": []})
    with pytest.raises(DataError, match="retain"):
        finetune.main(paths(call, retain_only="data/experiment/splits.json"))
