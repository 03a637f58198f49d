"""The stages with adapters instead of whole models, and with the options of `model`."""

from pathlib import Path

import pandas as pd
import pytest

from parallax.errors import ModelError
from parallax.files import read_table, write_json
from parallax.models.loading import load
from parallax.stages import base, evaluate, finetune, unlearn

DATA = "data/experiment"
LORA = {"tuning": "lora", "lora": {"rank": 2, "alpha": 4, "dropout": 0.1}}


def tune(call, place):
    """Fine-tune into `place`."""
    finetune.main(
        call(
            base="models/base",
            experiment=DATA,
            retain_only=None,
            out=f"{place}/sft",
            curve=f"{place}/sft.csv",
        )
    )


def train(call, place):
    """Fine-tune and unlearn into `place`, and ask the unlearned model."""
    tune(call, place)
    unlearn.main(
        call(
            model=f"{place}/sft",
            experiment=DATA,
            out=f"{place}/unlearned",
            curve=f"{place}/unlearn.csv",
        )
    )
    evaluate.main(
        call(model=f"{place}/unlearned", experiment=DATA, out=f"{place}/unlearned.parquet")
    )


def test_adapters_answer_as_merged_models(folder, call, set_params):
    for save in ("merged", "adapter"):
        for section in ("sft", "unlearn"):
            set_params(section, **LORA, save=save)
        train(call, save)
    one, other = (read_table(Path(f"{s}/unlearned.parquet")) for s in ("merged", "adapter"))
    pd.testing.assert_frame_equal(one, other, rtol=1e-4)
    for name in ("sft", "unlearn"):
        curves = [pd.read_csv(f"{save}/{name}.csv") for save in ("merged", "adapter")]
        pd.testing.assert_frame_equal(*curves, rtol=1e-5)
    # 14 projections of rank 2 against a whole model.
    sizes = {
        save: sum(path.stat().st_size for path in Path(f"{save}/unlearned").glob("*.safetensors"))
        for save in ("merged", "adapter")
    }
    assert sizes["adapter"] < sizes["merged"] / 4
    finetune.main(
        call(
            base="models/base", experiment=DATA, retain_only=None, out="adapter/sft", curve="c.csv"
        )
    )
    load("adapter/unlearned")  # the same sft again
    set_params("sft", seed=7)
    finetune.main(
        call(
            base="models/base", experiment=DATA, retain_only=None, out="adapter/sft", curve="c.csv"
        )
    )
    with pytest.raises(ModelError, match="another one than it was trained on"):
        evaluate.main(
            call(model="adapter/unlearned", experiment=DATA, out="adapter/unlearned.parquet")
        )


def test_recomputing_and_another_attention_train_alike(folder, call, set_params):
    set_params("model", gradient_checkpointing=True, attention="eager")
    write_json(Path("reports/validation.json"), {"success": True})
    base.main(
        call(
            experiment=DATA,
            validation="reports/validation.json",
            out="again/base",
            curve="again/base.csv",
        )
    )
    train(call, "again")
    for name in ("base", "sft", "unlearn"):
        one, other = pd.read_csv(f"again/{name}.csv"), pd.read_csv(f"c/{name}.csv")
        pd.testing.assert_frame_equal(one, other, rtol=1e-2, atol=1e-3)
