import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from parallax.errors import ParamsError
from parallax.launching import KINDS, MACHINE_VARIABLE, read_config, wants_launch
from parallax.params import Accelerate

SOURCE = Path(__file__).parents[1] / "src"
EXAMPLES = sorted((Path(__file__).parents[1] / "docs/accelerate").glob("*.yaml"))

# A module that says its place, and fails in the process that its argument names.
WORKER = """
import os, pathlib, sys
rank = os.environ["RANK"]
place = " ".join([os.environ[k] for k in ("RANK", "WORLD_SIZE", "OMP_NUM_THREADS")] + sys.argv[2:])
pathlib.Path(f"{rank}.txt").write_text(place)
sys.exit(3 if sys.argv[1] == rank else 0)
"""
STARTER = """
import sys
from parallax.errors import ParallaxError
from parallax.launching import launch
from parallax.params import Accelerate
try:
    launch(Accelerate(processes=2, config=sys.argv[1] or None), "worker", sys.argv[2:])
except ParallaxError as error:
    sys.exit(str(error))
"""


def start(folder, config, *arguments, **variables):
    (folder / "worker.py").write_text(WORKER)
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    return subprocess.run(
        [sys.executable, "-c", STARTER, config, *arguments],
        cwd=folder,
        env=environment | {"PYTHONPATH": f"{SOURCE}:{folder}"} | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


def write_config(folder, **changes):
    values = {"distributed_type": "MULTI_CPU", "num_processes": 2, "mixed_precision": "no"}
    (folder / "config.yaml").write_text(yaml.safe_dump(values | changes))
    return folder / "config.yaml"


def test_processes_know_their_places_and_arguments(tmp_path):
    done = start(tmp_path, "", "none", "--out", "a b", OMP_NUM_THREADS="3")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    places = [(tmp_path / f"{rank}.txt").read_text() for rank in (0, 1)]
    assert places == ["0 2 3 --out a b", "1 2 3 --out a b"]


def test_a_config_file_decides_how_many(tmp_path):
    done = start(tmp_path, str(write_config(tmp_path, num_processes=3)), "none")
    assert done.returncode == 0, done.stderr
    assert [(tmp_path / f"{rank}.txt").read_text()[:3] for rank in (0, 1, 2)] == [
        "0 3",
        "1 3",
        "2 3",
    ]


def test_a_failed_process_is_named_without_a_traceback(tmp_path):
    done = start(tmp_path, "", "1")
    assert done.returncode == 1
    assert done.stderr == "process 1 of worker ended with status 3; see its words above\n"


def test_one_process_is_not_launched():
    assert not wants_launch(Accelerate(processes=1, config=None))
    assert wants_launch(Accelerate(processes=2, config=None))
    assert wants_launch(Accelerate(processes=1, config="some.yaml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: path.name)
def test_the_configs_of_the_documentation_are_usable(file):
    assert read_config(file).distributed_type.value in KINDS


def test_every_kind_has_an_example():
    kinds = {yaml.safe_load(file.read_text())["distributed_type"] for file in EXAMPLES}
    assert kinds == {"MULTI_GPU", "FSDP", "DEEPSPEED"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"distributed_type": "MEGATRON_LM"},
            "distributed_type = 'MEGATRON_LM': choose of MULTI_GPU",
        ),
        ({"mixed_precision": "bf16"}, "mixed_precision = 'bf16': give 'no': model.dtype decides"),
        ({"num_processes": -1}, "num_processes = -1: give a multiple of num_machines, 1"),
        ({"num_machines": 2, "num_processes": 3}, "num_processes = 3: give a multiple"),
        ({"processes": 2}, "no config of accelerate .*unknown keys"),
        ({"distributed_type": "FSDP"}, "fsdp_version = 1: give 2"),
        (
            {
                "distributed_type": "FSDP",
                "fsdp_config": {"fsdp_version": 2, "fsdp_auto_wrap_policy": "NO_WRAP"},
            },
            "fsdp_auto_wrap_policy = 'NO_WRAP': give TRANSFORMER_BASED_WRAP",
        ),
        (
            {"distributed_type": "DEEPSPEED", "deepspeed_config": {"zero_stage": 3}},
            "zero_stage = 3: give 1 or 2, or use FSDP",
        ),
        (
            {"distributed_type": "DEEPSPEED", "num_machines": 2, "num_processes": 2},
            "deepspeed_multinode_launcher = 'pdsh': give standard",
        ),
    ],
)
def test_a_config_that_cannot_be_followed_is_refused(tmp_path, changes, message):
    with pytest.raises(ParamsError, match=message):
        read_config(write_config(tmp_path, **changes))


@pytest.mark.skipif(find_spec("deepspeed") is not None, reason="deepspeed is installed")
def test_deepspeed_that_is_not_installed_is_named(tmp_path):
    done = start(tmp_path, str(write_config(tmp_path, distributed_type="DEEPSPEED")), "none")
    assert "the package is not installed; pip install deepspeed" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_config_is_named(tmp_path):
    with pytest.raises(ParamsError, match=r"accelerate\.config = .*none\.yaml': no such file"):
        read_config(tmp_path / "none.yaml")


def test_a_machine_that_the_config_does_not_have_is_refused(tmp_path):
    done = start(tmp_path, str(write_config(tmp_path)), "none", **{MACHINE_VARIABLE: "1"})
    assert "PARALLAX_MACHINE_RANK = '1': " in done.stderr
    assert "give a number from 0 to 0" in done.stderr
