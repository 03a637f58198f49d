import dataclasses

import great_expectations.expectations as gxe
import pandas as pd
import pytest

from parallax.errors import DataError
from parallax.validation.findings import FINDERS, Findings, finder
from parallax.validation.suite import Check, ExpectNoFindings, describe_failures, run_checks

if "test_tall" not in list(FINDERS):

    @finder("test_tall", columns=("height",))
    def _tall(frame):
        return Findings(len(frame), tuple(frame["row"][frame["height"] > 200]))


FRAME = pd.DataFrame(
    {"row": ["a/1", "a/2", "a/3"], "height": [170, 210, 180], "sex": ["f", "m", "x"]}
)
TALL = Check("tall", "Nobody is tall.", "people", ExpectNoFindings(finder="test_tall"))
SEX = Check(
    "sex",
    "Sex is f or m.",
    "people",
    gxe.ExpectColumnValuesToBeInSet(column="sex", value_set=["f", "m"]),
)
KINDS = Check(
    "kinds",
    "At least four sexes.",
    "people",
    gxe.ExpectColumnUniqueValueCountToBeBetween(column="sex", min_value=4),
)


def run(*checks, frame=FRAME):
    return run_checks(checks, {"people": lambda: frame})


def test_findings_and_column_values_and_totals_name_what_is_wrong():
    report = run(TALL, SEX, KINDS)
    assert report["success"] is False
    assert [check["name"] for check in report["checks"]] == ["tall", "sex", "kinds"]
    assert report["checks"][0] == {
        "name": "tall",
        "description": "Nobody is tall.",
        "success": False,
        "outcome": "failed",
        "reason": "",
        "rows_checked": 3,
        "unexpected_count": 1,
        "unexpected": ["a/2"],
        "error": None,
    }
    assert report["checks"][1]["unexpected"] == ["a/3: sex x"]
    assert report["checks"][2]["unexpected"] == ["sex: 3 (min_value 4)"]


def test_all_checks_pass_on_a_clean_frame():
    report = run(TALL, SEX, frame=FRAME.iloc[[0]])
    assert report["success"] is True
    assert describe_failures(report) == []


def test_what_is_noted_or_skipped_stops_nothing_and_says_why():
    noted = dataclasses.replace(TALL, noted="giants are welcome")
    skipped = dataclasses.replace(SEX, frame="nowhere", skipped="nobody knows")
    report = run(noted, skipped)
    assert report["success"] is True
    assert describe_failures(report) == []
    first, second = report["checks"]
    assert (first["outcome"], first["reason"]) == ("noted", "giants are welcome")
    assert first["unexpected"] == ["a/2"]
    assert (second["outcome"], second["reason"]) == ("skipped", "nobody knows")
    assert (second["success"], second["rows_checked"], second["error"]) == (False, 0, None)


def test_a_check_to_be_noted_passes_like_another_and_fails_when_it_cant_be_evaluated():
    noted = dataclasses.replace(TALL, noted="giants are welcome")
    assert run(noted, frame=FRAME.iloc[[0]])["checks"][0]["outcome"] == "passed"
    broken = run(noted, frame=FRAME.drop(columns="height"))
    assert (broken["success"], broken["checks"][0]["outcome"]) == (False, "failed")


@pytest.mark.parametrize("check", [TALL, SEX, KINDS], ids=lambda check: check.name)
def test_a_missing_column_is_an_error_of_its_checks_alone(check):
    column = "height" if check is TALL else "sex"
    other = SEX if check is TALL else TALL
    report = run(check, other, frame=FRAME.iloc[[0]].drop(columns=column))
    assert [entry["success"] for entry in report["checks"]] == [False, True]
    assert column in report["checks"][0]["error"]
    assert report["checks"][0]["unexpected"] == []
    assert describe_failures(report)[0].startswith(f"{check.name}: not evaluated, ")


def test_a_frame_that_cannot_be_built_is_an_error_and_the_other_frames_are_checked():
    def refuse():
        raise DataError("people.parquet: no such file")

    report = run_checks(
        [TALL, Check("sex", "", "others", SEX.expectation)],
        {"people": refuse, "others": lambda: FRAME.iloc[:2]},
    )
    assert report["checks"][0]["error"] == "people.parquet: no such file"
    assert report["checks"][1]["success"] is True


def test_a_check_of_no_row_is_an_error():
    report = run(TALL, frame=FRAME.iloc[:0])
    assert report["checks"][0]["error"] == "there is no row to check"
    assert report["success"] is False


def test_the_list_is_cut_at_twenty_and_the_count_is_of_all():
    frame = pd.DataFrame({"row": [f"a/{i}" for i in range(30)], "height": 220})
    report = run(TALL, frame=frame)
    assert report["checks"][0]["unexpected_count"] == 30
    assert report["checks"][0]["unexpected"] == [f"a/{i}" for i in range(20)]
    assert describe_failures(report)[0].endswith("a/19; and 10 more")


def test_two_checks_of_one_name_are_refused():
    with pytest.raises(ValueError, match="tall is declared twice"):
        run(TALL, TALL)
