"""Causal language models without a vision tower: asked, trained and saved in text alone."""

import copy
import json

import pandas as pd
import pytest
import torch
import transformers

from parallax.errors import ModelError
from parallax.models.answering import answer_questions
from parallax.models.batches import answer_logits, answer_nll, collate
from parallax.models.embedded import vocabulary_texts
from parallax.models.encoding import Encoder
from parallax.models.families import TEXT
from parallax.models.generating import generate
from parallax.models.loading import Loaded, load, save
from parallax.models.tuning import open_weights
from parallax.params import Lora
from parallax.training.knowledge import encode_knowledge
from parallax.training.supervised import Source, plan_batches

NOBODY = pd.DataFrame({"person_id": [], "portrait": []})
LORA = Lora(rank=2, alpha=4, dropout=0.0)


@pytest.fixture(scope="module")
def instances(instances_of):
    return instances_of(range(4), "qa")


@pytest.fixture(scope="module", params=["chat", "plain"])
def made(request, tiny_models, instances):
    template = tiny_models.CHAT_TEMPLATE if request.param == "chat" else None
    config, tokenizer = tiny_models.llama(vocabulary_texts(instances), template)
    model = tiny_models.build_text_model(config).double()
    return model, tokenizer, Encoder(tokenizer, TEXT, NOBODY)


def test_prompt_is_the_chat_template_s_or_the_plain_form(made):
    _, tokenizer, encoder = made
    expected = "USER: Who?\nASSISTANT:"
    if tokenizer.chat_template:
        expected = "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n"
    assert encoder.prompt("Who?", None) == expected
    assert encoder.modalities == ("text",)
    assert encoder.rows == {}


def test_tokens_are_those_of_the_tokenizer_itself(made):
    _, tokenizer, encoder = made
    (prompt,) = encoder.encode_prompts(["Who?"], [None])
    if tokenizer.chat_template:
        turns = [{"role": "user", "content": "Who?"}]
        made = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=True)
        assert list(prompt.tokens) == made["input_ids"]
    else:
        assert list(prompt.tokens) == tokenizer("USER: Who?\nASSISTANT:")["input_ids"]


def test_only_answers_and_the_end_token_are_in_the_loss(made, instances):
    model, tokenizer, encoder = made
    knowledge = encode_knowledge(encoder, instances)
    assert list(knowledge.image) == []
    assert len(knowledge) == len(instances)
    batch = collate(knowledge.text, encoder)
    assert batch.images == {}
    for row, instance in enumerate(instances):
        seen = batch.input_ids[row][batch.answers[row]].tolist()
        assert seen[-1] == encoder.end == tokenizer.eos_token_id
        assert tokenizer.decode(seen[:-1]).strip() == instance.text.answer
    labels = batch.input_ids.masked_fill(~batch.answers, -100)
    expected = model(labels=labels, **batch.inputs(model.dtype)).loss
    nll = answer_nll(answer_logits(model, batch), batch)
    assert (nll.total.sum() / nll.tokens.sum()).item() == pytest.approx(expected.item(), abs=1e-5)


def test_answers_do_not_depend_on_the_batch(made, instances):
    model, tokenizer, encoder = made
    prompts = encoder.encode_prompts([i.text.prompt for i in instances], [None] * len(instances))
    one, four = (generate(model, encoder, prompts, size, 6) for size in (1, 4))
    assert one == four
    for prompt, text in zip(prompts[:3], one, strict=False):
        new = model.generate(torch.tensor([prompt.tokens]), do_sample=False, max_new_tokens=6)
        own = tokenizer.decode(new[0, len(prompt.tokens) :], skip_special_tokens=True).strip()
        assert own == text


def test_text_questions_alone_are_asked(made, instances_of):
    model, _, encoder = made
    answers = answer_questions(model, encoder, instances_of([0], "classification"), 4, 3)
    assert answers["modality"].tolist() == ["text", "text"]
    assert all(len(scores) == 4 for scores in answers["option_logprobs"])


def test_all_training_samples_are_text(made, instances):
    _, _, encoder = made
    source = Source(encode_knowledge(encoder, instances), 1.0)
    samples, batches = plan_batches([source], 3, 4, image_share=0.6, seed=0)
    assert all(sample.portrait is None for sample in samples)
    # 3 epochs of 8 text questions.
    assert sum(map(len, batches)) == 24


def test_portraits_beside_text_questions_are_refused(made, instances):
    with pytest.raises(ModelError, match=r"sft\.text_path 'image': the model takes text alone"):
        encode_knowledge(made[2], instances, text_with_portrait=True)


def test_merged_model_and_adapter_come_back_as_trained(made, instances, tmp_path):
    _, tokenizer, encoder = made
    config = made[0].config
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config).eval()
    save(Loaded(model, tokenizer), tmp_path / "base")
    loaded = load(tmp_path / "base")
    assert loaded.family is TEXT
    batch = collate(encode_knowledge(encoder, instances).text, encoder)
    opened = open_weights(loaded, "lora", LORA, seed=0)
    trained = [w for w in loaded.model.parameters() if w.requires_grad]
    assert len(trained) == 2 * 7 * 2
    for _ in range(2):
        answer_nll(answer_logits(loaded.model, batch), batch).mean.mean().backward()
        with torch.no_grad():
            for weight in trained:
                weight -= 0.3 * weight.grad
                weight.grad = None
    with torch.no_grad():
        adapted = answer_logits(loaded.model, batch)
    opened.save("adapter", tmp_path / "base", tmp_path / "adapter")
    opened.save("merged", tmp_path / "base", tmp_path / "merged")
    for name in ("adapter", "merged"):
        again = load(tmp_path / name)
        with torch.no_grad():
            assert torch.allclose(answer_logits(again.model, batch), adapted, atol=1e-4)
        prompts = Encoder(again.processor, again.family, NOBODY).encode_prompts(["Who?"], [None])
        assert prompts == encoder.encode_prompts(["Who?"], [None])


def store(model, tokenizer, folder):
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_model_that_caps_its_logits_is_refused(made, tmp_path):
    config = transformers.Gemma2Config(
        vocab_size=len(made[1]),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        initializer_range=0.5,
        final_logit_softcapping=2.0,
    )
    folder = store(transformers.Gemma2ForCausalLM(config), made[1], tmp_path / "capped")
    with pytest.raises(ModelError, match="changes the output layer's logits"):
        load(folder)


def test_an_encoder_is_refused(made, tmp_path):
    folder = store(transformers.LlamaForCausalLM(made[0].config), made[1], tmp_path / "bert")
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ModelError, match=r"'bert' is not supported.*causal language models"):
        load(folder)


def test_a_template_that_prints_today_is_refused(made, monkeypatch):
    _, tokenizer, _ = made
    today = "{{ strftime_now('%d') }}{% for m in messages %}{{ m.content }}{% endfor %}"
    monkeypatch.setattr(tokenizer, "chat_template", today)
    with pytest.raises(ModelError, match="prints today's date"):
        Encoder(tokenizer, TEXT, NOBODY)


def test_padding_needs_no_token_of_its_own(made):
    tokenizer = copy.deepcopy(made[1])
    tokenizer.pad_token = None
    assert Encoder(tokenizer, TEXT, NOBODY).pad == tokenizer.eos_token_id
