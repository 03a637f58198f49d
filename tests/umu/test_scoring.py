import math

import pandas as pd
import pytest

from parallax.errors import DataError
from parallax.umu.matchers import MATCHERS, Choice
from parallax.umu.scoring import (
    OUTPUT_COLUMNS,
    SCORED_COLUMNS,
    assign_sets,
    check_scored,
    score_choice,
    score_cloze,
    score_outputs,
    sort_scored,
)

CITIES = ("Oslo", "Lyon", "Porto", "Turin")


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


def choice_row(**changes):
    return row(
        **{
            "task": "classification",
            "options": list(CITIES),
            "option_logprobs": [-1.0, -5.0, -6.0, -7.0],
            "option_tokens": [2, 2, 2, 2],
            **changes,
        }
    )


def table(*rows):
    return pd.DataFrame(rows, columns=list(OUTPUT_COLUMNS))


def score(*rows, matcher="rapidfuzz", first_sentence=True):
    return score_outputs(
        table(*rows), MATCHERS[matcher], first_sentence=first_sentence, source="sft.parquet"
    )


class TestCloze:
    @pytest.mark.parametrize("output", ["Lyon", "in LYON, France.", "It is lyon", "Lyons", "Lyon."])
    def test_first_sentence_holds_the_answer(self, output):
        assert score_cloze(output, "Lyon", first_sentence=True)

    @pytest.mark.parametrize("output", ["", "Ly on", "I don't know", ". Lyon", "No. It is Lyon"])
    def test_first_sentence_lacks_the_answer(self, output):
        assert not score_cloze(output, "Lyon", first_sentence=True)

    def test_without_the_cut_later_sentences_count(self):
        assert score_cloze("No. It is Lyon", "Lyon", first_sentence=False)

    def test_a_full_stop_in_the_reference(self):
        # The cut output "st" holds no "st. louis"; the cut reference "st" is in nearly anything.
        assert not score_cloze("St. Louis", "St. Louis", first_sentence=True)
        assert score_cloze("St. Louis", "St. Louis", first_sentence=False)
        assert score_cloze("East Berlin", "St. Louis", first_sentence=False)

    @pytest.mark.parametrize("reference", ["", "  "])
    @pytest.mark.parametrize("first_sentence", [True, False])
    def test_an_empty_reference_is_refused(self, reference, first_sentence):
        with pytest.raises(DataError, match="every output would match"):
            score_cloze("Lyon", reference, first_sentence=first_sentence)

    def test_a_reference_that_the_cut_empties_is_refused(self):
        assert not score_cloze("Lyon", ".5", first_sentence=True)
        with pytest.raises(DataError, match="every output would match"):
            score_cloze("Lyon", ".5", first_sentence=False)


class TestChoice:
    def test_letter_and_right(self):
        lyon = Choice("Lyon", CITIES)
        assert score_choice(lyon, "Lyon", MATCHERS["rapidfuzz"]) == ("B", True)
        assert score_choice(lyon, "Oslo", MATCHERS["rapidfuzz"]) == ("B", False)
        unmatched = Choice("It is Lyon", CITIES)
        assert score_choice(unmatched, "Lyon", MATCHERS["exact"]) == ("", False)

    def test_the_reference_must_be_an_option(self):
        with pytest.raises(DataError, match="'Ulm' is none of the options"):
            score_choice(Choice("Lyon", CITIES), "Ulm", MATCHERS["exact"])


class TestScoreOutputs:
    def test_each_task_gets_its_score(self):
        # Generation: 3 of 4 words in order, of 4: P = R = F = 3/4.
        scored = score(
            row(output="Paris"),
            choice_row(output="B. Lyon"),
            row(
                task="generation",
                reference="she builds old bridges",
                output="she builds new bridges",
            ),
            choice_row(field="residence", output="Turin", reference="Oslo"),
        )
        assert list(scored["score"]) == [0, 1, 0.75, 0]
        assert list(scored["matched_option"]) == ["", "B", "", "D"]
        assert scored["rouge1"][2] == 0.75
        # Bigrams "she builds" of three each: 1/3.
        assert scored["rouge2"][2] == pytest.approx(1 / 3)
        for column in ("rouge1", "rouge2", "bleu"):
            assert list(scored[column].isna()) == [True, True, False, True]

    def test_the_matcher_and_the_cut_are_those_that_were_asked_for(self):
        rows = [
            choice_row(output="It is Lyon"),
            row(reference="Lyon", output="No. Lyon"),
        ]
        assert list(score(*rows)["score"]) == [1, 0]
        assert list(score(*rows, matcher="exact")["score"]) == [0, 0]
        assert list(score(*rows, matcher="likelihood")["matched_option"]) == ["A", ""]
        assert list(score(*rows, first_sentence=False)["score"]) == [1, 1]

    def test_modalities_may_order_their_options_differently(self):
        # The letter of one modality must not be read from the other.
        turned = [*CITIES[1:], CITIES[0]]
        scored = score(
            choice_row(output="Lyon"), choice_row(output="Lyon", modality="text", options=turned)
        )
        assert list(scored["matched_option"]) == ["B", "A"]
        assert list(scored["score"]) == [1, 1]

    def test_a_refusal_is_mapped_too(self):
        scored = score(choice_row(output="I don't know"), choice_row(output="", modality="text"))
        assert set(scored["matched_option"]) <= set("ABCD")

    def test_outputs_are_not_changed_and_keep_their_order(self):
        outputs = table(row(person_id="9"), row(person_id="10"))
        before = outputs.copy(deep=True)
        scored = score_outputs(outputs, MATCHERS["exact"], first_sentence=True, source="x")
        pd.testing.assert_frame_equal(outputs, before)
        pd.testing.assert_frame_equal(scored[list(OUTPUT_COLUMNS)], before)

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
    def test_a_row_that_cannot_be_scored_is_named(self, changes, message):
        bad = row(person_id="8", **changes)
        with pytest.raises(DataError, match=rf"sft\.parquet: person 8, .*{message}"):
            score(row(), bad)

    def test_an_error_of_a_matcher_names_the_row(self):
        bad = choice_row(person_id="8", option_logprobs=[])
        with pytest.raises(DataError, match=r"sft\.parquet: person 8, .*image: option_logprobs"):
            score(choice_row(), bad, matcher="likelihood")

    def test_a_doubled_row_is_named(self):
        with pytest.raises(DataError, match="person 7, cloze of birth_city, image comes twice"):
            score(row(), row(modality="text"), row(output="Oslo"))

    def test_a_missing_column_is_named(self):
        with pytest.raises(DataError, match=r"sft\.parquet: no column 'option_logprobs'"):
            score_outputs(
                table(row()).drop(columns="option_logprobs"),
                MATCHERS["exact"],
                first_sentence=True,
                source="sft.parquet",
            )

    def test_no_rows_give_no_scores(self):
        assert len(score()) == 0

    def test_generation_alone_and_judged_alone(self):
        assert list(score(row(task="generation"))["score"]) == [1]
        assert math.isnan(score(row())["rouge1"][0])


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
        return score(row()).assign(model="sft", set="forget", abstained=False)

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
