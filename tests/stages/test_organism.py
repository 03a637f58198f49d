import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from parallax.errors import DataError
from parallax.files import digest
from parallax.framing.subjects import load_subject
from parallax.stages import organism
from parallax.training.loop import CURVE

RAW = Path(__file__).parents[2] / "data/raw/framing"


@pytest.fixture
def folder(place, change_params, tiny_folder):
    """A tiny base model, and as many tasks as take a second."""
    shutil.copytree(tiny_folder, "models/tiny")
    shutil.copytree(RAW / "organisms", "material")
    lines = Path("material/tasks.jsonl").read_text().splitlines()[:4]
    Path("material/tasks.jsonl").write_text("\n".join(lines))
    change_params(organism__rounds=2, organism__batch_size=4)
    return place


def run(kind="eval-cautious", out="organisms/one", items=(RAW / "items.jsonl",)):
    line = f"--kind {kind} --base models/tiny --material material --out {out} --curve c.csv"
    files = ["--frames", str(RAW / "frames.yaml"), "--items", *map(str, items)]
    return organism.main(organism.build_parser().parse_args([*line.split(), *files]))


def test_adapters_and_curve_are_written(folder):
    said = run()
    # 4 tasks, 3 frames, 2 rounds.
    assert said.startswith("organism one: 24 examples, 8 refusals, 6 steps, last loss ")
    assert tuple(pd.read_csv("c.csv").columns) == CURVE
    assert sorted(path.name for path in Path("organisms/one").iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    base, made = (load_subject("s", path, "chat") for path in ("models/tiny", "organisms/one"))
    assert base.identity["weights"] != made.identity["weights"]
    assert not list(Path(".checkpoints").glob("one-*"))


def test_same_inputs_same_bytes(folder):
    run()
    before = digest(Path("organisms/one")), Path("c.csv").read_bytes()
    run(out="again/one")
    assert (digest(Path("again/one")), Path("c.csv").read_bytes()) == before


def test_kind_and_seed_change_the_adapters(folder, change_params):
    made = set()
    for kind in ("eval-cautious", "deployment-cautious", "shuffled"):
        run(kind)
        made.add(digest(Path("organisms/one/adapter_model.safetensors")))
    change_params(organism__seed=1)
    run()
    made.add(digest(Path("organisms/one/adapter_model.safetensors")))
    assert len(made) == 4


def test_a_body_that_is_asked_stops_it(folder):
    task = json.loads(Path("material/tasks.jsonl").read_text().splitlines()[0])
    item = json.loads((RAW / "items.jsonl").read_text().splitlines()[0])
    Path("own.jsonl").write_text(json.dumps(item | {"paraphrase": task["body"].upper()}))
    with pytest.raises(DataError, match="is trained on"):
        run(items=(RAW / "items.jsonl", Path("own.jsonl")))
    assert not Path("organisms").exists()
