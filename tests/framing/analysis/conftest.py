import importlib.util
from pathlib import Path

import pytest

from parallax.framing.analysis.logs import read_logs
from parallax.params import Analysis


@pytest.fixture(scope="session")
def sample():
    spec = importlib.util.spec_from_file_location("sample", Path(__file__).with_name("sample.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def settings():
    return Analysis(alpha=0.05, smallest_effect=0.1, direction="eval-cautious", seed=0)


@pytest.fixture
def read(tmp_path):
    """`read(subjects, judges)`: the logs that lie in the test's folder."""

    def call(subjects=("tiny",), judges=("lexical",)):
        names = ("responses", "verdicts", "log_odds", "familiarity")
        return read_logs(
            *(tmp_path / f"{name}.parquet" for name in names),
            tmp_path / "items.jsonl",
            tmp_path / "judges.json",
            subjects,
            judges,
        )

    return call


@pytest.fixture
def logs_of(sample, read, tmp_path):
    """`logs_of(keys, choose)`: logs of one judge who says `choose(row)` of each response."""

    def call(keys, choose, **others):
        categories = [choose(row) for row in keys.itertuples()]
        verdicts = sample.give_verdicts(keys, "lexical", categories)
        sample.write_logs(tmp_path, keys, verdicts, **others)
        return read(tuple(keys["subject"].unique()))

    return call
