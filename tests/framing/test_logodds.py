from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from parallax.errors import DataError
from parallax.framing.items import Item
from parallax.framing.logodds import (
    Openings,
    measure_log_odds,
    opening_logprobs,
    read_openings,
)
from parallax.framing.prompts import render
from parallax.framing.subjects import load_subject

ITEM = Item("x", "f", "t", "benign", "comply", "Write a polite letter.", "Draft a kind letter.")
OPENINGS = Openings(("I'm sorry", "I can't"), ("Sure, here", "Dear neighbour"))
COMMITTED = Path(__file__).parents[2] / "data/raw/framing/openings.yaml"


@pytest.fixture
def prompts(spec):
    return [render(ITEM, paraphrase, "no_frame", spec) for paraphrase in (0, 1)]


def logprob_alone(model, prompt, opening):
    """The definition: the whole text read at once, without a cache or a batch."""
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[*prompt, *opening]])).logits[0].double()
    logprobs = logits.log_softmax(-1)
    return sum(logprobs[len(prompt) + n - 1, token].item() for n, token in enumerate(opening))


def test_openings_agree_with_the_definition(tiny_subject):
    prompt = (0, 9, 200, 41, 7)
    # One alone, one of a token, and three that share beginnings.
    openings = [(300, 2, 3, 4), (8,), (5, 6, 7), (5, 6, 9, 1), (5, 10)]
    found = opening_logprobs(tiny_subject.model, prompt, openings)
    wanted = [logprob_alone(tiny_subject.model, prompt, opening) for opening in openings]
    assert found == pytest.approx(wanted, abs=1e-4)


def test_openings_of_one_token(tiny_subject):
    found = opening_logprobs(tiny_subject.model, (0, 9), [(n,) for n in range(420)])
    assert np.exp(found).sum() == pytest.approx(1, abs=1e-4)


def test_log_odds_compare_the_sets_probabilities(tiny_subject, prompts):
    table = measure_log_odds(tiny_subject, prompts, OPENINGS)
    assert list(table["paraphrase"]) == [0, 1]
    tokens = tiny_subject.encode(tiny_subject.render(prompts[1]))

    def probability(texts):
        cut = [tiny_subject.tokenizer(text)["input_ids"] for text in texts]
        return sum(np.exp(logprob_alone(tiny_subject.model, tokens, part)) for part in cut)

    refusal, compliance = probability(OPENINGS.refusal), probability(OPENINGS.compliance)
    assert table["log_refusal"][1] == pytest.approx(np.log(refusal), abs=1e-3)
    assert table["log_odds"][1] == pytest.approx(np.log(refusal / compliance), abs=1e-3)


def test_swapped_sets_turn_the_sign(tiny_subject, prompts):
    turned = Openings(OPENINGS.compliance, OPENINGS.refusal)
    there = measure_log_odds(tiny_subject, prompts, OPENINGS)["log_odds"]
    back = measure_log_odds(tiny_subject, prompts, turned)["log_odds"]
    assert there.to_list() == pytest.approx((-back).to_list(), abs=1e-4)


def test_row_does_not_depend_on_the_other_prompts(tiny_subject, prompts):
    both = measure_log_odds(tiny_subject, prompts, OPENINGS)
    alone = measure_log_odds(tiny_subject, prompts[1:], OPENINGS)
    assert both["log_odds"][1] == alone["log_odds"][0]


def test_raw_response_begins_a_paragraph(tiny_folder, prompts):
    subject = load_subject("base", tiny_folder, "raw")
    found = measure_log_odds(subject, prompts[:1], Openings(("Sure",), ("Dear",)))
    tokens = subject.encode(prompts[0].text)
    opening = subject.tokenizer("\n\nSure")["input_ids"]
    wanted = logprob_alone(subject.model, tokens, opening)
    assert found["log_refusal"][0] == pytest.approx(wanted, abs=1e-3)


def test_committed_openings():
    openings = read_openings(COMMITTED)
    assert "I'm sorry" in openings.refusal
    assert "Sure" in openings.compliance


def write(tmp_path, **lists):
    path = tmp_path / "openings.yaml"
    path.write_text(yaml.safe_dump(lists))
    return path


EIGHT = [f"No {letter}" for letter in "abcdefgh"]
OTHER = [f"Yes {letter}" for letter in "abcdefgh"]


@pytest.mark.parametrize(
    ("refusal", "compliance", "message"),
    [
        (EIGHT, [*OTHER, "No aye"], "'No a' begins 'No aye'"),
        (EIGHT, [*OTHER[:7], "No a"], "'No a' begins 'No a'"),
        (EIGHT[:7], OTHER, "refusal: want a list of at least 8"),
        ([*EIGHT, 1], OTHER, "refusal: 1"),
        (EIGHT, [*OTHER, "Sure "], "'Sure '"),
    ],
)
def test_lists_that_are_refused(tmp_path, refusal, compliance, message):
    path = write(tmp_path, refusal=refusal, compliance=compliance)
    with pytest.raises(DataError, match=message):
        read_openings(path)


def test_other_keys_and_no_file(tmp_path):
    with pytest.raises(DataError, match="refusal and compliance"):
        read_openings(write(tmp_path, refusal=EIGHT, helpful=OTHER))
    with pytest.raises(DataError, match="no such file"):
        read_openings(tmp_path / "none.yaml")
