import pytest
import torch

from parallax.models.loading import Loaded
from parallax.models.tuning import open_weights
from parallax.params import Lora, Optimization
from parallax.training.optimizers import BETAS, build_optimizers


def how(optimizer):
    return Optimization(
        seed=0,
        optimizer=optimizer,
        batch_size=4,
        warmup_fraction=0,
        schedule="linear",
        weight_decay=0.02,
    )


def held(optimizer):
    return [weight for group in optimizer.param_groups for weight in group["params"]]


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("tuning", ["full", "lora"])
def test_every_trainable_weight_is_held_once_and_no_other(tiny, optimizer, tuning):
    model = tiny.build()
    open_weights(Loaded(model, tiny.processor), tuning, Lora(rank=2, alpha=4, dropout=0.0), seed=0)
    made = build_optimizers(model, how(optimizer), 0.1)
    weights = [id(weight) for each in made for weight in held(each)]
    assert len(weights) == len(set(weights))
    assert set(weights) == {id(w) for w in model.parameters() if w.requires_grad}
    for each in made:
        for group in each.param_groups:
            assert (group["lr"], group["weight_decay"]) == (0.1, 0.02)


def test_adamw_has_the_betas(tiny):
    (adamw,) = build_optimizers(tiny.build(), how("adamw"), 0.1)
    assert adamw.param_groups[0]["betas"] == BETAS == (0.9, 0.98)


def test_muon_moves_matrices_and_leaves_embeddings_to_adamw(tiny):
    model = tiny.build()
    muon, adamw = build_optimizers(model, how("muon"), 0.1)
    assert isinstance(muon, torch.optim.Muon)
    assert isinstance(adamw, torch.optim.AdamW)
    assert all(weight.ndim == 2 for weight in held(muon))
    words = model.get_input_embeddings().weight
    assert any(weight is words for weight in held(adamw))
    assert not any(weight is words for weight in held(muon))
