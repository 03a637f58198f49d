from pathlib import Path

import pytest

from parallax.errors import DataError, ParamsError
from parallax.files import read_json, read_table, write_table
from parallax.framing.annotation.answers import Answers, pair_digest, write_answers
from parallax.framing.annotation.decisions import Decision, write_decisions
from parallax.framing.annotation.questions import QUESTION_NAMES
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
    (place / "human").mkdir()

    def call(labelled=RAW / "equivalence_pairs.jsonl", **values):
        values = {"source": "proxy", "least_sensitivity": 0.9, "least_specificity": 0.8} | values
        change_params(**{f"audit__{key}": value for key, value in values.items()})
        command = f"--pairs pairs.parquet --labelled {labelled}"
        command += f" --human human --out {FILES[0]} --report {FILES[1]}"
        return audit.main(audit.build_parser().parse_args(command.split()))

    return call


def test_shipped_items_are_audited_and_a_missed_gate_comes_after_the_files(run):
    summary = run()
    table, report = read_table(Path(FILES[0])), read_json(Path(FILES[1]))
    assert list(table["item"]) == [item.id for item in read_items(RAW / "items.jsonl")]
    assert table["equivalent"].all(), table.loc[~table["equivalent"], ["item", "reason"]]
    assert report["items"] == {"equivalent": 72, "doubtful": 0}
    assert report["source"] == "proxy" and set(table["source"]) == {"proxy"}
    assert report["gate"]["passed"] is report["passed"] is True and report["human"] is None
    assert (table["proxy_equivalent"] == table["equivalent"]).all()
    assert summary.startswith("audit: 72 of 72 items equivalent by the proxy, which finds 2")
    before = [Path(name).read_bytes() for name in FILES]
    # The same again, with a gate out of reach.
    for name in FILES:
        Path(name).unlink()
    with pytest.raises(ParamsError, match=r"audit\.least_specificity 0\.99: the proxy's specific"):
        run(least_specificity=0.99)
    assert Path(FILES[0]).read_bytes() == before[0]
    strict = read_json(Path(FILES[1]))
    assert strict["gate"]["passed"] is strict["passed"] is False
    assert {**strict, "gate": report["gate"], "passed": True} == report


def test_without_labelled_pairs_nothing_is_written(run, tmp_path):
    (tmp_path / "few.jsonl").write_text(
        (RAW / "equivalence_pairs.jsonl").read_text(encoding="utf-8").splitlines()[0] + "\n"
    )
    with pytest.raises(DataError, match="no negation pair in the part 'fit'"):
        run(labelled="few.jsonl")
    assert not any(Path(name).exists() for name in FILES)


@pytest.fixture
def answer():
    """`answer(no={item: annotators who say no to its intent})` writes answers on all items."""

    def write(no=(), caught=""):
        pairs = [(item.id, item.text(0), item.text(1)) for item in read_items(RAW / "items.jsonl")]
        rows = [
            Answers(
                *(annotator, f"{item}-{annotator}", item, "", pair_digest(a, b)),
                dict.fromkeys(QUESTION_NAMES, True)
                | {"intent": annotator not in dict(no).get(item, "")},
            )
            for annotator in "123"
            for item, a, b in pairs
        ]
        rows += [
            Answers(
                *(annotator, f"c-{annotator}", "c1", "negation", "00"),
                dict.fromkeys(QUESTION_NAMES, annotator == caught),
            )
            for annotator in "123"
        ]
        write_answers(Path("human/answers.csv"), rows)
        return {item: pair_digest(a, b) for item, a, b in pairs}

    return write


def test_people_decide_and_the_proxys_word_is_kept_apart(run, answer):
    digests = answer({"fraud-h1": "123", "fraud-h2": "12", "fraud-h3": "123", "drugs-h1": "1"})
    kept = Decision(digests["fraud-h2"], True, "the same, read twice")
    write_decisions(Path("human/decisions.csv"), {"fraud-h2": kept})
    # The proxy is below its gate here, which stops nothing where people speak.
    summary = run(source="human", least_specificity=0.99)
    table, report = read_table(Path(FILES[0])), read_json(Path(FILES[1]))
    verdicts = table.set_index("item")
    assert set(table["source"]) == {"human"} and table["proxy_equivalent"].all()
    assert list(table.loc[~table["equivalent"], "item"]) == ["fraud-h1", "fraud-h3"]
    assert verdicts.loc["fraud-h1", "reason"].startswith("0 of 3 annotators say yes to all three")
    assert verdicts.loc["fraud-h2", "reason"].startswith(
        "adjudicated: the same, read twice (1 of 3"
    )
    assert report["source"] == "human" and report["passed"] is True
    assert report["gate"]["passed"] is False  # the proxy's
    assert report["items"] == {"equivalent": 70, "doubtful": 2}
    human = report["human"]
    # 72 items, 216 answers, 9 of them no; apart are drugs-h1 and fraud-h2, 2 of each 3 answers:
    # D_o = 4 / 216, D_e = 2 * 9 * 207 / (216 * 215).
    assert human["questions"]["intent"]["value"] == pytest.approx(
        1 - (4 / 216) / (2 * 9 * 207 / (216 * 215))
    )
    assert human["questions"]["difficulty"]["value"] is None
    assert human["contested"] == ["fraud-h1", "fraud-h2", "fraud-h3", "drugs-h1"]
    assert human["adjudicated"] == {"fraud-h2": True}
    assert human["gate"]["passed"] is True
    assert summary == f"audit: 70 of 72 items equivalent by 3 annotators -> {FILES[0]}"


def test_people_below_their_gate_stop_the_stage_after_its_files(run, answer):
    answer({"fraud-h1": "1"}, caught="2")
    with pytest.raises(ParamsError) as error:
        run(source="human")
    text = str(error.value)
    assert "audit.least_alpha 0.67: alpha on intent is 0.000" in text
    assert "audit.most_catch_failures 0.2: annotator 2 failed 1 of 1 catch pairs (c1)" in text
    report = read_json(Path(FILES[1]))
    assert report["passed"] is False and len(report["human"]["gate"]["faults"]) == 2
    # The proxy's own gate is passed, and does not stand in.
    assert report["gate"]["passed"] is True


def test_without_peoples_answers_to_these_texts_there_is_no_human_audit(run, answer):
    with pytest.raises(DataError, match=r"human/answers\.csv: no such file; import"):
        run(source="human")
    answer()
    pairs = read_table(Path("pairs.parquet"))
    pairs.loc[3, "b"] += " Please."
    write_table(Path("pairs.parquet"), pairs)
    with pytest.raises(DataError, match="item fraud-h4: its texts are not those that annotators"):
        run(source="human")
    assert not any(Path(name).exists() for name in FILES)
