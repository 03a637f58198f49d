from pathlib import Path

import pytest

from parallax.errors import DataError, ParamsError
from parallax.files import read_json, read_table, write_table
from parallax.framing.items import read_items
from parallax.framing.prompt_table import pairs_table
from parallax.stages import audit

TOP = Path(__file__).parents[2]
RAW = TOP / "data" / "raw" / "framing"
FILES = ("audit.parquet", "audit.json")


@pytest.fixture
def run(place, change_params):
    """`run(**values of params.audit)` audits all shipped items in an empty folder."""
    write_table(place / "pairs.parquet", pairs_table(read_items(RAW / "items.jsonl")))

    def call(labelled=RAW / "equivalence_pairs.jsonl", **values):
        values = {"least_sensitivity": 0.9, "least_specificity": 0.8} | values
        change_params(**{f"audit__{key}": value for key, value in values.items()})
        command = f"--pairs pairs.parquet --labelled {labelled}"
        command += f" --out {FILES[0]} --report {FILES[1]}"
        return audit.main(audit.build_parser().parse_args(command.split()))

    return call


def test_shipped_items_are_audited_and_a_missed_gate_comes_after_the_files(run):
    summary = run()
    table, report = read_table(Path(FILES[0])), read_json(Path(FILES[1]))
    assert list(table["item"]) == [item.id for item in read_items(RAW / "items.jsonl")]
    assert table["equivalent"].all(), table.loc[~table["equivalent"], ["item", "reason"]]
    assert report["items"] == {"equivalent": 72, "doubtful": 0}
    assert report["source"] == "proxy" and set(table["source"]) == {"proxy"}
    assert report["gate"]["passed"] is True
    assert summary.startswith("audit: 72 of 72 items equivalent by the proxy, which finds 2")
    before = [Path(name).read_bytes() for name in FILES]
    # The same again, with a gate out of reach.
    for name in FILES:
        Path(name).unlink()
    with pytest.raises(ParamsError, match=r"audit\.least_specificity 0\.99: the proxy's specific"):
        run(least_specificity=0.99)
    assert Path(FILES[0]).read_bytes() == before[0]
    strict = read_json(Path(FILES[1]))
    assert strict["gate"]["passed"] is False
    assert {**strict, "gate": report["gate"]} == report


def test_without_labelled_pairs_nothing_is_written(run, tmp_path):
    (tmp_path / "few.jsonl").write_text(
        (RAW / "equivalence_pairs.jsonl").read_text(encoding="utf-8").splitlines()[0] + "\n"
    )
    with pytest.raises(DataError, match="no negation pair in the part 'fit'"):
        run(labelled="few.jsonl")
    assert not any(Path(name).exists() for name in FILES)
