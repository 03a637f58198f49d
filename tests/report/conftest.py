import importlib.util
from pathlib import Path

import pytest

from parallax.report.framing_inputs import read_framing_inputs
from parallax.report.inputs import read_inputs


def load_module(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def sample():
    return load_module("sample")


@pytest.fixture(scope="session")
def inputs(sample, tmp_path_factory):
    scored = sample.make_scored(people=(9, 5, 4))
    return read_inputs(**sample.write_run(tmp_path_factory.mktemp("run"), scored))


@pytest.fixture(scope="session")
def framing_sample():
    return load_module("framing_sample")


@pytest.fixture(scope="session")
def framing_paths(framing_sample, tmp_path_factory):
    """Two subjects, one of them behind an endpoint, under two judges."""
    return framing_sample.write_run(tmp_path_factory.mktemp("framing"))


@pytest.fixture(scope="session")
def framing(framing_paths):
    return read_framing_inputs(**framing_paths)


@pytest.fixture(scope="session")
def lone(framing_sample, tmp_path_factory):
    """One subject behind an endpoint, under one judge."""
    folder = tmp_path_factory.mktemp("lone")
    return read_framing_inputs(
        **framing_sample.write_run(folder, subjects=("behind",), judges=("prototype",))
    )
