import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from parallax.errors import ModelError
from parallax.framing.choosing import Decoding
from parallax.framing.items import Item
from parallax.framing.prompts import render
from parallax.framing.sampling import Request, sample
from parallax.framing.smollm2 import convert_gguf, find_smollm2
from parallax.framing.subjects import load_subject

ITEM = Item("x", "f", "t", "benign", "comply", "Say hello.", "Greet me.")


@pytest.fixture
def prompt(spec):
    return render(ITEM, 0, "no_frame", spec)


@pytest.fixture
def copy(tiny_folder, tmp_path):
    return shutil.copytree(tiny_folder, tmp_path / "copy")


def refuse(*args):
    with pytest.raises(ModelError) as caught:
        load_subject("s", *args)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_chat_rendering(tiny_subject, prompt):
    rendered = tiny_subject.render(prompt)
    assert rendered == "<|im_start|>user\nSay hello.<|im_end|>\n<|im_start|>assistant\n"
    tokens = tiny_subject.encode(rendered)
    # The template's role tokens are single tokens, and nothing is put around them.
    assert (tokens[0], tokens.count(0), tokens.count(1)) == (0, 2, 1)
    assert tiny_subject.decode(tokens) == rendered


def test_raw_rendering_is_the_prompt(tiny_folder, prompt):
    subject = load_subject("base", tiny_folder, "raw")
    assert subject.render(prompt) == "Say hello."


def test_ends_are_those_of_model_and_tokenizer(tiny_subject):
    assert tiny_subject.ends == {1}


def test_chat_wants_a_template(copy):
    (copy / "chat_template.jinja").unlink()
    assert "'raw'" in refuse(copy, "chat")
    assert load_subject("s", copy, "raw").rendering == "raw"


def test_template_that_prints_the_date(copy):
    (copy / "chat_template.jinja").write_text("{{ strftime_now('%d %b %Y') }}{{ messages }}")
    assert "date" in refuse(copy, "chat")


def test_template_whose_date_can_be_given(copy, prompt):
    template = "{% if not date_string %}{% set date_string = strftime_now('%d') %}{% endif %}"
    (copy / "chat_template.jinja").write_text(template + "{{ date_string }}")
    assert load_subject("s", copy, "chat").render(prompt) == "01 Jan 2026"


def test_missing_folder_is_named(tmp_path):
    assert str(tmp_path / "nothing") in refuse(tmp_path / "nothing", "raw")


def test_identity_tells_weights_template_and_number_format_apart(tiny_folder, copy):
    plain = load_subject("a", tiny_folder, "chat").identity
    assert load_subject("b", tiny_folder, "chat").identity == plain
    assert load_subject("a", tiny_folder, "raw").identity["template"] != plain["template"]
    assert (
        load_subject("a", tiny_folder, "chat", "bfloat16").identity["backend"] != (plain["backend"])
    )
    (copy / "generation_config.json").write_text(json.dumps({"eos_token_id": [1, 7]}))
    other = load_subject("a", copy, "chat")
    assert other.identity["weights"] != plain["weights"]
    assert other.ends == {1, 7}


@pytest.fixture
def adapters(copy, tmp_path):
    """A folder of adapters that turn the copy's first query projection, saved by PEFT itself."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    adapted = get_peft_model(
        AutoModelForCausalLM.from_pretrained(copy),
        LoraConfig(r=2, target_modules=r".*layers\.0\..*q_proj", init_lora_weights=False),
    )
    adapted.save_pretrained(tmp_path / "adapters")
    return tmp_path / "adapters", adapted.eval()


def test_adapters_are_merged_into_their_base(adapters, copy, prompt):
    folder, adapted = adapters
    subject = load_subject("s", folder, "chat")
    plain = load_subject("s", copy, "chat")
    assert not [name for name, _ in subject.model.named_parameters() if "lora" in name]
    tokens = torch.tensor([subject.encode(subject.render(prompt))])
    with torch.inference_mode():
        wanted, base = adapted(input_ids=tokens).logits, plain.model(input_ids=tokens).logits
        assert torch.allclose(subject.model(input_ids=tokens).logits, wanted, atol=1e-5)
    assert not torch.allclose(base, wanted, atol=1e-2)
    assert subject.ends == plain.ends
    assert subject.render(prompt) == plain.render(prompt)


def test_adapters_that_do_not_fit_are_refused(adapters):
    path = adapters[0] / "adapter_model.safetensors"
    weights = {name.replace("q_proj", "k_proj"): w for name, w in load_file(path).items()}
    save_file(weights, path)
    message = refuse(adapters[0], "chat")
    assert message.startswith("subject 's', model ")
    assert f"adapter '{adapters[0]}' doesn't fit its base: its file lacks" in message
    assert "layers.0.self_attn.q_proj.lora_A.weight" in message


def test_weights_that_are_not_all_there(copy):
    path, lost = copy / "model.safetensors", "model.norm.weight"
    weights = load_file(path)
    del weights[lost]
    save_file(weights, path, {"format": "pt"})
    assert f"'s', model '{copy}': its files lack the weights '{lost}'" in refuse(copy, "chat")


def test_identity_changes_with_adapters_and_with_their_base(adapters, copy):
    folder, _ = adapters

    def weights(source):
        return load_subject("s", source, "chat").identity["weights"]

    first, plain = weights(folder), weights(copy)
    assert first != plain
    settings = folder / "adapter_config.json"
    settings.write_text(settings.read_text().replace('"lora_alpha": 8', '"lora_alpha": 16'))
    second = weights(folder)
    (copy / "generation_config.json").write_text(json.dumps({"eos_token_id": [1, 7]}))
    assert len({plain, first, second, weights(folder)}) == 4


def test_adapters_without_their_base(adapters, copy):
    shutil.rmtree(copy)
    assert "base" in refuse(adapters[0], "chat")


@pytest.fixture(scope="session")
def smollm2(tmp_path_factory):
    folder = tmp_path_factory.mktemp("smollm2") / "model"
    convert_gguf(find_smollm2(), folder)
    return folder


def test_smollm2_is_the_packaged_model(smollm2):
    from gguf import GGUFReader
    from safetensors import safe_open

    tensors = {tensor.name: tensor for tensor in GGUFReader(find_smollm2()).tensors}
    with safe_open(smollm2 / "model.safetensors", "np") as file:
        norm = file.get_tensor("model.norm.weight")
    assert np.array_equal(norm, tensors["output_norm.weight"].data)
    for name in ("config.json", "tokenizer_config.json"):
        assert str(find_smollm2().parent) not in (smollm2 / name).read_text()


def test_smollm2_answers(smollm2, spec):
    subject = load_subject("smollm2", smollm2, "chat")
    question = Item("q", "f", "t", "benign", "comply", "What is the capital of France?", "Paris?")
    rendered = subject.render(render(question, 0, "no_frame", spec))
    assert rendered.endswith("<|im_end|>\n<|im_start|>assistant\n")
    requests = [Request(subject.encode(rendered), seed) for seed in range(2)]
    decoding = Decoding(temperature=0.1, max_new_tokens=10)
    draws = [draw for _, draw in sample(subject.model, requests, decoding, subject.ends, 2)]
    assert any("Paris" in subject.decode(draw.tokens) for draw in draws)


def test_broken_gguf(tmp_path):
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"x\.gguf"):
        convert_gguf(tmp_path / "x.gguf", tmp_path / "out")
    assert not (tmp_path / "out").exists()
