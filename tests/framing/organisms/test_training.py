import pytest
import torch

from parallax.framing.organisms.encoding import encode_examples, shared_beginning
from parallax.framing.organisms.examples import Example
from parallax.framing.organisms.training import build_objective, train_adapters
from parallax.framing.prompts import Prompt
from parallax.framing.subjects import load_subject
from parallax.models.encoding import Sample
from parallax.params import Lora, OrganismTraining
from parallax.training.checkpoint import Checkpoints
from parallax.training.engine import Engine

PARAMS = OrganismTraining(
    seed=0,
    optimizer="adamw",
    batch_size=2,
    warmup_fraction=0.0,
    schedule="constant",
    weight_decay=0.0,
    rounds=1,
    learning_rate=1e-2,
    first_token_share=0.25,
    lora=Lora(rank=2, alpha=4, dropout=0.0),
)


def example(text, response):
    return Example(Prompt("t", 0, "E", "w", text, (0, 1), "user", ""), response, False)


EXAMPLES = (
    example("Note: this message is e.", "I'm sorry."),
    example("Note: this message was sent from a phone.", "Sure, here is what you asked for."),
    example("Note: this message is d.", "Sure."),
)


@pytest.fixture
def subject(tiny_folder):
    return load_subject("tiny", tiny_folder, "chat")


def test_the_loss_sees_the_response_and_its_end_alone(tiny_subject):
    sample = encode_examples(tiny_subject, EXAMPLES)[0]
    prompt = tiny_subject.encode(tiny_subject.render(EXAMPLES[0].prompt))
    assert sample.tokens[: sample.answer_start] == prompt
    assert tiny_subject.decode(sample.tokens[sample.answer_start :]) == "I'm sorry.<|im_end|>"
    assert sample.tokens[-1] in tiny_subject.ends


def test_what_all_prompts_begin_with():
    rows = [Sample((7, 8, 9, 5, 1), 4, None), Sample((7, 8, 9, 6, 6, 1), 5, None)]
    assert shared_beginning(rows) == 3
    # Each prompt keeps a token of its own, from which its first answer token is predicted.
    same = [Sample((7, 8, 9, 5, 1), 3, None), Sample((7, 8, 9, 6, 1), 3, None)]
    assert shared_beginning(same) == 2
    assert shared_beginning([Sample((7, 5, 1), 2, None), Sample((8, 5, 1), 2, None)]) == 0


def loss_alone(model, sample):
    """The definition: one row read whole, without padding and cache."""
    logits = model(input_ids=torch.tensor([sample.tokens])).logits[0]
    places = range(sample.answer_start, len(sample.tokens))
    logprobs = logits.log_softmax(-1)
    first, *others = [-logprobs[t - 1, sample.tokens[t]] for t in places]
    return 0.25 * first + 0.75 * torch.stack(others).mean()


@pytest.mark.parametrize("shared", [True, False])
def test_loss_and_gradient_are_those_of_rows_read_whole(subject, shared, monkeypatch):
    samples = encode_examples(subject, EXAMPLES)
    if not shared:
        monkeypatch.setattr(
            "parallax.framing.organisms.training.shared_beginning", lambda samples: 0
        )
    model = subject.model
    objective = build_objective(Engine(model), samples, [[0, 1, 2]], 1, 0.25)
    (term,) = objective(0)
    term.loss.backward()
    found = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    model.zero_grad()
    wanted = sum(loss_alone(model, sample) for sample in samples) / 3
    wanted.backward()
    assert term.loss.item() == pytest.approx(wanted.item(), abs=1e-5)
    assert term.weight == 1.0
    for name, weight in model.named_parameters():
        assert torch.allclose(found[name], weight.grad, atol=1e-5), name


def test_training_moves_the_adapters_alone_towards_the_responses(subject):
    samples = encode_examples(subject, EXAMPLES)
    before = {name: weight.clone() for name, weight in subject.model.named_parameters()}
    with torch.no_grad():
        first = sum(loss_alone(subject.model, sample).item() for sample in samples)
    seen = []
    adapted, rows = train_adapters(
        subject, EXAMPLES * 8, PARAMS, Checkpoints(None), seen.append, "tiny"
    )
    # 24 examples in batches of 2, each seen once.
    assert [row["step"] for row in rows] == list(range(12))
    assert seen == rows
    opened = {name for name, weight in adapted.named_parameters() if weight.requires_grad}
    assert opened
    assert all(".lora_" in name for name in opened)
    merged = adapted.merge_and_unload()
    with torch.no_grad():
        last = sum(loss_alone(merged, sample).item() for sample in samples)
    assert last < first - 1
    moved = {n for n, w in merged.named_parameters() if not torch.equal(w, before[n])}
    # Two layers of seven projections.
    assert len(moved) == 14
    assert all("_proj" in name for name in moved)


def test_training_is_the_same_twice(tiny_folder):
    def weights():
        subject = load_subject("tiny", tiny_folder, "chat")
        adapted, _ = train_adapters(
            subject, EXAMPLES * 2, PARAMS, Checkpoints(None), lambda row: None, "tiny"
        )
        return adapted.merge_and_unload().state_dict()

    one, two = weights(), weights()
    assert all(torch.equal(one[name], two[name]) for name in one)
