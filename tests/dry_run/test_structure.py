import pytest
import torch

from parallax.dry_run.structure import Group, read_structure
from parallax.models.families import FAMILIES
from parallax.models.loading import Loaded, outline_again
from parallax.models.tuning import open_weights
from parallax.params import Lora, Optimization


def adam(optimizer="adamw"):
    return Optimization(
        seed=0,
        optimizer=optimizer,
        batch_size=1,
        warmup_fraction=0,
        schedule="linear",
        weight_decay=0,
    )


def read(config, tuning="full", rank=64, dtype="bfloat16", optimizer="adamw", quantization=None):
    model = outline_again(config, dtype)
    with torch.device("meta"):
        open_weights(Loaded(model, None), tuning, Lora(rank=rank, alpha=32, dropout=0.05), 0)
    return read_structure(model, adam(optimizer), quantization)


@pytest.fixture(scope="module")
def whole(llava_7b):
    return read(llava_7b, "lora")


def test_llava_7b_has_7_billion_weights(whole):
    # Language: 32 layers of 4 * 4096² + 3 * 4096 * 11008 + 2 * 4096 = 202,383,360, embeddings and
    # output layer of 32064 * 4096 = 131,334,144 each, a norm of 4096: 6,738,939,904.
    # Projector: 1024 * 4096 + 4096 + 4096² + 4096 = 20,979,712.
    # Tower: 24 layers of 4 * (1024² + 1024) + 2 * 1024 * 4096 + 4096 + 1024 + 4 * 1024 =
    # 12,596,224, patches 3 * 14² * 1024 = 602,112, places 577 * 1024 = 590,848, class 1024, two
    # norms of 2048: 303,507,456.
    assert whole.parameters == 6_738_939_904 + 20_979_712 + 303_507_456 == 7_063_427_072


def test_lora_of_llava_7b(whole):
    # A: rank times inputs, B: rank times outputs. q, k, v, o: 4 * 2 * 4096; gate, up, down:
    # 3 * (4096 + 11008). 64 * (32,768 + 45,312) = 4,997,120 a layer, times 32.
    assert sum(group.parameters for group in whole.groups) == 159_907_840
    first = Group(
        "model.language_model.layers.*.self_attn.q_proj.lora_A.default.weight", 32, 32 * 64 * 4096
    )
    assert whole.groups[0] == first and len(whole.groups) == 14
    # Adapters in float32: 4 bytes of gradient and 8 of AdamW's moments each.
    assert whole.gradients == 4 * 159_907_840
    assert whole.moments == 8 * 159_907_840
    # Weights in bfloat16, adapters, and a few buffers of rotations and positions.
    assert 0 < whole.weights - 2 * 7_063_427_072 - 4 * 159_907_840 < 20_000


def test_blocks_of_llava_7b(whole):
    tower, language = whole.blocks
    assert (tower.part, tower.count, tower.width, tower.inner) == ("vision", 24, 1024, 4096)
    assert not (tower.gated or tower.trained or tower.adapted) and tower.quick
    assert (language.part, language.count) == ("language", 32)
    assert (language.width, language.attention, language.inner) == (4096, 4096, 11008)
    # Inputs of the adapters: six of 4096 and one of 11008; seven ranks of 64.
    assert (language.adapted, language.rank) == (6 * 4096 + 11008, 448)
    assert (whole.vocabulary, whole.width, whole.heads, whole.format) == (32064, 4096, 32, 2)


@pytest.mark.parametrize(("kind", "wide"), [("int8", 1.0), ("int4", 0.5625)])
def test_quantized_weights(whole, llava_7b, kind, wide):
    # What adapters sit on: 32 * (4 * 4096² + 3 * 4096 * 11008).
    linear = 6_476_005_376
    smaller = read(llava_7b, "lora", quantization=kind)
    assert whole.weights - smaller.weights == pytest.approx((2 - wide) * linear, abs=1000)
    assert smaller.gradients == whole.gradients


@pytest.mark.parametrize("model_type", list(FAMILIES))
def test_every_family_has_a_tower_and_a_language_model(world_of, model_type):
    config = world_of(model_type).config
    structure = read(config, "lora", rank=2)
    assert [(b.part, b.count) for b in structure.blocks] == [("vision", 2), ("language", 2)]
    tower, language = structure.blocks
    assert (tower.adapted, language.rank) == (0, 14)
    assert (tower.width, tower.inner) == (16, 32)
    inner = config.text_config.intermediate_size
    assert (language.width, language.attention, language.inner) == (32, 32, inner)


@pytest.mark.parametrize("tuning", ["full", "lora"])
@pytest.mark.parametrize("model_type", list(FAMILIES))
def test_what_is_trained_is_what_a_real_model_trains(world_of, model_type, tuning):
    world = world_of(model_type)
    structure = read(world.config, tuning, rank=2)
    real = world.models.build_model(world.config)
    open_weights(Loaded(real, None), tuning, Lora(rank=2, alpha=32, dropout=0.05), 0)
    opened = [weight for weight in real.parameters() if weight.requires_grad]
    assert sum(group.parameters for group in structure.groups) == sum(w.numel() for w in opened)
    assert sum(group.tensors for group in structure.groups) == len(opened)


def test_muon_keeps_one_number_of_each_matrix(tiny):
    config = tiny.build().config
    adamw, muon = (read(config, dtype="float32", optimizer=name) for name in ("adamw", "muon"))
    assert adamw.moments == 2 * adamw.gradients
    # Embeddings, positions, biases, norms and the patches' kernel stay with AdamW.
    matrices = sum(
        weight.numel()
        for name, weight in tiny.build().named_parameters()
        if weight.ndim == 2 and "embed" not in name and "lm_head" not in name
    )
    assert adamw.moments - muon.moments == 4 * matrices
