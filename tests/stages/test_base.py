import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from parallax.errors import DataError, ParamsError
from parallax.files import digest, write_json
from parallax.models.loading import load
from parallax.stages import base
from parallax.training.loop import CURVE

SOURCE = Path(__file__).parents[2] / "src"


def paths(call, **others):
    values = {
        "experiment": "data/experiment",
        "validation": "reports/validation.json",
        "out": "models/base",
        "curve": "c/base.csv",
    }
    return call(**(values | others))


def test_model_and_curve_are_written(finished):
    folder, said = finished
    curve = pd.read_csv(folder / "c/base.csv")
    assert tuple(curve.columns) == CURVE
    assert curve["step"].tolist() == list(range(len(curve)))
    assert curve["epoch"].iloc[-1] == pytest.approx(2)
    assert said["base"].startswith(f"base: {len(curve)} steps, last loss ")
    assert "\n" not in said["base"]
    assert curve["loss"].iloc[-1] < curve["loss"].iloc[0]


def test_the_saved_model_loads_and_knows_the_words_of_all_people(finished):
    folder, _ = finished
    tokenizer = load(folder / "models/base").processor.tokenizer
    for word in ("Osaka", "Dakar"):
        assert len(tokenizer(word, add_special_tokens=False)["input_ids"]) <= 2


def test_no_checkpoint_is_left(finished):
    folder, _ = finished
    left = {path.name for path in (folder / ".checkpoints").iterdir()}
    assert left == {"locks"}


def test_same_inputs_same_bytes(folder, call):
    base.main(paths(call, out="again", curve="c/again.csv"))
    assert digest(Path("again")) == digest(Path("models/base"))
    assert Path("c/again.csv").read_bytes() == Path("c/base.csv").read_bytes()


def test_another_seed_gives_other_weights(folder, call, set_params):
    set_params("base", seed=1)
    base.main(paths(call, out="again"))
    weights = "model.safetensors"
    assert digest(Path("again") / weights) != digest(Path("models/base") / weights)


def test_a_published_model_is_taken_as_it_is(folder, call, set_params):
    set_params("model", name_or_path="models/sft")
    base.main(paths(call, out="models/taken", curve="c/taken.csv"))
    weights = "model.safetensors"
    assert digest(Path("models/taken") / weights) == digest(Path("models/sft") / weights)
    assert Path("c/taken.csv").read_text() == ",".join(CURVE) + "\n"


def test_data_that_did_not_pass_are_not_trained_on(folder, call):
    write_json(Path("reports/validation.json"), {"success": False})
    with pytest.raises(DataError, match="did not pass"):
        base.main(paths(call, out="again"))
    assert not Path("again").exists()


def test_a_broken_parameter_leaves_the_model_alone(folder, call, set_params):
    before = digest(Path("models/base"))
    set_params("base", epochs=0)
    with pytest.raises(ParamsError, match=r"base\.epochs"):
        base.main(paths(call))
    assert digest(Path("models/base")) == before


def test_command_line_tells_an_error_in_one_line(tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "parallax.stages.base", "--experiment", "e", "--out", "o"),
            *("--validation", "v.json", "--curve", "c.csv"),
        ],
        cwd=tmp_path,
        env={"PYTHONPATH": str(SOURCE), "PATH": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "error: params.yaml: no such file; run from the project's top folder\n"
