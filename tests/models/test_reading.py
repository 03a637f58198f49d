import pytest
import torch
from transformers import (
    CLIPVisionConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    MistralConfig,
)

from parallax.models import reading
from parallax.models.generating import generate
from parallax.models.reading import EMPTY, WASTE, Reader

SHARE_ALL, SHARE_NONE = 1, 10**9


@pytest.fixture
def double(tiny):
    return tiny.build_double()


@pytest.fixture(params=[SHARE_ALL, SHARE_NONE])
def worth(request, monkeypatch):
    monkeypatch.setattr(reading, "WORTH", request.param)
    return request.param


def prompts_of(tiny):
    """Two questions of each person, with the portrait and with the name."""
    questions = [q.prompt for i in tiny.instances for q in (i.image, i.text)]
    portraits = [p for i in tiny.instances for p in (tiny.encoder.rows[i.person_id], None)]
    return tiny.encoder.encode_prompts(questions, portraits)


def make_reader(tiny, model):
    reader = Reader(model, tiny.encoder)
    return reader, [reader.passage(prompt) for prompt in prompts_of(tiny)]


def states(tiny, model, sample):
    """The last layer's states (T, D) of a sequence that is read by itself and whole."""
    inputs = {"input_ids": torch.tensor([sample.tokens])}
    if sample.portrait is not None:
        inputs["pixel_values"] = tiny.pixels[[sample.portrait]].to(model.dtype)
    with torch.no_grad():
        return model.model(**inputs).last_hidden_state[0]


def test_neighbours_share_their_common_beginning():
    passages = [(1, 2, 3), (1, 2, 3, 4), (1, 2, 5), (6,), (7, 8)]
    assert reading._shared(passages) == [3, 3, 2, 0, 0]
    assert reading._shared([]) == []


def test_passes_hold_similar_lengths_and_a_bounded_number_of_tokens(monkeypatch):
    # .7 * 10 = 7: the 7 stands beside the 10s, the 6 does not; .7 * 7 = 4.9, so it may beside a 7.
    assert list(reading._passes([3, 10, 7, 6, 10])) == [[1, 4, 2], [3], [0]]
    monkeypatch.setattr(reading, "PASS_TOKENS", 20)
    assert list(reading._passes([3, 10, 7, 6, 10])) == [[1, 4], [2, 3], [0]]
    monkeypatch.setattr(reading, "PASS_TOKENS", 5)
    assert list(reading._passes([10, 10])) == [[0], [1]]
    assert list(reading._passes([])) == []


def test_a_passage_names_its_portrait_in_the_image_tokens(tiny, double):
    reader, _ = make_reader(tiny, double)
    shown, named = tiny.encoder.encode_prompts(["Who?", "Who?"], [3, None])
    assert reader.passage(named) == named.tokens
    passage = reader.passage(shown)
    image = tiny.encoder.tokenizer.convert_tokens_to_ids("<image>")
    assert passage.count(-4) == 4
    assert tuple(image if t == -4 else t for t in passage) == shown.tokens


def test_every_shared_beginning_is_read_once(tiny, double, monkeypatch):
    monkeypatch.setattr(reading, "WORTH", SHARE_ALL)
    reader, passages = make_reader(tiny, double)
    with torch.inference_mode():
        seen = reader.store([*passages, *passages[:3]])
    beginnings = {p[:end] for p in passages for end in range(1, len(p) + 1)}
    assert len(beginnings) < sum(map(len, passages))
    places = seen.unique()
    assert len(places[(places != EMPTY) & (places != WASTE)]) == len(beginnings)
    assert (seen != EMPTY).sum(1).tolist() == [len(p) for p in (*passages, *passages[:3])]


def test_a_small_saving_is_not_worth_a_pass(tiny, double, monkeypatch):
    monkeypatch.setattr(reading, "WORTH", SHARE_NONE)
    reader, passages = make_reader(tiny, double)
    with torch.inference_mode():
        seen = reader.store(passages)
    assert len(seen[seen != EMPTY].unique()) == sum(map(len, passages))


def test_the_vision_tower_sees_each_portrait_once(tiny, double, monkeypatch):
    monkeypatch.setattr(reading, "WORTH", SHARE_ALL)
    reader, passages = make_reader(tiny, double)
    seen = []
    double.model.vision_tower.register_forward_hook(
        lambda tower, args, kwargs, output: seen.append(len((*args, *kwargs.values())[0])),
        with_kwargs=True,
    )
    with torch.inference_mode():
        reader.store(passages)
    assert sum(seen) == 6


def test_storing_stops_short_of_what_it_does_not_need(tiny, double):
    reader, passages = make_reader(tiny, double)
    ran = []
    for n, layer in enumerate(double.model.language_model.layers):
        layer.mlp.register_forward_hook(lambda *_, n=n: ran.append(n))
    with torch.inference_mode():
        seen = reader.store(passages)
        assert set(ran) == {0}
        reader.step(torch.zeros(len(seen), dtype=torch.long), seen)
    assert set(ran) == {0, 1}


@pytest.mark.parametrize("tokens", [8, 1024])
def test_states_equal_those_of_the_whole_sequence(tiny, double, worth, monkeypatch, tokens):
    monkeypatch.setattr(reading, "PASS_TOKENS", tokens)
    reader, passages = make_reader(tiny, double)
    prompts = prompts_of(tiny)
    lengths = [1 + n % 4 for n in range(len(prompts))]
    parts = [(p[:-n], p[-n:]) for p, n in zip(passages, lengths, strict=True)]
    seen = set()
    with torch.inference_mode():
        reader.store([head for head, _ in parts])
        for rows, hidden in reader.read(parts):
            for row, own in zip(rows, hidden, strict=True):
                expected = states(tiny, double, prompts[row])[-lengths[row] :]
                assert torch.allclose(own[-lengths[row] :], expected, rtol=0, atol=1e-10)
                seen.add(row)
    assert seen == set(range(len(prompts)))


def test_steps_equal_the_whole_sequence_after_rows_have_left(tiny, double, worth):
    reader, passages = make_reader(tiny, double)
    prompts = prompts_of(tiny)
    kept = [5, 0, 9]
    with torch.inference_mode():
        seen = reader.store([p[:-2] for p in passages])
        before = len(seen.unique())
        seen = reader.keep(seen[kept])
        assert int(seen.max()) + 1 < before
        others = reader.store([passages[7]])
        assert int(others.max()) < before  # where dropped tokens stood
        for place in (-2, -1):
            tokens = torch.tensor([prompts[row].tokens[place] for row in kept])
            hidden, seen = reader.step(tokens, seen)
    assert not set(others.flatten().tolist()) & set(seen[seen != EMPTY].tolist())
    for row, own in zip(kept, hidden, strict=True):
        expected = states(tiny, double, prompts[row])[-1]
        assert torch.allclose(own, expected, rtol=0, atol=1e-10)


def build_other(tiny):
    """LLaVA-1.5's tower and selection of features, before a model with a sliding window."""
    tokenizer = tiny.processor.tokenizer
    vision = CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=16,
        patch_size=8,
    )
    language = MistralConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        sliding_window=12,
        initializer_range=0.2,
        pad_token_id=tiny.encoder.pad,
        eos_token_id=tiny.encoder.end,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=language,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-2,
        vision_feature_select_strategy="default",
    )
    torch.manual_seed(3)
    return LlavaForConditionalGeneration(config).double().eval()


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_another_tower_and_language_model_answer_as_one_by_one(tiny, worth, attention):
    model = build_other(tiny)
    model.set_attn_implementation(attention)
    prompts = prompts_of(tiny)
    expected = []
    for prompt in prompts:
        inputs = {"input_ids": torch.tensor([prompt.tokens])}
        if prompt.portrait is not None:
            inputs["pixel_values"] = tiny.pixels[[prompt.portrait]].double()
        new = model.generate(
            **inputs,
            attention_mask=torch.ones(1, len(prompt.tokens)),
            do_sample=False,
            max_new_tokens=8,
        )[0, len(prompt.tokens) :]
        expected.append(tiny.encoder.tokenizer.decode(new, skip_special_tokens=True).strip())
    assert len(set(expected)) > 6
    assert generate(model, tiny.encoder, prompts, 9, 8) == expected
