import pandas as pd
import pytest

from parallax.errors import DataError
from parallax.umu.outputs import (
    OUTPUT_COLUMNS,
    SCORE_COLUMNS,
    SCORED_COLUMNS,
    assign_sets,
    check_outputs,
    check_scored,
    sort_scored,
)


def row(**changes):
    values = {
        "person_id": "7",
        "task": "cloze",
        "field": "birth_city",
        "modality": "image",
        "prompt": "The person in the image was born in [Blank].",
        "options": [],
        "reference": "Lyon",
        "output": "Lyon",
        "option_logprobs": [],
        "option_tokens": [],
    }
    return values | changes


def table(*rows):
    return pd.DataFrame(rows, columns=list(OUTPUT_COLUMNS))


def check(*rows):
    check_outputs(table(*rows), "sft.parquet")


def test_sound_rows_are_accepted():
    check(row(), row(modality="text"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reference": " "}, "reference ' ' is empty"),
        ({"output": None}, "output nan is no text"),
        ({"task": "qa"}, "task 'qa' is none of classification, cloze, generation"),
        ({"modality": "audio"}, "modality 'audio' is none of image, text"),
        ({"task": "classification", "options": ["Lyon"]}, "options .* are not four texts"),
        ({"task": "classification", "options": None}, "options None are not four texts"),
    ],
)
def test_a_row_that_cannot_be_scored_is_named(changes, message):
    with pytest.raises(DataError, match=rf"sft\.parquet: person 8, .*{message}"):
        check(row(), row(person_id="8", **changes))


def test_a_doubled_row_is_named():
    with pytest.raises(DataError, match="person 7, cloze of birth_city, image comes twice"):
        check(row(), row(modality="text"), row(output="Oslo"))


def test_a_missing_column_is_named():
    with pytest.raises(DataError, match=r"sft\.parquet: no column 'option_logprobs'"):
        check_outputs(table(row()).drop(columns="option_logprobs"), "sft.parquet")


SETS = {"forget": ["1"], "retain": ["2", "3"], "real": ["501"]}


class TestSets:
    def test_each_row_gets_the_set_of_its_person(self):
        people = pd.Series(["501", "1", "3", "1"])
        assert list(assign_sets(people, SETS, "splits.json")) == [
            "real",
            "forget",
            "retain",
            "forget",
        ]

    def test_a_person_in_no_set_or_in_two_is_named(self):
        with pytest.raises(DataError, match=r"splits\.json: person 4 .* none of the sets"):
            assign_sets(pd.Series(["1", "4"]), SETS, "splits.json")
        with pytest.raises(DataError, match="person 1 is in the sets forget and real"):
            assign_sets(pd.Series(["2"]), {**SETS, "real": ["1"]}, "splits.json")


class TestScoredTable:
    def scored(self):
        scores = dict.fromkeys(SCORE_COLUMNS, 0.0)
        return table(row()).assign(model="sft", set="forget", abstained=False, **scores)

    def test_a_scored_table_is_accepted(self):
        check_scored(self.scored(), "scored.parquet")

    @pytest.mark.parametrize(("column", "value"), [("model", "gold"), ("set", "all")])
    def test_an_unknown_model_or_set_is_named(self, column, value):
        with pytest.raises(DataError, match=rf"scored\.parquet: {column} '{value}' is none of"):
            check_scored(self.scored().assign(**{column: value}), "scored.parquet")

    def test_an_unscored_table_is_refused(self):
        with pytest.raises(DataError, match="no column 'abstained'"):
            check_scored(self.scored().drop(columns="abstained"), "scored.parquet")

    def test_tables_are_joined_and_sorted(self):
        first = self.scored().assign(model="unlearned")
        second = self.scored().assign(model="sft")
        joined = sort_scored([first, second])
        assert list(joined.columns) == list(SCORED_COLUMNS)
        assert list(joined["model"]) == ["sft", "unlearned"]
