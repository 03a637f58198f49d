"""One step of every method on every family moves the losses as it must."""

import pytest
import torch

from parallax.models.batches import answer_logits, answer_nll, collate
from parallax.models.families import FAMILIES
from parallax.models.loading import Loaded
from parallax.models.tuning import open_weights
from parallax.params import Lora
from parallax.training.engine import Engine
from parallax.training.knowledge import Knowledge, encode_knowledge
from parallax.unlearn.objective import Steps, unlearning_objective

STEPS = Steps(forget=[[0, 1, 2]], retain=[[0, 2, 3]])


def part(knowledge, rows):
    return Knowledge(knowledge.image[rows], knowledge.text[rows])


def nll_of(model, world, knowledge, rows):
    samples = [side[row] for side in (knowledge.image, knowledge.text) for row in rows]
    batch = collate(samples, world.encoder)
    with torch.no_grad():
        return answer_nll(answer_logits(model, batch), batch).mean.mean().item()


@pytest.mark.parametrize("method", ["ga", "gd", "kl", "po", "npo"])
@pytest.mark.parametrize("model_type", list(FAMILIES))
def test_a_step_moves_the_losses_as_it_must(world_of, make_params, model_type, method):
    world = world_of(model_type)
    model = world.build_double()
    known = world.knowledge
    if method == "po":
        refusals = [f"I can't say, {n}." for n in range(len(world.instances))]
        known = encode_knowledge(world.encoder, world.instances, answers=refusals)
    forget, retain = part(known, slice(4)), part(world.knowledge, slice(4, 8))
    open_weights(Loaded(model, world.processor), "lora", Lora(rank=2, alpha=4, dropout=0.0), seed=0)
    objective = unlearning_objective(
        Engine(model), make_params(method), forget, retain, STEPS, world.encoder
    )
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    before = nll_of(model, world, forget, STEPS.forget[0])
    terms = list(objective(0))
    total = sum(term.weight * term.loss for term in terms)
    total.backward()
    for weight in weights:
        assert weight.grad.isfinite().all()
    size = torch.cat([weight.grad.flatten() for weight in weights]).norm()
    assert size > 0
    with torch.no_grad():
        for weight in weights:
            weight -= 1e-3 * weight.grad / size
        moved = sum(term.weight * term.loss for term in objective(0))
    assert moved < total
    after = nll_of(model, world, forget, STEPS.forget[0])
    # The forgotten answer becomes less likely, the refusal in its place more.
    assert after < before if method == "po" else after > before
    assert [term.name for term in terms] == [
        f"{part}_{modality}"
        for modality in ("image", "text")
        for part in (("forget",) if method == "ga" else ("forget", "retain"))
    ]
