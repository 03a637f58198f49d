import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from parallax.errors import ModelError
from parallax.models import portraits
from parallax.models.encoding import Encoder, Sample
from parallax.models.families import FAMILIES


def encoder_of(tiny):
    return Encoder(tiny.processor, FAMILIES["llava"], tiny.portraits)


def test_prompt_has_the_llava_form(tiny):
    # A side of 16 px in patches of 8 px: (16 / 8)^2 = 4 image tokens.
    shown = "USER: <image><image><image><image>\nWho?\nASSISTANT:"
    assert tiny.encoder.prompt("Who?", 0) == shown
    assert tiny.encoder.prompt("Who?", None) == "USER: Who?\nASSISTANT:"


def test_sample_is_prompt_then_answer_then_end(tiny):
    encoder = tiny.encoder
    (sample,) = encoder.encode(["Where was Ana Bela born?"], ["Lyon"], [None])
    decode = encoder.tokenizer.decode
    assert sample.tokens[0] == encoder.tokenizer.bos_token_id
    assert decode(sample.tokens[1 : sample.answer_start]) == (
        "USER: Where was Ana Bela born?\nASSISTANT:"
    )
    assert decode(sample.tokens[sample.answer_start : -1]) == " Lyon"
    assert sample.tokens[-1] == encoder.end
    assert sample.tokens.count(encoder.end) == 1
    assert sample.answer_length == len(sample.tokens) - sample.answer_start


def test_prompts_for_generation_are_the_prefix_of_training_samples(tiny):
    questions = [i.image.prompt for i in tiny.instances]
    answers = [i.image.answer for i in tiny.instances]
    portraits = [0, None] * 6
    samples = tiny.encoder.encode(questions, answers, portraits)
    prompts = tiny.encoder.encode_prompts(questions, portraits)
    for sample, prompt in zip(samples, prompts, strict=True):
        assert sample.tokens[: sample.answer_start] == prompt.tokens
        assert prompt.answer_length == 0
        assert prompt.portrait == sample.portrait


def test_image_tokens_stand_with_the_image_alone(tiny):
    image_token = tiny.encoder.tokenizer.convert_tokens_to_ids("<image>")
    assert {s.tokens.count(image_token) for s in tiny.knowledge.image} == {4}
    assert {s.tokens.count(image_token) for s in tiny.knowledge.text} == {0}


def test_image_tokens_equal_what_the_processor_itself_expands(tiny):
    from PIL import Image

    made = tiny.processor(
        images=Image.new("RGB", (24, 24)),
        text="USER: <image>\nWho?\nASSISTANT:",
        return_tensors="pt",
    )
    (prompt,) = tiny.encoder.encode_prompts(["Who?"], [0])
    assert made["input_ids"][0].tolist() == list(prompt.tokens)


def test_class_token_is_counted_as_the_processor_says(tiny, monkeypatch):
    # CLIP: 4 patches and a class token; "default" cuts the class token off again.
    monkeypatch.setattr(tiny.processor, "num_additional_image_tokens", 1)
    assert encoder_of(tiny).prompt("", 0).count("<image>") == 5
    monkeypatch.setattr(tiny.processor, "vision_feature_select_strategy", "default")
    assert encoder_of(tiny).prompt("", 0).count("<image>") == 4


def test_mismatched_lengths_are_refused(tiny):
    with pytest.raises(ValueError, match="zip"):
        tiny.encoder.encode(["Who?", "Where?"], ["a"], [None, None])
    with pytest.raises(ValueError, match="zip"):
        tiny.encoder.encode_prompts(["Who?"], [None, None])


def test_a_text_that_comes_again_is_tokenised_once(tiny, monkeypatch):
    encoder = encoder_of(tiny)
    given = []

    def tokenise(texts, **options):
        given.append(texts)
        return tiny.processor.tokenizer(texts, **options)

    monkeypatch.setattr(encoder, "tokenizer", tokenise)
    samples = encoder.encode(["Who?"] * 3, ["Ana", "Ivo", "Ana"], [None] * 3)
    assert given == [
        ["USER: Who?\nASSISTANT:"],
        ["USER: Who?\nASSISTANT: Ana", "USER: Who?\nASSISTANT: Ivo"],
    ]
    assert samples[0] == samples[2] == tiny.encoder.encode(["Who?"], ["Ana"], [None])[0]
    assert samples[1] == tiny.encoder.encode(["Who?"], ["Ivo"], [None])[0]


def test_nothing_encodes_to_nothing(tiny):
    assert tiny.encoder.encode([], [], []) == []


@pytest.mark.parametrize(("question", "portrait"), [("Is <image> it?", 0), ("<image>?", None)])
def test_an_image_token_in_a_question_is_refused(tiny, question, portrait):
    with pytest.raises(ModelError, match="another number of <image> than of images"):
        tiny.encoder.encode([question], ["a"], [portrait])


def test_a_tokenizer_that_merges_prompt_and_answer_is_refused(tiny, monkeypatch):
    # The vocabulary has a token for the whole line, so no boundary stands at the answer.
    whole = "USER: Who?\nASSISTANT: A"
    tokenizer = Tokenizer(models.WordLevel({whole: 0, "<unk>": 1, "</s>": 2}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("\x00", "isolated")
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<unk>", eos_token="</s>", unk_token="<unk>"
    )

    encoder = encoder_of(tiny)
    monkeypatch.setattr(encoder, "tokenizer", fast)
    with pytest.raises(ModelError, match=r"merges prompt and answer of 'USER: Who\?\\n") as caught:
        encoder.encode(["Who?"], ["A"], [None])
    assert "\n" not in str(caught.value)


def test_portraits_are_normalised_and_named(tiny, portrait_files):
    table = pd.DataFrame({"person_id": ["9", "4"], "portrait": portrait_files[:2]})
    encoder = Encoder(tiny.processor, FAMILIES["llava"], table)
    pixels = encoder.images([0, 1])["pixel_values"]
    assert encoder.rows == {"9": 0, "4": 1}
    assert pixels.shape == (2, 3, 16, 16)
    assert torch.equal(pixels, tiny.pixels[:2])
    # The six portraits together have mean 0 and variance near 1 per channel (they are resized).
    assert tiny.pixels.mean(dim=(0, 2, 3)).abs().max() < 0.1
    assert (tiny.pixels.std(dim=(0, 2, 3)) - 1).abs().max() < 0.15


def test_sample_is_hashable():
    assert len({Sample((1,), 0, None), Sample((1,), 0, None)}) == 1


def test_portraits_without_room_are_prepared_again_and_are_the_same(tiny, monkeypatch):
    monkeypatch.setattr(portraits, "KEPT", 0)
    again = Encoder(tiny.processor, FAMILIES["llava"], tiny.portraits)
    for _ in range(2):
        found = again.images([1, 0])["pixel_values"]
        assert torch.equal(found, tiny.encoder.images([1, 0])["pixel_values"])
    assert again.prompt("Who?", 0) == tiny.encoder.prompt("Who?", 0)
