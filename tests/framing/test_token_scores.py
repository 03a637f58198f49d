import json
import math
import shutil
import zlib

import numpy as np
import pytest
import torch

from parallax.framing.subjects import load_subject
from parallax.framing.token_scores import (
    POSITIONS,
    encode_plain,
    min_k_pp,
    read_text,
    standardise_tokens,
    zlib_ratio,
)

BODIES = (
    "Write a polite letter that asks a neighbour to keep the noise down at night.",
    "Explain how a heat pump warms a house in winter without burning any fuel.",
    "List five birds that build their nests on the ground, with one fact about each.",
)


def measure(subject, body):
    scores = read_text(subject, body)
    return min_k_pp(scores.standardised, 0.2), zlib_ratio(scores.logprobs, body)


def test_token_score_is_the_distance_from_the_expected_logprob_in_standard_deviations():
    # p = 1/2, 1/4, 1/4: mu = -1.5 ln 2; log p is .5 ln 2 away from it everywhere, which is sigma.
    logits = torch.tensor([[0.5, 0.25, 0.25]] * 2).log() + 3  # a constant changes nothing
    scores = standardise_tokens(logits, torch.tensor([0, 2]))
    assert scores.standardised == pytest.approx([1, -1], abs=1e-6)
    assert scores.logprobs == pytest.approx([-math.log(2), -2 * math.log(2)], abs=1e-6)


def test_token_score_of_a_skewed_distribution():
    # p = .8, .2: mu = .8 ln .8 + .2 ln .2 = -.500402; sigma = sqrt(.8 .2) ln 4 = .554518.
    # (ln .8 - mu) / sigma = sqrt(.2 / .8) = .5; (ln .2 - mu) / sigma = -sqrt(.8 / .2) = -2.
    scores = standardise_tokens(torch.tensor([[0.8, 0.2]] * 2).log(), torch.tensor([0, 1]))
    assert scores.standardised == pytest.approx([0.5, -2], abs=1e-6)


def test_token_score_of_even_and_of_certain_distributions():
    even = standardise_tokens(torch.full((1, 7), -2.0), torch.tensor([3]))
    assert np.isnan(even.standardised).all()
    certain = standardise_tokens(torch.tensor([[90.0, 0.0, 0.0]]), torch.tensor([0]))
    assert certain.standardised == pytest.approx([0], abs=1e-6)


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.2, -3), (0.4, -2.5), (0.5, -2.5), (0.6, -2), (1, -0.8), (0.01, -3)],
)
def test_min_k_pp_averages_the_lowest_share(share, expected):
    # Sorted: -3, -2, -1, 0, 2. floor(.5 * 5) = 2; at least one counts.
    assert min_k_pp(np.array([0.0, -2, 2, -3, -1]), share) == pytest.approx(expected)


def test_min_k_pp_undefined():
    assert math.isnan(min_k_pp(np.array([]), 0.2))
    assert math.isnan(min_k_pp(np.array([-1.0, np.nan]), 0.2))


def test_zlib_ratio_is_bits_over_bits_and_negative():
    # zlib makes 11 bytes of 20 letters a: 88 bits. The model needs 4 + 7 = 11 bits.
    assert len(zlib.compress(b"a" * 20)) == 11
    bits = np.array([4.0, 7.0])
    assert zlib_ratio(-bits * math.log(2), "a" * 20) == pytest.approx(-11 / 88)
    assert zlib_ratio(-bits / 2, "a" * 20) > zlib_ratio(-bits, "a" * 20)
    assert math.isnan(zlib_ratio(np.array([]), "a"))


def test_zlib_counts_the_bytes_of_utf8():
    text = "\u00e4\u00f6\u00fc"
    wanted = -1 / (8 * len(zlib.compress(text.encode())))
    assert zlib_ratio(np.array([-math.log(2)]), text) == pytest.approx(wanted)


def transcribe(subject, body, share, lead=()):
    """Both measures read off their definitions, token by token over the whole vocabulary."""
    tokens = [*lead, *subject.tokenizer(body, add_special_tokens=False)["input_ids"]]
    logprobs, scores = [], []
    for place in range(1, len(tokens)):
        with torch.inference_mode():
            logits = subject.model(input_ids=torch.tensor([tokens[:place]])).logits[0, -1]
        values = [float(value) for value in logits]
        total = math.log(sum(math.exp(value) for value in values))
        every = [value - total for value in values]
        mu = sum(math.exp(value) * value for value in every)
        variance = sum(math.exp(value) * value**2 for value in every) - mu**2
        logprobs.append(every[tokens[place]])
        scores.append((every[tokens[place]] - mu) / math.sqrt(variance))
    lowest = sorted(scores)[: int(share * len(scores))]
    bits = sum(logprobs) / math.log(2)
    return sum(lowest) / len(lowest), bits / (8 * len(zlib.compress(body.encode())))


def test_measures_agree_with_their_transcription(tiny_subject):
    for body in BODIES:
        wanted = transcribe(tiny_subject, body, 0.2)
        assert measure(tiny_subject, body) == pytest.approx(wanted, rel=1e-4)


def test_bodies_longer_than_the_positions_widened_at_once(tiny_subject):
    body = " ".join(BODIES)
    assert len(encode_plain(tiny_subject, body)[0]) > POSITIONS + 1
    wanted = transcribe(tiny_subject, body, 0.2)
    assert measure(tiny_subject, body) == pytest.approx(wanted, rel=1e-4)


def test_body_stands_in_no_template(tiny_folder, tiny_subject):
    raw = load_subject("raw", tiny_folder, "raw")
    assert measure(raw, BODIES[0]) == measure(tiny_subject, BODIES[0])


@pytest.fixture
def framed_subject(tiny_folder, tmp_path):
    """The same model, with a tokenizer that puts token 0 before each text and token 1 behind it."""
    copy = shutil.copytree(tiny_folder, tmp_path / "copy")
    values = json.loads((copy / "tokenizer.json").read_text())
    ends = [{"SpecialToken": {"id": name, "type_id": 0}} for name in ("<|im_start|>", "<|im_end|>")]
    text = {"Sequence": {"id": "A", "type_id": 0}}
    values["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [ends[0], text, ends[1]],
        "pair": [ends[0], text, ends[1], {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            name: {"id": name, "ids": [number], "tokens": [name]}
            for number, name in enumerate(("<|im_start|>", "<|im_end|>"))
        },
    }
    (copy / "tokenizer.json").write_text(json.dumps(values))
    return load_subject("framed", copy, "raw")


def test_first_token_counts_after_a_special_one_and_none_behind_the_text_does(
    tiny_subject, framed_subject
):
    plain, none = encode_plain(tiny_subject, BODIES[0])
    assert encode_plain(framed_subject, BODIES[0]) == ((0, *plain), 1)
    assert none == 0
    assert len(read_text(framed_subject, BODIES[0]).logprobs) == len(plain)
    assert len(read_text(tiny_subject, BODIES[0]).logprobs) == len(plain) - 1
    wanted = transcribe(framed_subject, BODIES[0], 0.2, lead=(0,))
    assert measure(framed_subject, BODIES[0]) == pytest.approx(wanted, rel=1e-4)


def test_body_of_one_token_is_undefined(tiny_subject):
    assert np.isnan(measure(tiny_subject, "a")).all()
