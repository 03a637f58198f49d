"""Which changes are tried, and what is said of them; a made-up estimate stands in for memory."""

from pathlib import Path

import pytest

from parallax.dry_run.advice import Change, advise, list_changes
from parallax.dry_run.memory import GIB, Memory
from parallax.errors import ModelError, ParamsError
from parallax.params import load_params

PARAMS = load_params(Path(__file__).parents[2] / "params.yaml")


class Estimate:
    """A batch's samples take 1 GiB each, the weights 8, whatever is trained 8 more.

    Half of the weights' share goes with bfloat16, three quarters of the samples' with
    checkpointing; adapters need 1 GiB for what is trained.
    """

    def __init__(self, params):
        weights = 4 if params.model.dtype == "bfloat16" else 8
        weights = {None: weights, "int8": 2, "int4": 1}[params.model.quantization]
        trained = 8 if params.sft.tuning == "full" else 1
        samples = params.sft.batch_size * (0.25 if params.model.gradient_checkpointing else 1)
        self.memory = Memory({"all": round((weights + trained + samples) * GIB)}, {})


def advice(gib, device="cuda", name="a/model", assess=Estimate):
    values = PARAMS.model_dump()
    values["model"] |= {"name_or_path": name}
    values["sft"] |= {"batch_size": 16, "tuning": "full"}
    params = type(PARAMS).model_validate(values)

    def fits(found):
        return found.memory.on_device <= gib * GIB

    return advise("sft", params, device, assess, fits)


def test_each_change_that_is_enough_is_told_with_its_price():
    # 8 + 8 + 16 = 32. Checkpointing 8 + 8 + 4, adapters 8 + 1 + 16, bfloat16 with them 4 + 1 + 16,
    # 8 samples 24; int8 with adapters 2 + 1 + 16.
    assert advice(28) == (
        "it would fit with -S model.gradient_checkpointing=true (20.0 GiB), or"
        " -S sft.tuning=lora (25.0 GiB), or"
        " -S sft.tuning=lora -S unlearn.tuning=lora -S model.dtype=bfloat16 (21.0 GiB), or"
        " -S sft.batch_size=8 (24.0 GiB), or"
        " -S sft.tuning=lora -S sft.save=adapter -S unlearn.tuning=lora -S unlearn.save=adapter"
        " -S model.quantization=int8 (19.0 GiB)"
    )


def test_of_several_batches_the_largest_is_told():
    assert "-S sft.batch_size=4 (20.0 GiB)" in advice(20)
    assert "batch_size=2" not in advice(20)


def test_changes_are_added_until_they_are_enough():
    # None alone gets 32 below 12. Checkpointing and adapters 8 + 1 + 4, with bfloat16 4 + 1 + 4.
    assert advice(12) == (
        "it would fit with -S model.gradient_checkpointing=true -S sft.tuning=lora"
        " -S unlearn.tuning=lora -S model.dtype=bfloat16 (9.0 GiB)"
    )


def test_adapters_are_not_advised_for_a_model_that_takes_none():
    def assess(params):
        if params.sft.tuning == "lora":
            raise ModelError("its projections are fused")
        return Estimate(params)

    # One sample: 8 + 8 + 1.
    assert advice(17, assess=assess) == "it would fit with -S sft.batch_size=1 (17.0 GiB)"


def test_the_embedded_model_stays_in_float32():
    assert "dtype" not in advice(28, name="embedded")
    assert "dtype" not in advice(2, name="embedded")


def test_four_bits_are_not_advised_on_a_processor():
    assert "int4" not in advice(2, "cpu")
    assert "-S model.quantization=int8" in advice(2, "cpu")


def test_what_nothing_helps_is_said():
    # At most int4, adapters and one sample: 1 + 1 + .25.
    message = advice(2)
    assert message.startswith("it would not fit even with -S model.gradient_checkpointing=true ")
    assert "-S sft.batch_size=1" in message and "-S model.quantization=int4 (2.2 GiB)" in message
    assert message.endswith("choose a smaller model or a larger device")


def test_what_is_already_so_is_not_advised():
    tree = PARAMS.model_dump()
    tree["model"] |= {"name_or_path": "a/model", "dtype": "bfloat16"}
    tree["model"] |= {"gradient_checkpointing": True, "quantization": "int8"}
    tree["sft"] |= {"tuning": "lora", "save": "adapter", "batch_size": 1}
    tree["unlearn"] |= {"tuning": "lora", "save": "adapter"}
    assert list(list_changes("sft", type(PARAMS).model_validate(tree), "cuda")) == []


def test_every_change_gives_usable_parameters():
    tree = PARAMS.model_dump()
    tree["model"] |= {"name_or_path": "a/model"}
    for params in (PARAMS, type(PARAMS).model_validate(tree)):
        for stage in ("sft", "unlearn"):
            for change in list_changes(stage, params, "cuda"):
                assert change.apply(params) != params
    with pytest.raises(ParamsError, match=r"advice: model\.dtype = 'float8'"):
        Change({"model.dtype": "float8"}).apply(PARAMS)
