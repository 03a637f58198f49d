import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from parallax.errors import ModelError
from parallax.models.batches import answer_logits, collate
from parallax.models.loading import (
    Loaded,
    load,
    load_params_model,
    outline,
    outline_again,
    save,
    set_attention,
)
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


def test_weights_that_are_not_all_there_are_refused(folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    # The output layer is tied to the embeddings, and in no file.
    assert "lm_head.weight" not in weights
    load(folder)
    del weights["language_model.model.norm.weight"]
    save_file(weights, path, {"format": "pt"})
    missing = "lack the weights 'model.language_model.norm.weight' and 0 more"
    assert missing in message_of(folder)


@pytest.mark.parametrize("name", ["processor_config.json", "tokenizer.json"])
def test_missing_processor(folder, name):
    (folder / name).unlink()
    assert str(folder) in message_of(folder)


def test_number_format_is_the_asked_one(folder):
    assert load(folder).model.dtype == torch.float32
    assert load_params_model(model_params(dtype="bfloat16"), folder).model.dtype == torch.bfloat16


def model_params(**values):
    shipped = {"name_or_path": "embedded", "revision": None, "dtype": "float32"}
    shipped |= {"attention": None, "gradient_checkpointing": False, "quantization": None}
    return Model(**(shipped | values))


@pytest.mark.parametrize(("asked", "used"), [(None, "sdpa"), ("sdpa", "sdpa"), ("eager", "eager")])
def test_attention_is_the_asked_one_in_every_part(folder, asked, used):
    model = load_params_model(model_params(attention=asked), folder).model
    for config in (model.config, model.config.text_config, model.config.vision_config):
        assert config._attn_implementation == used
    built = type(model)(model.config)
    set_attention(built, asked)
    assert built.config.text_config._attn_implementation == used


def test_attention_changes_no_answer(folder, tiny):
    batch = collate([*tiny.knowledge.image[:3], *tiny.knowledge.text[:3]], tiny.encoder)
    with torch.no_grad():
        one, other = (
            answer_logits(load(folder, attention=attention).model, batch)
            for attention in ("sdpa", "eager")
        )
    assert torch.allclose(one, other, atol=1e-5)


def test_a_missing_attention_package_is_named_with_the_mend(folder, tiny, monkeypatch):
    monkeypatch.setattr("transformers.utils.is_flash_attn_2_available", lambda: False)
    with pytest.raises(ModelError, match=r"flash-attn is not installed.*set attention to sdpa"):
        load(folder, "bfloat16", attention="flash_attention_2")
    with pytest.raises(ModelError, match="flash-attn is not installed"):
        set_attention(tiny.build(), "flash_attention_2")


@pytest.mark.parametrize("quantization", ["int8", "int4"])
def test_a_missing_quantization_package_is_named_with_the_mend(folder, monkeypatch, quantization):
    monkeypatch.setattr("transformers.utils.is_bitsandbytes_available", lambda: False)
    with pytest.raises(ModelError, match=rf"'{quantization}'.*pip install bitsandbytes.*null"):
        load(folder, quantization=quantization)


def test_four_bits_on_a_processor_are_refused(folder, monkeypatch):
    monkeypatch.setattr("transformers.utils.is_bitsandbytes_available", lambda: True)
    monkeypatch.setattr("parallax.models.loading.best_device", lambda: "cpu")
    with pytest.raises(ModelError, match="'int4' needs a GPU"):
        load(folder, quantization="int4")


def test_a_checkpoints_own_code_is_never_run(folder):
    (folder / "own.py").write_text("raise SystemExit('ran')")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Config"}}
    (folder / "config.json").write_text(json.dumps(config))
    assert "own" in message_of(folder)


def test_a_failed_save_leaves_the_old_folder(folder, tiny):
    class Broken:
        def save_pretrained(self, path):
            raise OSError("disk full")

    before = sorted(p.name for p in folder.iterdir())
    with pytest.raises(OSError, match="disk full"):
        save(Loaded(tiny.build(), Broken()), folder)
    assert sorted(p.name for p in folder.iterdir()) == before
    assert [p.name for p in folder.parent.iterdir()] == ["model"]


def test_an_outline_is_the_model_without_weights(folder, tiny):
    (folder / "model.safetensors").unlink()
    outlined = outline(folder)
    real = tiny.build()
    shapes = {name: weight.shape for name, weight in real.named_parameters()}
    assert {n: w.shape for n, w in outlined.model.named_parameters()} == shapes
    assert {w.device.type for w in outlined.model.parameters()} == {"meta"}
    assert outlined.family is Loaded(real, tiny.processor).family
    again = outline_again(outlined.model.config, "bfloat16", "flash_attention_2")
    assert again.dtype == torch.bfloat16
    # The configuration is left as it was.
    assert outlined.model.dtype == torch.float32


def test_an_outline_of_nothing_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"give a folder that holds config\.json and the proc"):
        outline(tmp_path / "nothing")
