import json

import pytest
import torch

from parallax.errors import ModelError
from parallax.models.loading import Loaded, load, load_params_model, save
from parallax.params import Model


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """No test asks the hub: a name that is no folder is then simply not there."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.fixture
def folder(tmp_path, tiny):
    save(Loaded(tiny.build(), tiny.processor), tmp_path / "model")
    return tmp_path / "model"


def message_of(*args):
    with pytest.raises(ModelError) as caught:
        load(*args)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_missing_folder_is_named_with_the_mend(tmp_path):
    message = message_of(tmp_path / "nothing")
    assert str(tmp_path / "nothing") in message
    assert "config.json" in message


def test_folder_without_configuration(tmp_path):
    assert str(tmp_path) in message_of(tmp_path)


def test_unreadable_configuration(folder):
    (folder / "config.json").write_text("{")
    assert str(folder) in message_of(folder)


def test_unsupported_type_names_the_supported_ones(folder):
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    message = message_of(folder)
    assert "'bert'" in message
    assert "llava" in message


def test_unknown_type(folder):
    (folder / "config.json").write_text(json.dumps({"model_type": "no-such-type"}))
    assert "no-such-type" in message_of(folder)


def test_missing_weights(folder):
    (folder / "model.safetensors").unlink()
    message = message_of(folder)
    assert str(folder) in message
    assert "safetensors" in message


def test_cut_weights(folder):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    assert str(folder) in message_of(folder)


@pytest.mark.parametrize("name", ["processor_config.json", "tokenizer.json"])
def test_missing_processor(folder, name):
    (folder / name).unlink()
    assert str(folder) in message_of(folder)


def test_number_format_is_the_asked_one(folder):
    params = Model(name_or_path="embedded", revision=None, dtype="bfloat16")
    assert load(folder).model.dtype == torch.float32
    assert load_params_model(params, folder).model.dtype == torch.bfloat16


def test_a_failed_save_leaves_the_old_folder(folder, tiny):
    class Broken:
        def save_pretrained(self, path):
            raise OSError("disk full")

    before = sorted(p.name for p in folder.iterdir())
    with pytest.raises(OSError, match="disk full"):
        save(Loaded(tiny.build(), Broken()), folder)
    assert sorted(p.name for p in folder.iterdir()) == before
    assert [p.name for p in folder.parent.iterdir()] == ["model"]
