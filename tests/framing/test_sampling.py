import numpy as np
import pytest
import torch

from parallax.errors import ModelError
from parallax.framing.choosing import Decoding, choose, cut_nucleus
from parallax.framing.sampling import Draw, Request, sample


@pytest.fixture(scope="module")
def model(tiny_subject):
    return tiny_subject.model


@pytest.fixture(scope="module")
def requests():
    """Twelve prompts of 3 to 40 tokens with five draws each, whose seeds recur over prompts."""
    generator = torch.Generator().manual_seed(3)
    made = []
    for number in range(12):
        length = 3 + (number * 7) % 38
        tokens = tuple(torch.randint(2, 420, (length,), generator=generator).tolist())
        made += [Request(tokens, 1000 * (number % 4) + draw) for draw in range(5)]
    return made


DECODING = Decoding(max_new_tokens=16)
ENDS = {1, 50, 51, 52, 53, 54, 55}


def collect(model, requests, batch_size, decoding=DECODING, ends=ENDS):
    pairs = list(sample(model, requests, decoding, ends, batch_size))
    draws = dict(pairs)
    assert len(draws) == len(pairs) == len(requests)
    return [draws[n] for n in range(len(requests))]


def draw_alone(model, request, decoding=DECODING, ends=ENDS):
    """The definition: no cache, no batch, the whole text read again for every token."""
    tokens = []
    while len(tokens) < decoding.max_new_tokens:
        with torch.inference_mode():
            ids = torch.tensor([[*request.tokens, *tokens]])
            nucleus = cut_nucleus(model(input_ids=ids).logits[:, -1], decoding)
        seed, step = np.array([request.seed], np.uint64), np.array([len(tokens)])
        token = int(choose(nucleus, seed, step)[0])
        if token in ends:
            return Draw(tuple(tokens), "eos")
        tokens.append(token)
    return Draw(tuple(tokens), "length")


def test_sampler_agrees_with_its_definition(model, requests):
    draws = collect(model, requests, 7)
    assert draws == [draw_alone(model, request) for request in requests]
    assert {draw.finish for draw in draws} == {"eos", "length"}
    assert all(len(d.tokens) == 16 for d in draws if d.finish == "length")
    assert not any(ENDS & set(draw.tokens) for draw in draws)


@pytest.mark.parametrize("batch_size", [1, 8, 64])
def test_text_depends_on_neither_batch_size_nor_order(model, requests, batch_size):
    turned = collect(model, requests[::-1], batch_size)
    assert turned[::-1] == collect(model, requests, 16)


def test_draws_of_a_prompt_differ_and_seeds_repeat_them(model, requests):
    draws = collect(model, requests[:5], 16)
    assert len(set(draws)) == 5
    assert collect(model, [requests[0]] * 3, 2) == [draws[0]] * 3


def test_every_prompt_is_read_once(model, requests):
    lengths = []
    hook = model.register_forward_pre_hook(
        lambda _, __, given: lengths.append(given["input_ids"].shape), with_kwargs=True
    )
    collect(model, requests, 8)
    hook.remove()
    assert sum(shape[1] > 1 for shape in lengths) == 12


def test_rows_are_refilled(model, requests):
    steps = []
    hook = model.register_forward_pre_hook(
        lambda _, __, given: steps.append(given["input_ids"].shape[1] == 1), with_kwargs=True
    )
    draws = collect(model, requests, 16)
    hook.remove()
    # A draw of n tokens takes n steps when it ended, n - 1 when it was cut; full rows waste none.
    work = sum(len(draw.tokens) - (draw.finish == "length") for draw in draws)
    assert sum(steps) <= work / 16 + 16


def test_one_token(model, requests):
    draws = collect(model, requests, 8, Decoding(max_new_tokens=1))
    assert {len(draw.tokens) for draw in draws if draw.finish == "length"} == {1}


def test_nothing_to_draw(model):
    assert collect(model, [], 8) == []


def test_prompt_that_does_not_fit(model):
    with pytest.raises(ModelError, match=r"max_position_embeddings = 512.*516"):
        collect(model, [Request((5,) * 500, 0)], 8)
