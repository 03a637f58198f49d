"""The command from the items to kept answers and decisions."""

import csv
from pathlib import Path

import pytest

from parallax.errors import DataError, ParallaxError
from parallax.files import read_json, read_table, write_table
from parallax.framing.items import read_items
from parallax.framing.prompt_table import pairs_table
from parallax.stages import audit, human_audit

RAW = Path(__file__).parents[2] / "data/raw/framing"
LABELLED = RAW / "equivalence_pairs.jsonl"
COLUMNS = ("same_intent", "same_difficulty", "same_compliance")


@pytest.fixture
def run(place):
    """`run("export ...")` runs the command on the pilot's pairs; returns its summary."""
    pilot = [item for item in read_items(RAW / "items.jsonl") if item.pilot]
    write_table(place / "data/framing/pairs.parquet", pairs_table(pilot))

    def call(line):
        words = line.split()
        if words[0] == "export":
            words += ["--labelled", str(LABELLED)]
        return human_audit.main(human_audit.build_parser().parse_args(words))

    return call


def read_csv(path):
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write_csv(path, rows):
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def fill(no=()):
    """Fill the exported sheets; annotators named in `no[pair]` say no to its intent."""
    key = {row["id"]: row for row in read_csv("key.csv")}
    for name in "123":
        rows = read_csv(f"sheets/annotator-{name}/sheet.csv")
        for row in rows:
            known = key[row["id"]]
            row |= dict.fromkeys(COLUMNS, "yes")
            for column in COLUMNS:
                row[column] = known[column.replace("same", "right")] or "yes"
            if name in dict(no).get(known["pair"], ""):
                row["same_intent"] = "no"
        write_csv(f"filled-{name}.csv", rows)
    return "--sheets filled-1.csv filled-2.csv filled-3.csv"


EXPORT = "export --out sheets --key key.csv --seed 7"
IMPORT = "import --key key.csv --out human --adjudication contested.csv"


def test_from_export_to_a_verdict_by_people(run, change_params):
    assert run(EXPORT) == (
        "human_audit: 20 pairs and 2 catch pairs for each of 3 annotators -> sheets; the key, not"
        " for them -> key.csv"
    )
    for name in "123":
        names = {path.name for path in Path(f"sheets/annotator-{name}").iterdir()}
        assert names == {"sheet.csv", "form.html", "read-me.txt"}
    sheets = fill({"fraud-h1": "123", "fraud-h2": "12", "privacy-h1": "123"})
    said = run(f"{IMPORT} {sheets}")
    assert "annotator 1: 0 of 2 catch pairs failed\n" in said
    assert "below the gate: fraud-h1: 0 of 3 annotators say yes" in said
    assert said.endswith(
        "66 rows of answers -> human/answers.csv; 3 contested pairs -> contested.csv"
    )

    rows = read_csv("contested.csv")
    for row in rows:
        kept = row["item"] == "fraud-h2"
        row |= {"decision": "equivalent" if kept else "different", "reason": "discussed"}
    write_csv("contested.csv", rows)
    assert run("adjudicate --sheet contested.csv --out human") == (
        "human_audit: 3 decisions, 1 of them equivalent -> human/decisions.csv"
    )

    change_params(audit__source="human")
    line = f"--pairs data/framing/pairs.parquet --labelled {LABELLED} --human human"
    line += " --out audit.parquet --report audit.json"
    assert audit.main(audit.build_parser().parse_args(line.split())).startswith("audit: 18 of 20")
    table = read_table(Path("audit.parquet"))
    assert sorted(table.loc[~table["equivalent"], "item"]) == ["fraud-h1", "privacy-h1"]
    assert read_json(Path("audit.json"))["human"]["adjudicated"].keys() == {
        *("fraud-h1", "fraud-h2", "privacy-h1")
    }


def test_the_same_seed_writes_the_same_bytes(run):
    run(EXPORT)
    first = {path: path.read_bytes() for path in Path("sheets").rglob("*.*")}
    run(f"{EXPORT} --replace")
    assert first == {path: path.read_bytes() for path in Path("sheets").rglob("*.*")}


def test_nothing_is_written_over_unless_it_is_asked_for(run):
    run(EXPORT)
    kept = Path("key.csv").read_bytes()
    with pytest.raises(ParallaxError, match=r"key\.csv is there already; add --replace"):
        run("export --out other --key key.csv --seed 8")
    with pytest.raises(ParallaxError, match="sheets/annotator-1 is there already"):
        run("export --out sheets --key other.csv --seed 8")
    assert Path("key.csv").read_bytes() == kept and not Path("other").exists()
    sheets = fill({"fraud-h2": "1"})
    run(f"{IMPORT} {sheets}")
    Path("human/decisions.csv").write_text("made on these answers")
    before = Path("human/answers.csv").read_bytes()
    fill()
    for left in ("human/answers.csv", "human/decisions.csv", "contested.csv"):
        with pytest.raises(ParallaxError, match=f"{left} is there already"):
            run(f"{IMPORT} {sheets}")
        Path(left).rename(f"{left}.kept")
    assert Path("human/answers.csv.kept").read_bytes() == before
    for left in ("human/answers.csv", "human/decisions.csv", "contested.csv"):
        Path(f"{left}.kept").rename(left)
    run(f"{IMPORT} {sheets} --replace")
    assert Path("human/answers.csv").read_bytes() != before
    assert not Path("human/decisions.csv").exists()


def decide(word):
    rows = read_csv("contested.csv")
    write_csv("contested.csv", [row | {"decision": word, "reason": word} for row in rows])
    return Path("contested.csv").read_bytes()


def test_decisions_that_were_typed_in_are_moved_and_never_lost(run):
    run(EXPORT)
    sheets = fill({"fraud-h2": "1"})
    run(f"{IMPORT} {sheets}")
    # Nothing is typed in: nothing to keep.
    assert "old" not in run(f"{IMPORT} {sheets} --replace")
    assert not Path("contested.csv.old").exists()
    first = decide("different")
    assert run(f"{IMPORT} {sheets} --replace").endswith(
        "1 contested pairs -> contested.csv; the decisions that were in contested.csv ->"
        " contested.csv.old"
    )
    assert Path("contested.csv.old").read_bytes() == first
    assert [row["decision"] for row in read_csv("contested.csv")] == [""]

    second = decide("equivalent")
    answers = Path("human/answers.csv").read_bytes()
    fill()
    with pytest.raises(
        ParallaxError, match=r"contested\.csv\.old is there already.*move or delete one of the two"
    ):
        run(f"{IMPORT} {sheets} --replace")
    assert Path("contested.csv.old").read_bytes() == first
    assert Path("contested.csv").read_bytes() == second
    assert Path("human/answers.csv").read_bytes() == answers


def test_a_sheet_that_cannot_be_read_may_hold_decisions(run):
    run(EXPORT)
    sheets = fill({"fraud-h2": "1"})
    run(f"{IMPORT} {sheets}")
    Path("contested.csv").write_bytes(decide("different").decode().encode("utf-16"))
    fill()
    assert run(f"{IMPORT} {sheets} --replace").endswith(
        "0 contested pairs; the decisions that were in contested.csv -> contested.csv.old"
    )
    assert not Path("contested.csv").exists() and Path("contested.csv.old").exists()


def test_the_key_is_kept_out_of_what_annotators_get(run):
    with pytest.raises(ParallaxError, match="lies in sheets, which annotators get"):
        run("export --out sheets --key sheets/key.csv --seed 7")
    assert not Path("sheets").exists()


def test_without_contested_pairs_there_is_nothing_to_adjudicate(run):
    run(EXPORT)
    assert run(f"{IMPORT} {fill()}").endswith("-> human/answers.csv; 0 contested pairs")
    assert not Path("contested.csv").exists()


def test_a_refused_sheet_leaves_nothing_behind(run):
    run(EXPORT)
    sheets = fill()
    rows = read_csv("filled-3.csv")
    rows[4]["same_compliance"] = ""
    write_csv("filled-3.csv", rows)
    with pytest.raises(DataError, match=r"filled-3\.csv: line 6, column same_compliance: ''; want"):
        run(f"{IMPORT} {sheets}")
    assert not Path("human").exists() and not Path("contested.csv").exists()


def test_sheets_of_another_export_are_refused(run):
    run(EXPORT)
    sheets = fill()
    run("export --out again --key again.csv --seed 8")
    with pytest.raises(
        DataError, match=r"filled-1\.csv: line 2, column id: .*an ID that the key has"
    ):
        run(f"import --key again.csv --out human {sheets}")
