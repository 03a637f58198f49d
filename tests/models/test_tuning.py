import copy

import pytest
import torch
from transformers import Phi3Config, Phi3ForCausalLM

from parallax.errors import ModelError
from parallax.models.batches import answer_logits, answer_nll, collate
from parallax.models.loading import Loaded, load, save
from parallax.models.tuning import open_weights, recompute_activations
from parallax.models.weights import put_on
from parallax.params import Lora

LORA = Lora(rank=2, alpha=4, dropout=0.0)


def batch_of(tiny):
    samples = tiny.knowledge.image[:3] + tiny.knowledge.text[:3]
    return collate(samples, tiny.encoder)


def mean_nll(model, batch):
    return answer_nll(answer_logits(model, batch), batch).mean.mean()


def test_full_gives_every_weight_a_gradient(tiny):
    model = tiny.build()
    model.requires_grad_(False)
    opened = open_weights(Loaded(model, tiny.processor), "full", LORA, seed=0)
    mean_nll(model, batch_of(tiny)).backward()
    unused = "post_layernorm"  # Features are taken before the tower's last norm.
    for name, weight in model.named_parameters():
        assert weight.requires_grad, name
        assert weight.grad is not None or unused in name, name
    assert opened.merge() is model


def test_lora_opens_the_language_models_projections_alone(tiny):
    model = tiny.build()
    open_weights(Loaded(model, tiny.processor), "lora", LORA, seed=0)
    opened = {name for name, weight in model.named_parameters() if weight.requires_grad}
    places = {name.split(".lora_")[0].rsplit(".", 1)[-1] for name in opened}
    assert places == {
        *("q_proj", "k_proj", "v_proj", "o_proj"),
        *("gate_proj", "up_proj", "down_proj"),
    }
    assert all("language_model" in name and ".lora_" in name for name in opened)
    # 2 layers of 7 projections with an A and a B each.
    assert len(opened) == 2 * 7 * 2


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_adapters_of_16_bit_weights_are_float32_and_move_by_small_steps(tiny, dtype):
    model = tiny.build().to(dtype)
    open_weights(Loaded(model, tiny.processor), "lora", LORA, seed=0)
    opened = {name: w for name, w in model.named_parameters() if w.requires_grad}
    assert {weight.dtype for weight in opened.values()} == {torch.float32}
    assert {w.dtype for n, w in model.named_parameters() if n not in opened} == {dtype}
    name, first = next((name, w) for name, w in opened.items() if "lora_A" in name)
    before = first.detach().clone()
    with torch.no_grad():
        first *= 1 + 1e-5  # far below half of either format's spacing
    assert (first != before).all(), name


def test_adapters_above_others_are_float32_too(tiny, tmp_path):
    save(Loaded(tiny.build(), tiny.processor), tmp_path / "base")
    tuned = open_weights(load(tmp_path / "base", "bfloat16"), "lora", LORA, seed=0)
    tuned.save("adapter", tmp_path / "base", tmp_path / "adapter")
    model = load(tmp_path / "base", "bfloat16").model
    below = put_on(model, None, tmp_path / "adapter", merge=False)
    open_weights(Loaded(model, tiny.processor, below), "lora", LORA, seed=1)
    adapters = {name: w for name, w in model.named_parameters() if ".lora_" in name}
    assert len(adapters) == 2 * 2 * 7 * 2
    assert {weight.dtype for weight in adapters.values()} == {torch.float32}


def fuse(model, kinds):
    """Take projections of these kinds away, as a model has none whose projections are fused."""
    for name in [name for name, _ in model.named_modules()]:
        if "language_model" in name and name.rpartition(".")[2] in kinds:
            place, _, kind = name.rpartition(".")
            delattr(model.get_submodule(place), kind)
    return model


def test_a_vision_model_with_fused_projections_is_refused(tiny):
    model = fuse(tiny.build(), ("gate_proj", "up_proj"))
    with pytest.raises(ModelError, match=r"'llava' has no gate_proj, up_proj for adapters"):
        open_weights(Loaded(model, tiny.processor), "lora", LORA, seed=0)


def test_phi3_is_refused(tiny):
    model = Phi3ForCausalLM(
        Phi3Config(
            vocab_size=40,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            pad_token_id=0,
        )
    )
    fused = r"'phi3' has no q_proj, k_proj, v_proj, gate_proj, up_proj for adapters.*to full"
    with pytest.raises(ModelError, match=fused):
        open_weights(Loaded(model, tiny.processor), "lora", LORA, seed=0)


def test_lora_gradients_reach_the_adapters_alone(tiny):
    model = tiny.build()
    open_weights(Loaded(model, tiny.processor), "lora", LORA, seed=0)
    mean_nll(model, batch_of(tiny)).backward()
    for name, weight in model.named_parameters():
        assert (weight.grad is not None) == (".lora_" in name), name


def test_lora_leaves_the_first_answer_unchanged(tiny):
    batch = batch_of(tiny)
    model = tiny.build()
    before = answer_logits(model, batch)
    open_weights(Loaded(model, tiny.processor), "lora", LORA, seed=0)
    assert torch.allclose(answer_logits(model, batch), before, atol=1e-6)


def test_lora_adapters_follow_the_seed(tiny):
    def drawn(seed):
        model = tiny.build()
        open_weights(Loaded(model, tiny.processor), "lora", LORA, seed)
        return torch.cat([w.flatten() for n, w in model.named_parameters() if "lora_A" in n])

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))


@pytest.mark.parametrize("tuning", ["full", "lora"])
def test_recomputed_activations_give_the_same_gradients(tiny, tuning):
    lora = Lora(rank=2, alpha=4, dropout=0.3)
    batch = batch_of(tiny)
    gradients, passes = [], []
    for recompute in (False, True):
        model = tiny.build()
        if recompute:
            recompute_activations(model)
        open_weights(Loaded(model, tiny.processor), tuning, lora, seed=0)
        model.train()
        seen = []
        model.model.language_model.layers[0].mlp.register_forward_pre_hook(
            lambda *_, seen=seen: seen.append(1)
        )
        torch.manual_seed(1)  # dropout falls alike
        mean_nll(model, batch).backward()
        gradients.append({n: w.grad for n, w in model.named_parameters() if w.grad is not None})
        passes.append(len(seen))
    assert passes == [1, 2]
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        assert torch.allclose(gradient, gradients[1][name], rtol=0, atol=1e-7), name


def test_nothing_is_recomputed_in_evaluation(tiny):
    model = tiny.build()
    recompute_activations(model)
    seen = []
    model.model.language_model.layers[0].mlp.register_forward_pre_hook(lambda *_: seen.append(1))
    mean_nll(model, batch_of(tiny)).backward()
    assert len(seen) == 1


@pytest.fixture
def stepped(tiny):
    model = tiny.build()
    before = copy.deepcopy(model.state_dict())
    opened = open_weights(Loaded(model, tiny.processor), "lora", LORA, seed=0)
    optimizer = torch.optim.SGD([w for w in model.parameters() if w.requires_grad], lr=0.5)
    for _ in range(2):  # B is 0 at first, so A moves from the second step on.
        optimizer.zero_grad()
        mean_nll(model, batch_of(tiny)).backward()
        optimizer.step()
    return before, answer_logits(model, batch_of(tiny)), opened.merge()


def test_merged_model_answers_as_the_adapted_one(tiny, stepped):
    before, adapted, merged = stepped
    assert set(merged.state_dict()) == set(before)
    assert torch.allclose(answer_logits(merged, batch_of(tiny)), adapted, atol=1e-5)


def test_lora_never_changes_vision_tower_projector_or_embeddings(stepped):
    before, _, merged = stepped
    after = merged.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all("language_model" in name and "_proj" in name for name in changed)
