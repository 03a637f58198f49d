"""Which changes are tried, and what is said of them; a made-up estimate stands in for memory."""

from pathlib import Path

import pytest

from parallax.dry_run.advice import Change, advise, list_changes
from parallax.dry_run.memory import GIB, Memory
from parallax.errors import ParamsError
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


def advice(gib, batch_size=16):
    values = PARAMS.model_dump()
    values["sft"] |= {"batch_size": batch_size, "tuning": "full"}
    params = type(PARAMS).model_validate(values)
    return advise("sft", params, Estimate, lambda found: found.memory.on_device <= gib * GIB)


def test_each_change_that_is_enough_is_told_with_its_price():
    # 8 + 8 + 16 = 32. Checkpointing 8 + 8 + 4, bfloat16 4 + 8 + 16, adapters 8 + 1 + 16,
    # 8 samples 24; int8 with adapters 2 + 1 + 16.
    assert advice(28) == (
        "it would fit with -S model.gradient_checkpointing=true (20.0 GiB), or"
        " -S model.dtype=bfloat16 (28.0 GiB), or -S sft.tuning=lora (25.0 GiB), or"
        " -S sft.batch_size=8 (24.0 GiB), or"
        " -S sft.tuning=lora -S sft.save=adapter -S unlearn.tuning=lora -S unlearn.save=adapter"
        " -S model.quantization=int8 (19.0 GiB)"
    )


def test_of_several_batches_the_largest_is_told():
    assert "-S sft.batch_size=4 (20.0 GiB)" in advice(20)
    assert "batch_size=2" not in advice(20)


def test_changes_are_added_until_they_are_enough():
    # None alone gets 32 below 16. Checkpointing and bfloat16 together: 4 + 8 + 4.
    assert advice(16) == (
        "it would fit with -S model.gradient_checkpointing=true -S model.dtype=bfloat16 (16.0 GiB)"
    )


def test_what_nothing_helps_is_said():
    # At most int4, adapters and one sample: 1 + 1 + .25.
    message = advice(2)
    assert message.startswith("it would not fit even with -S model.gradient_checkpointing=true ")
    assert "-S sft.batch_size=1" in message and "-S model.quantization=int4 (2.2 GiB)" in message
    assert message.endswith("choose a smaller model or a larger device")


def test_what_is_already_so_is_not_advised():
    tree = PARAMS.model_dump()
    tree["model"] |= {"dtype": "bfloat16", "gradient_checkpointing": True, "quantization": "int8"}
    tree["sft"] |= {"tuning": "lora", "save": "adapter", "batch_size": 1}
    tree["unlearn"] |= {"tuning": "lora", "save": "adapter"}
    assert list(list_changes("sft", type(PARAMS).model_validate(tree))) == []


def test_every_change_gives_usable_parameters():
    for stage in ("sft", "unlearn"):
        for change in list_changes(stage, PARAMS):
            assert change.apply(PARAMS) != PARAMS
    with pytest.raises(ParamsError, match=r"advice: model\.dtype = 'float8'"):
        Change({"model.dtype": "float8"}).apply(PARAMS)
