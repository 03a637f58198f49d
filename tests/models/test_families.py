"""Every family by the same rules, on tiny models with real processors and unlike image sizes."""

import io
import json

import pytest
import torch
from PIL import Image
from transformers import GenerationConfig, LlavaConfig, PixtralVisionConfig
from transformers.models.smolvlm.processing_smolvlm import get_image_prompt_string

from parallax.errors import ModelError
from parallax.models import plain, shared
from parallax.models.batches import answer_logits, answer_nll, answer_tokens, collate
from parallax.models.encoding import Encoder
from parallax.models.families import FAMILIES
from parallax.models.generating import generate, score_answers
from parallax.models.loading import Loaded, load, save
from parallax.models.tuning import open_weights
from parallax.params import Lora

LORA = Lora(rank=2, alpha=4, dropout=0.0)


@pytest.fixture(scope="module", params=[*FAMILIES, "llava_interleave"])
def world(request, world_of):
    return world_of(request.param)


def image_of(world, portrait):
    return Image.open(io.BytesIO(world.portraits["portrait"][portrait]))


def ask_all(world):
    """Every question, with the portrait and with the name; the samples and what they are of."""
    asked = [
        (question.prompt, question.answer, portrait)
        for instance in world.instances
        for question, portrait in (
            (instance.image, world.encoder.rows[instance.person_id]),
            (instance.text, None),
        )
    ]
    return tuple(zip(*asked, strict=True))


def processed(world, prompt, portrait):
    """What the library's processor makes of a prompt with its image, by itself."""
    if portrait is None:
        return world.processor(text=[prompt], return_tensors="pt", **added(world, prompt))
    images = [image_of(world, portrait)]
    return world.processor(
        images=images, text=[prompt], return_tensors="pt", **added(world, prompt)
    )


def added(world, prompt):
    """As `apply_chat_template` of processors: special tokens once."""
    start = world.processor.tokenizer.bos_token
    return {"add_special_tokens": False} if start and prompt.startswith(start) else {}


def written(world, question, portrait):
    """The prompt before its image token is expanded: LLaVA-1.5's form, or the chat template's."""
    if not world.processor.chat_template:
        return f"USER: {'' if portrait is None else '<image>' + chr(10)}{question}\nASSISTANT:"
    shown = [] if portrait is None else [{"type": "image"}]
    turn = {"role": "user", "content": [*shown, {"type": "text", "text": question}]}
    return world.processor.apply_chat_template([turn], add_generation_prompt=True)


def test_tokens_are_those_of_the_processor_itself(world):
    questions, _, portraits = ask_all(world)
    prompts = world.encoder.encode_prompts(questions, portraits)
    for prompt, question, portrait in zip(prompts, questions, portraits, strict=True):
        expected = processed(world, written(world, question, portrait), portrait)["input_ids"]
        assert list(prompt.tokens) == expected[0].tolist()


def test_images_are_those_of_the_processor_itself(world):
    for portrait in range(4):
        expected = processed(world, written(world, "Who?", portrait), portrait)
        for name, values in world.encoder.images([portrait]).items():
            assert torch.equal(values, expected[name]), name


def test_images_of_unlike_sizes_stand_behind_one_another(world):
    names = world.encoder.images([0])
    together = world.encoder.images([2, 0, 1])
    assert set(together) == set(names)
    end = 0
    for portrait in (2, 0, 1):
        own = world.encoder.images([portrait])["pixel_values"]
        here = together["pixel_values"][end : end + len(own)]
        end += len(own)
        assert torch.equal(here[tuple(slice(size) for size in own.shape)], own)
        assert here.count_nonzero() == own.count_nonzero()
    assert end == len(together["pixel_values"])


def test_only_answers_and_the_end_token_are_in_the_loss(world):
    encoder = world.encoder
    for modality in ("image", "text"):
        samples = world.knowledge.side(modality)
        batch = collate(samples, encoder)
        for row, instance in enumerate(world.instances):
            seen = batch.input_ids[row][batch.answers[row]].tolist()
            assert len(seen) == samples[row].answer_length
            assert seen[-1] == encoder.end
            assert encoder.tokenizer.decode(seen[:-1]).strip() == instance.text.answer
            assert not {encoder.pad, encoder.image_token_id, encoder.end} & set(seen[:-1])
        assert not (batch.answers & (batch.attention_mask == 0)).any()
        assert (batch.input_ids == encoder.image_token_id).any() == (modality == "image")


def test_other_prompts_and_images_leave_the_targets_alone(world):
    encoder = world.encoder
    questions, answers, _ = ask_all(world)
    others = [f"{question} And why?" for question in questions]
    shown = [n % 4 for n in range(len(questions))]
    own, other = (
        collate(encoder.encode(asked, answers, portraits), encoder)
        for asked, portraits in ((questions, shown), (others, shown[::-1]))
    )
    assert not torch.equal(own.input_ids, other.input_ids)
    assert answer_tokens(own).tolist() == answer_tokens(other).tolist()


def test_loss_equals_the_librarys_loss_with_masked_labels(world):
    model = world.build_double()
    samples = [*world.knowledge.image, *world.knowledge.text]
    batch = collate(samples, world.encoder)
    labels = batch.input_ids.masked_fill(~batch.answers, -100)
    expected = model(labels=labels, **batch.inputs(model.dtype)).loss
    nll = answer_nll(answer_logits(model, batch), batch)
    assert (nll.total.sum() / nll.tokens.sum()).item() == pytest.approx(expected.item(), abs=1e-5)


def test_a_sequence_value_depends_on_nothing_else_in_the_batch(world):
    model = world.build_double()
    crowd = [*world.knowledge.text[2:5], *world.knowledge.image]
    together = answer_nll(answer_logits(model, batch := collate(crowd, world.encoder)), batch)
    for sample, total in zip(crowd, together.total.tolist(), strict=True):
        batch = collate([sample], world.encoder)
        alone = answer_nll(answer_logits(model, batch), batch).total.item()
        assert alone == pytest.approx(total, abs=1e-5)


@pytest.fixture(scope="module")
def spoken(world):
    questions, _, portraits = ask_all(world)
    model = world.build_double(2)
    prompts = world.encoder.encode_prompts(questions, portraits)
    return model, [generate(model, world.encoder, prompts, size, 6) for size in (1, 4)]


def test_answers_do_not_depend_on_the_batch(spoken):
    _, (one, four) = spoken
    assert one == four
    assert len(set(one)) > 4


def test_answers_equal_the_librarys_own_one_by_one(world, spoken):
    model, (texts, _) = spoken
    questions, _, portraits = ask_all(world)
    model.generation_config = GenerationConfig(
        do_sample=False, eos_token_id=sorted(world.encoder.ends), pad_token_id=world.encoder.pad
    )
    for row in range(6):
        prompt = written(world, questions[row], portraits[row])
        inputs = processed(world, prompt, portraits[row])
        if "pixel_values" in inputs:
            inputs["pixel_values"] = inputs["pixel_values"].double()
        new = model.generate(**inputs, max_new_tokens=6)[0, inputs["input_ids"].shape[1] :]
        text = world.processor.tokenizer.decode(new, skip_special_tokens=True).strip()
        assert text == texts[row]


def test_a_checkpoints_own_settings_do_not_change_an_answer(world, spoken):
    model, (texts, _) = spoken
    questions, _, portraits = ask_all(world)
    prompts = world.encoder.encode_prompts(questions[:3], portraits[:3])
    own = GenerationConfig(do_sample=True, repetition_penalty=9.0, min_new_tokens=5)
    model.generation_config = own
    assert generate(model, world.encoder, prompts, 4, 6) == texts[:3]
    assert model.generation_config is own


def test_scores_equal_those_of_single_sequences(world):
    model = world.build_double()
    samples = [*world.knowledge.image[:3], *world.knowledge.text[:3]]
    for sample, (logprob, count) in zip(
        samples, score_answers(model, world.encoder, samples, 4), strict=True
    ):
        (alone,) = score_answers(model, world.encoder, [sample], 1)
        batch = collate([sample], world.encoder)
        with torch.no_grad():
            logits = model(**batch.inputs(model.dtype)).logits[0].log_softmax(-1)
        places = range(sample.answer_start, len(sample.tokens))
        plain = sum(logits[t - 1, sample.tokens[t]].item() for t in places)
        assert count == alone[1] == len(places)
        assert logprob == pytest.approx(plain, rel=1e-5)
        assert alone[0] == pytest.approx(plain, rel=1e-5)


@pytest.fixture(scope="module")
def stepped(world, tmp_path_factory):
    """Two steps of LoRA: weights before, names of those that moved, and the adapted logits.

    The base, the adapter and the merged model are saved beside each other.
    """
    folder = tmp_path_factory.mktemp("stepped")
    loaded = Loaded(world.build(), world.processor)
    save(loaded, folder / "base")
    before = {name: weight.clone() for name, weight in loaded.model.state_dict().items()}
    tuned = open_weights(loaded, "lora", LORA, seed=0)
    opened = {name: w for name, w in loaded.model.named_parameters() if w.requires_grad}
    optimizer = torch.optim.SGD(opened.values(), lr=0.3)
    batch = collate([*world.knowledge.image[:4], *world.knowledge.text[:4]], world.encoder)
    for _ in range(2):  # B is 0 at first, so A moves from the second step on.
        optimizer.zero_grad()
        answer_nll(answer_logits(loaded.model, batch), batch).mean.mean().backward()
        optimizer.step()
    with torch.no_grad():
        adapted = answer_logits(loaded.model, batch)
    tuned.save("adapter", folder / "base", folder / "adapter")
    tuned.save("merged", folder / "base", folder / "merged")
    return folder, before, set(opened), batch, adapted


def test_lora_opens_the_language_models_projections_alone(stepped):
    _, _, opened, *_ = stepped
    # 2 layers of 7 projections with an A and a B each.
    assert len(opened) == 2 * 7 * 2
    assert not [name for name in opened if "vision" in name or "visual" in name]
    assert not [name for name in opened if "connector" in name or "projector" in name]


def test_lora_changes_the_language_models_projections_alone(stepped):
    folder, before, *_ = stepped
    after = load(folder / "merged").model.state_dict()
    assert set(after) == set(before)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert len(changed) == 2 * 7
    assert all("_proj.weight" in name and ".layers." in name for name in changed)
    assert not [name for name in changed if "vision" in name or "visual" in name]


def test_merged_model_and_adapter_come_back_as_trained(stepped):
    folder, _, _, batch, adapted = stepped
    merged, put_on = load(folder / "merged"), load(folder / "adapter")
    assert put_on.adapters is None
    weights = merged.model.state_dict()
    for name, weight in put_on.model.state_dict().items():
        assert torch.equal(weights[name], weight), name
    with torch.no_grad():
        one, other = (answer_logits(loaded.model, batch) for loaded in (merged, put_on))
    # Kernels may add up in another order where a tensor lies elsewhere in memory.
    assert torch.allclose(one, other, rtol=0, atol=1e-5)
    assert torch.allclose(one, adapted, rtol=0, atol=1e-4)


@pytest.mark.parametrize("form", ["merged", "adapter"])
def test_saved_processor_comes_back_as_it_was(world, stepped, form):
    loaded = load(stepped[0] / form)
    encoder = Encoder(loaded.processor, loaded.family, world.portraits)
    questions, answers, portraits = ask_all(world)
    samples = world.encoder.encode(questions, answers, portraits)
    assert encoder.encode(questions, answers, portraits) == samples
    for name, values in world.encoder.images(range(4)).items():
        assert torch.equal(encoder.images(range(4))[name], values)
    # The name by which the library finds the processor again.
    assert type(loaded.processor).__name__ == type(world.processor).__name__


def test_a_processor_as_it_is_published_is_read(world_of, tmp_path):
    world = world_of("qwen2_vl")
    save(Loaded(world.build(), world.processor), tmp_path / "model")
    whole = tmp_path / "model" / "processor_config.json"
    values = json.loads(whole.read_text())["image_processor"]
    values |= {
        "image_processor_type": "Qwen2VLImageProcessor",
        "processor_class": "Qwen2VLProcessor",
    }
    whole.with_name("preprocessor_config.json").write_text(json.dumps(values))
    template = whole.with_name("chat_template.jinja")
    whole.with_name("chat_template.json").write_text(
        json.dumps({"chat_template": template.read_text()})
    )
    whole.unlink()
    template.unlink()
    loaded = load(tmp_path / "model")
    encoder = Encoder(loaded.processor, loaded.family, world.portraits)
    assert encoder.encode_prompts(["Who?"], [1]) == world.encoder.encode_prompts(["Who?"], [1])


def test_a_processor_that_cannot_count_image_tokens_is_refused(world_of, monkeypatch):
    world = world_of("llava")
    monkeypatch.setattr(world.processor, "patch_size", None)
    with pytest.raises(ModelError, match="patch_size"):
        Encoder(world.processor, world.encoder.family, world.portraits)


@pytest.fixture
def llava(world_of, tiny_models, monkeypatch):
    """LLaVA-1.5 with the chat template that its checkpoint ships."""
    world = world_of("llava")
    monkeypatch.setattr(world.processor, "chat_template", tiny_models.LLAVA_TEMPLATE)
    return world


def test_llava_s_own_template_stands_for_its_form(llava):
    encoder = Encoder(llava.processor, llava.encoder.family, llava.portraits)
    assert written(llava, "Who?", 0) == "USER: <image>\nWho? ASSISTANT:"
    questions, answers, portraits = ask_all(llava)
    samples = encoder.encode(questions, answers, portraits)
    assert samples == llava.encoder.encode(questions, answers, portraits)
    assert encoder.prompt("Who?", None) == "USER: Who?\nASSISTANT:"


def test_a_template_of_the_tokenizer_alone_is_refused(llava, tiny_models, monkeypatch):
    monkeypatch.setattr(llava.processor, "chat_template", None)
    monkeypatch.setattr(llava.processor.tokenizer, "chat_template", tiny_models.CHAT_TEMPLATE)
    with pytest.raises(ModelError, match="the processor has none: put the model's chat_template"):
        Encoder(llava.processor, llava.encoder.family, llava.portraits)


def test_a_tower_that_needs_the_images_sizes_is_refused(llava, tmp_path):
    tower = PixtralVisionConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    save(Loaded(llava.build(), llava.processor), tmp_path / "model")
    LlavaConfig(vision_config=tower, text_config=llava.config.text_config).save_pretrained(
        tmp_path / "model"
    )
    with pytest.raises(ModelError, match=r"model.*'pixtral' needs the images' sizes"):
        load(tmp_path / "model")


def build_with(world, vision):
    config = LlavaConfig(**(world.config.to_dict() | {"vision_config": vision}))
    return world.models.build_model(config)


def test_beginnings_are_shared_for_towers_of_pixels_and_llava_s_form_alone(
    world_of, tiny_models, monkeypatch
):
    llava, interleave = world_of("llava"), world_of("llava_interleave")
    used = []
    monkeypatch.setattr(plain, "generate", lambda *_: used.append("plain"))
    monkeypatch.setattr(shared, "generate", lambda *_: used.append("shared"))
    tower = {"model_type": "dinov2"} | tiny_models.TOWER
    for model, world in (
        (llava.build(), llava),
        (build_with(llava, interleave.config.vision_config), llava),
        (build_with(llava, tower), llava),
        (interleave.build(), interleave),
    ):
        generate(model, world.encoder, [], 1, 1)
    assert used == ["shared", "shared", "plain", "plain"]


def test_smolvlm_writes_what_the_librarys_own_processor_writes(world_of):
    # Its class can't be made without torchvision and num2words; its function for an image can.
    processor = world_of("smolvlm").processor
    for rows, columns in ((0, 0), (1, 2), (2, 2)):
        made = processor.replace_image_token({"rows": [[rows]], "cols": [[columns]]}, 0)
        assert made == get_image_prompt_string(
            rows, columns, 1, "<fake_token_around_image>", "<image>", "<global-img>"
        )


def test_a_processor_without_a_chat_template_is_refused(world_of, monkeypatch):
    world = world_of("qwen2_vl")
    monkeypatch.setattr(world.processor, "chat_template", None)
    with pytest.raises(ModelError, match="no chat template"):
        Encoder(world.processor, world.encoder.family, world.portraits)


def test_a_template_that_prints_today_is_refused(world_of, tiny_models, monkeypatch):
    world = world_of("qwen2_vl")
    today = "{{ strftime_now('%d %b %Y') }}" + tiny_models.QWEN_TEMPLATE
    monkeypatch.setattr(world.processor, "chat_template", today)
    with pytest.raises(ModelError, match="prints today's date"):
        Encoder(world.processor, world.encoder.family, world.portraits)


def test_a_template_whose_date_can_be_given_has_one_date(world_of, tiny_models, monkeypatch):
    world = world_of("qwen2_vl")
    # As Llama 3.2 Vision and others have it.
    dated = (
        "{% if not date_string is defined %}{% set date_string = strftime_now('%d %b %Y') %}"
        "{% endif %}{{ date_string }} "
    )
    monkeypatch.setattr(world.processor, "chat_template", dated + tiny_models.QWEN_TEMPLATE)
    encoder = Encoder(world.processor, world.encoder.family, world.portraits)
    assert encoder.prompt("Who?", None).startswith("01 Jan 2026 <|im_start|>system")


def test_a_template_that_writes_no_answer_is_refused(world_of, monkeypatch):
    world = world_of("qwen2_vl")
    monkeypatch.setattr(world.processor, "chat_template", "{{ messages[0]['role'] }}")
    with pytest.raises(ModelError, match="writes no answer"):
        Encoder(world.processor, world.encoder.family, world.portraits)


def test_what_a_template_writes_before_the_answer_belongs_to_the_prompt(world_of, monkeypatch):
    world = world_of("qwen2_vl")
    thinking = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n"
        "{% if m.role == 'assistant' %}<think></think>\n\n{% endif %}"
        "{{ m.content[0].text }}<|im_end|>{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    monkeypatch.setattr(world.processor, "chat_template", thinking)
    encoder = Encoder(world.processor, world.encoder.family, world.portraits)
    (sample,) = encoder.encode(["Who?"], ["Ana"], [None])
    text = encoder.tokenizer.decode(sample.tokens)
    assert text.endswith("<|im_start|>assistant\n<think></think>\n\nAna<|im_end|>")
    answer = encoder.tokenizer.decode(sample.tokens[sample.answer_start :])
    assert answer == "\n\nAna<|im_end|>"
