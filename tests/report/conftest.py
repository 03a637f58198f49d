import importlib.util
from pathlib import Path

import pytest

from parallax.report.inputs import read_inputs


def load_sample():
    spec = importlib.util.spec_from_file_location("sample", Path(__file__).with_name("sample.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def sample():
    return load_sample()


@pytest.fixture(scope="session")
def inputs(sample, tmp_path_factory):
    scored = sample.make_scored(people=(9, 5, 4))
    return read_inputs(**sample.write_run(tmp_path_factory.mktemp("run"), scored))
