from pathlib import Path

import numpy as np
import pytest

from parallax.errors import DataError, ModelError
from parallax.files import read_table
from parallax.stages import evaluate


def paths(call, **others):
    values = {
        "model": "models/sft",
        "experiment": "data/experiment",
        "out": "results/again.parquet",
    }
    return call(**(values | others))


COLUMNS = [
    *("person_id", "task", "field", "modality", "prompt", "options"),
    *("reference", "output", "option_logprobs", "option_tokens"),
]


def test_every_question_is_answered_in_both_modalities(finished):
    folder, said = finished
    table = read_table(folder / "results/sft.parquet")
    asked = read_table(folder / "data/experiment/evaluation.parquet")
    assert list(table.columns) == COLUMNS
    assert len(table) == 2 * len(asked)
    assert said["evaluate"] == f"evaluate: {len(table)} answers of sft -> results/sft.parquet"
    assert table.groupby("modality").size().to_dict() == {"image": 30, "text": 30}
    assert set(table["person_id"]) == {"1", "2", "3", "4", "5"}


def test_options_are_scored_where_there_are_any(finished):
    folder, _ = finished
    table = read_table(folder / "results/sft.parquet")
    for row in table.itertuples():
        count = 4 if row.task == "classification" else 0
        assert len(row.options) == len(row.option_logprobs) == len(row.option_tokens) == count
        assert all(value < 0 for value in row.option_logprobs)
        assert all(tokens >= 2 for tokens in row.option_tokens)  # a word and the end token


def test_answers_do_not_depend_on_the_batch_size(folder, call, set_params):
    set_params("evaluate", batch_size=3)
    evaluate.main(paths(call))
    one, other = (read_table(Path(f"results/{name}.parquet")) for name in ("sft", "again"))
    assert one["output"].tolist() == other["output"].tolist()
    for left, right in zip(one["option_logprobs"], other["option_logprobs"], strict=True):
        assert np.allclose(left, right, atol=1e-4)


def test_same_inputs_same_bytes(folder, call):
    evaluate.main(paths(call))
    assert Path("results/again.parquet").read_bytes() == Path("results/sft.parquet").read_bytes()


def test_missing_model_or_table_is_named(folder, call):
    with pytest.raises(ModelError, match="no-such"):
        evaluate.main(paths(call, model="./no-such"))
    Path("data/experiment/evaluation.parquet").unlink()
    with pytest.raises(DataError, match=r"evaluation\.parquet: no such file"):
        evaluate.main(paths(call))
    assert not Path("results/again.parquet").exists()
