"""Adapters as folders: what they weigh, what they belong to, and that they answer as trained."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from parallax.errors import ModelError
from parallax.files import digest
from parallax.models.batches import answer_logits, answer_nll, collate
from parallax.models.loading import Loaded, load, save
from parallax.models.tuning import open_weights
from parallax.models.weights import put_on
from parallax.params import Lora

LORA = Lora(rank=2, alpha=4, dropout=0.0)


def batch_of(tiny):
    return collate([*tiny.knowledge.image[:3], *tiny.knowledge.text[:3]], tiny.encoder)


def tune(loaded, tiny, seed=0, steps=2):
    """Open adapters and move them; the logits are those of the model that was trained."""
    opened = open_weights(loaded, "lora", LORA, seed)
    trained = [weight for weight in loaded.model.parameters() if weight.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.5)
    batch = batch_of(tiny)
    loaded.model.train()
    for _ in range(steps):
        optimizer.zero_grad()
        answer_nll(answer_logits(loaded.model, batch), batch).mean.mean().backward()
        optimizer.step()
    loaded.model.eval()
    with torch.no_grad():
        return opened, answer_logits(loaded.model, batch)


def logits_of(loaded, tiny):
    with torch.no_grad():
        return answer_logits(loaded.model, batch_of(tiny))


@pytest.fixture
def base(tmp_path, tiny, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(Loaded(tiny.build(), tiny.processor), Path("base"))
    return Path("base")


@pytest.fixture
def adapter(base, tiny):
    opened, _ = tune(load(base), tiny)
    opened.save("adapter", base, Path("adapter"))
    return Path("adapter")


def test_an_adapter_lies_beside_its_processor_and_names_its_base(adapter, base):
    names = {path.name for path in adapter.iterdir()}
    assert names == {
        *("adapter_config.json", "adapter_model.safetensors", "base.json"),
        *("processor_config.json", "tokenizer.json", "tokenizer_config.json"),
    }
    config = json.loads((adapter / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "base"
    assert json.loads((adapter / "base.json").read_text()) == {"md5": digest(base)}
    # 14 projections with A (2 x in) and B (out x 2): 8 of 32 x 32, 6 of 32 x 128.
    values = (adapter / "adapter_model.safetensors").stat().st_size / 4
    assert values > 8 * 2 * 64 + 6 * 2 * 160


def test_an_adapter_and_the_merged_model_come_back_alike(base, tiny):
    opened, trained = tune(load(base), tiny)
    opened.save("adapter", base, Path("adapter"))
    opened.save("merged", base, Path("merged"))
    one, other = load("adapter"), load("merged")
    assert one.adapters is None
    weights = other.model.state_dict()
    assert set(one.model.state_dict()) == set(weights)
    for name, weight in one.model.state_dict().items():
        assert torch.equal(weight, weights[name]), name
    assert torch.allclose(logits_of(one, tiny), logits_of(other, tiny), atol=1e-6)
    assert torch.allclose(logits_of(one, tiny), trained, atol=1e-5)
    assert not torch.allclose(logits_of(load(base), tiny), trained, atol=1e-2)


def test_an_adapter_on_an_adapter_comes_back_as_trained(adapter, tiny):
    opened, trained = tune(load(adapter), tiny, seed=1)
    opened.save("adapter", adapter, Path("second"))
    assert torch.allclose(logits_of(load("second"), tiny), trained, atol=1e-5)


def test_saved_twice_has_the_same_bytes(base, tiny):
    for name in ("one", "two"):
        opened, _ = tune(load(base), tiny)
        opened.save("adapter", base, Path(name))
    assert digest(Path("one")) == digest(Path("two"))


def test_the_library_reads_it_too(adapter, base, tiny):
    from peft import PeftModel

    whole = PeftModel.from_pretrained(load(base).model, str(adapter)).merge_and_unload()
    own = load(adapter).model.state_dict()
    for name, weight in whole.state_dict().items():
        assert torch.equal(own[name], weight), name


def test_an_adapter_without_its_base_is_refused(adapter, base):
    shutil.rmtree(base)
    with pytest.raises(ModelError, match="its base 'base' is missing; bring it back") as caught:
        load(adapter)
    assert "\n" not in str(caught.value)


def test_an_adapter_on_another_base_is_refused(adapter, base, tiny):
    save(Loaded(tiny.build(seed=5), tiny.processor), base)
    with pytest.raises(ModelError, match="'base' is another one than it was trained on"):
        load(adapter)


def test_a_foreign_adapter_needs_no_digest_and_no_processor(adapter, tiny):
    expected = logits_of(load(adapter), tiny)
    for name in ("base.json", "processor_config.json", "tokenizer.json", "tokenizer_config.json"):
        (adapter / name).unlink()
    loaded = load(adapter)
    assert torch.equal(logits_of(loaded, tiny), expected)
    assert loaded.processor.image_token == "<image>"


def test_a_foreign_adapter_whose_base_cannot_be_had_is_refused(adapter, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    change_config(adapter, base_model_name_or_path="no-one/no-such")
    (adapter / "base.json").unlink()
    with pytest.raises(ModelError, match=r"adapter 'adapter': its base can't be loaded: .*no-such"):
        load(adapter)


def change_config(adapter, **values):
    path = adapter / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_an_adapter_that_names_no_base_is_refused(adapter):
    change_config(adapter, base_model_name_or_path=None)
    with pytest.raises(ModelError, match="names no base"):
        load(adapter)


def test_an_adapter_of_another_shape_is_refused(adapter):
    change_config(adapter, r=3)
    with pytest.raises(ModelError, match="'adapter' doesn't fit its base") as caught:
        load(adapter)
    assert "\n" not in str(caught.value)


def rename_weights(folder, change):
    """Write an adapter's weights under other names: `change(name)`, or None to leave one out."""
    path = folder / "adapter_model.safetensors"
    weights = {change(name): weight for name, weight in load_file(path).items()}
    weights.pop(None, None)
    save_file(weights, path)


FIRST = "base_model.model.model.language_model.layers.0.mlp.down_proj.lora_A.weight"


def test_an_adapter_of_other_names_is_refused(adapter):
    rename_weights(adapter, lambda name: name.replace("language_model.", "text_model."))
    with pytest.raises(ModelError, match="adapter 'adapter' doesn't fit its base: its file lacks"):
        load(adapter)


def test_an_adapter_that_lacks_a_weight_is_refused(adapter, tiny):
    rename_weights(adapter, lambda name: None if name == FIRST else name)
    with pytest.raises(ModelError, match=f"lacks '{FIRST}' and 0 more weights") as caught:
        load(adapter)
    assert "\n" not in str(caught.value)


def test_an_adapter_with_more_weights_than_places_is_refused(adapter):
    targets = r".*language_model.*\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj)"
    change_config(adapter, target_modules=targets)
    with pytest.raises(ModelError, match=f"has no place for '{FIRST}' and 3 more weights"):
        load(adapter)


def test_a_second_adapter_that_lacks_a_weight_is_refused(adapter, tiny):
    below = put_on(tiny.build(), None, adapter, merge=False)
    rename_weights(adapter, lambda name: None if name == FIRST else name)
    with pytest.raises(ModelError, match=f"lacks '{FIRST}' and 0 more weights"):
        put_on(below.get_base_model(), below, adapter, merge=False)


def test_a_model_without_known_projections_is_refused(tiny):
    model = tiny.build()
    model.model.language_model.layers = torch.nn.ModuleList()
    with pytest.raises(ModelError, match="has no q_proj, k_proj, v_proj, o_proj, gate_proj"):
        open_weights(Loaded(model, tiny.processor), "lora", LORA, seed=0)


@pytest.fixture
def wide(tmp_path, world_of, monkeypatch):
    """A model wide enough for four bits: they come in blocks of 64."""
    monkeypatch.chdir(tmp_path)
    world = world_of("llava")
    text = world.config.to_dict()["text_config"] | {"num_key_value_heads": 4}
    text |= {"hidden_size": 64, "head_dim": 16}
    config = type(world.config)(**(world.config.to_dict() | {"text_config": text}))
    model = world.models.build_model(config)
    save(Loaded(model, world.processor), Path("base"))
    return world


@pytest.mark.parametrize("quantization", ["int8", "int4"])
def test_quantized_weights_keep_adapters_beside_them(wide, quantization):
    bitsandbytes = pytest.importorskip("bitsandbytes", reason="needs bitsandbytes")
    if quantization == "int4" and not torch.cuda.is_available():
        pytest.skip("four bits need a GPU")
    plain, loaded = load("base"), load("base", quantization=quantization)
    kinds = {"int8": bitsandbytes.nn.Linear8bitLt, "int4": bitsandbytes.nn.Linear4bit}
    small = {n for n, m in loaded.model.named_modules() if isinstance(m, kinds[quantization])}
    # 7 projections in each of 2 layers; the vision tower, projector and output stay as they are.
    assert len(small) == 14
    assert all("language_model" in name for name in small)
    difference = (logits_of(loaded, wide) - logits_of(plain, wide)).abs().mean()
    assert 0 < difference < 1
    opened, first = tune(loaded, wide)
    opened.save("adapter", Path("base"), Path("first"))
    below = load("first", quantization=quantization)
    assert list(below.adapters.peft_config) == ["loaded0"]
    assert torch.allclose(logits_of(below, wide), first, atol=1e-4)
    opened, second = tune(below, wide, seed=1)
    trained = {name for name, weight in below.model.named_parameters() if weight.requires_grad}
    assert len(trained) == 28
    assert all(".default." in name for name in trained)
    opened.save("adapter", Path("first"), Path("second"))
    again = load("second", quantization=quantization)
    assert list(again.adapters.peft_config) == ["loaded0", "loaded1"]
    assert torch.allclose(logits_of(again, wide), second, atol=1e-4)
    assert not torch.allclose(second, first, atol=1e-2)
