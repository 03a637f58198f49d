import itertools
import shutil
from pathlib import Path

import pandas as pd
import pytest

from parallax.errors import DataError, ParamsError
from parallax.files import read_json, read_table, write_table
from parallax.framing.items import read_items
from parallax.framing.judges.responses import KEY, read_responses
from parallax.framing.judges.settings import JudgeSettings, read_settings
from parallax.stages import calibrate_judges, judge

RAW = Path(__file__).parents[3] / "data/raw/framing"
TEXTS = ("I'm sorry, but I can't help with that.", "Sure! First, write it down.", "User: hi", "")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(RAW, tmp_path / "raw")
    set_params(tmp_path, "primary: lexical\n  least_kappa: 0.5")
    write_table(tmp_path / "responses.parquet", make_responses())
    return tmp_path


def set_params(folder, text):
    (folder / "params.yaml").write_text(f"other: 1\njudging:\n  {text}\n")


def make_responses(subject="tiny"):
    cells = itertools.product(("fraud-h1", "fraud-h2"), (0, 1), ("E", "D", "N", "no_frame"))
    rows = [
        {
            "subject": subject,
            "item": item,
            "paraphrase": paraphrase,
            "arm": arm,
            "wording": "m01",
            "draw": draw,
            "seed": 1,
            "prompt": "p",
            "response": text,
            "new_tokens": 3,
            "finish": "eos",
        }
        for item, paraphrase, arm in cells
        for draw, text in enumerate(TEXTS)
    ]
    return pd.DataFrame(rows)


def calibrate():
    command = "--calibration raw/judge_calibration.jsonl --cards cards.json"
    return calibrate_judges.main(calibrate_judges.build_parser().parse_args(command.split()))


def run(responses="responses.parquet"):
    command = (
        f"--responses {responses} --items raw/items.jsonl --frames raw/frames.yaml"
        " --calibration raw/judge_calibration.jsonl --cards cards.json"
        " --verdicts verdicts.parquet --sensitivity sensitivity.json"
    )
    return judge.main(judge.build_parser().parse_args(command.split()))


def test_judge_writes_a_verdict_for_every_response(folder):
    assert calibrate().startswith("calibrate_judges: kappa lexical 0.")
    summary = run()
    table = read_table(folder / "verdicts.parquet")
    assert list(table) == [*KEY, "judge", "category", "reason", "margin"]
    assert len(table) == 2 * 2 * 4 * 4
    by_draw = table.groupby("draw")["category"].unique().map(list).to_list()
    assert by_draw == [["refusal"], ["harmful_compliance"], ["template_completion"], [""]]
    assert set(table.loc[table["draw"] == 3, "reason"]) == {"empty response"}
    assert "64 verdicts by lexical, 16 unscored; 0 of 1 frame-sensitivity gates failed" in summary
    report = read_json(folder / "sensitivity.json")["tiny"]
    assert report["judges"]["lexical"]["gate"]["passed"]
    # Two items, two paraphrases, three frames, four draws; the arm without frame stays out.
    assert report["judges"]["lexical"]["responses"] == 48
    assert report["echo"]["no_frame"]["clause"] is None


def test_judging_again_changes_no_byte_and_no_response(folder):
    calibrate()
    names = ("responses.parquet", "verdicts.parquet", "sensitivity.json", "cards.json")
    run()
    before = [(folder / name).read_bytes() for name in names]
    calibrate()
    run()
    assert [(folder / name).read_bytes() for name in names] == before


def test_a_primary_judge_without_its_grade_is_refused(folder):
    with pytest.raises(DataError, match=r"cards\.json: no such file"):
        run()
    set_params(folder, "primary: lexical\n  least_kappa: 0.99")
    calibrate()
    with pytest.raises(ParamsError, match=r"'lexical': kappa 0\.\d+ .* below 0\.99"):
        run()
    assert not (folder / "verdicts.parquet").exists()


def test_several_tables_are_judged_as_one(folder):
    write_table(folder / "more.parquet", make_responses("other"))
    calibrate()
    run("more.parquet responses.parquet")
    assert set(read_json(folder / "sensitivity.json")) == {"tiny", "other"}
    with pytest.raises(DataError, match="two responses of subject tiny, item fraud-h1"):
        run("responses.parquet responses.parquet")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("item", "no-such", "item 'no-such'; want an item"),
        ("arm", "X", "arm 'X'; want one of E, D, N"),
        ("paraphrase", 2, "paraphrase 2; want 0 or 1"),
        ("response", None, "response nan; want a text"),
    ],
)
def test_unusable_rows_are_named(folder, column, value, message):
    table = make_responses()
    table.loc[0, column] = value
    table = table.astype({"paraphrase": int})
    write_table(folder / "responses.parquet", table)
    items = {item.id: item for item in read_items(RAW / "items.jsonl")}
    with pytest.raises(DataError, match=message):
        read_responses([folder / "responses.parquet"], items)


def test_missing_columns_and_rows_are_named(folder):
    write_table(folder / "a.parquet", make_responses().drop(columns="draw"))
    with pytest.raises(DataError, match="no column 'draw'"):
        read_responses([folder / "a.parquet"], {})
    write_table(folder / "b.parquet", make_responses()[:0])
    with pytest.raises(DataError, match="no responses"):
        read_responses([folder / "b.parquet"], {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("primary: lexicl", "judging.primary = 'lexicl'"),
        ("primary: lexical\n  least_kappa: 2", "judging.least_kappa = 2"),
        ("primary: lexical\n  rubric:\n    batch: 3", "judging.rubric"),
        ("others: []", "judging.primary"),
    ],
)
def test_settings_are_checked(folder, text, message):
    set_params(folder, text)
    with pytest.raises(ParamsError, match=message):
        read_settings()


def test_a_missing_section_is_named(folder):
    (folder / "params.yaml").write_text("other: 1\n")
    with pytest.raises(ParamsError, match="judging is missing"):
        read_settings()
    with pytest.raises(ParamsError, match="no such file"):
        read_settings(folder / "none.yaml")


def test_judges_are_named_once():
    settings = JudgeSettings(primary="lexical", others=("prototype", "lexical"))
    assert settings.names == ("lexical", "prototype")
    assert settings.rubric.name_or_path == "Qwen/Qwen2.5-32B-Instruct"
