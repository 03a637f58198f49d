import math

import pandas as pd
import pytest

from parallax.errors import DataError
from parallax.params import Scoring, parse_scoring
from parallax.umu.matchers import MATCHERS, Choice
from parallax.umu.outputs import OUTPUT_COLUMNS
from parallax.umu.scoring import score_choice, score_cloze, score_outputs

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


def options(**given):
    return parse_scoring(
        dict.fromkeys(Scoring.model_fields) | {"compat": "default"} | given, "test"
    )


def score(*rows, group="forget", **given):
    return score_outputs(table(*rows).assign(set=group), options(**given), "sft.parquet")


class TestCloze:
    @pytest.mark.parametrize("output", ["Lyon", "in LYON, France.", "It is lyon", "Lyons", "Lyon."])
    def test_first_sentence_holds_the_answer(self, output):
        assert score_cloze(output, "Lyon", first_sentence=True, cut_reference=False)

    @pytest.mark.parametrize("output", ["", "Ly on", "I don't know", ". Lyon", "No. It is Lyon"])
    def test_first_sentence_lacks_the_answer(self, output):
        assert not score_cloze(output, "Lyon", first_sentence=True, cut_reference=False)

    def test_without_the_cut_later_sentences_count(self):
        assert score_cloze("No. It is Lyon", "Lyon", first_sentence=False, cut_reference=False)

    @pytest.mark.parametrize(
        ("output", "first_sentence", "cut_reference", "right"),
        [
            # "st" holds no "st. louis".
            ("St. Louis", True, False, False),
            ("St. Louis", False, False, True),
            ("East Berlin", False, False, False),
            # "st" is in nearly anything.
            ("St. Louis", True, True, True),
            ("East Berlin", False, True, True),
        ],
    )
    def test_a_full_stop_in_the_reference(self, output, first_sentence, cut_reference, right):
        cuts = {"first_sentence": first_sentence, "cut_reference": cut_reference}
        assert score_cloze(output, "St. Louis", **cuts) == right

    @pytest.mark.parametrize("reference", ["", "  "])
    @pytest.mark.parametrize("cut", [True, False])
    def test_an_empty_reference_is_refused(self, reference, cut):
        with pytest.raises(DataError, match="every output would match"):
            score_cloze("Lyon", reference, first_sentence=not cut, cut_reference=cut)

    def test_a_reference_that_the_cut_empties_is_refused(self):
        assert not score_cloze("Lyon", ".5", first_sentence=True, cut_reference=False)
        with pytest.raises(DataError, match="every output would match"):
            score_cloze("Lyon", ".5", first_sentence=False, cut_reference=True)


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
        korean = row(task="generation", reference="그는 서울", output="그는 서울")
        assert list(score(korean)["score"]) == [1]
        assert list(score(korean, tokenizer="rouge_score")["score"]) == [0]

    def test_modalities_may_order_their_options_differently(self):
        # The letter of one modality must not be read from the other.
        turned = [*CITIES[1:], CITIES[0]]
        scored = score(
            choice_row(output="Lyon"), choice_row(output="Lyon", modality="text", options=turned)
        )
        assert list(scored["matched_option"]) == ["B", "A"]
        assert list(scored["score"]) == [1, 1]

    def test_the_letter_may_be_read_from_the_text_twin(self):
        # The text says B of its own order, which is Oslo in the image's: right is what is wrong.
        turned = [CITIES[3], CITIES[1], CITIES[0], CITIES[2]]
        rows = [
            choice_row(output="Oslo", options=[CITIES[1], CITIES[0], *CITIES[2:]]),
            choice_row(output="Lyon", modality="text", options=turned),
            choice_row(output="Lyon", modality="text", options=turned, field="residence"),
            choice_row(output="Lyon", field="residence"),
        ]
        assert list(score(*rows)["score"]) == [0, 1, 1, 1]
        assert list(score(*rows, option_letter="text")["score"]) == [1, 1, 1, 1]

    def test_a_letter_that_no_twin_tells_is_refused(self):
        with pytest.raises(DataError, match=r"person 7, .*, image: its text twin is missing"):
            score(choice_row(), option_letter="text")

    def test_real_people_may_have_a_matcher_of_their_own(self):
        near = choice_row(output="It is Lyon")
        mixed = {"matcher": "exact", "real_matcher": "difflib"}
        assert list(score(near, group="retain", **mixed)["score"]) == [0]
        assert list(score(near, group="real", **mixed)["score"]) == [1]
        # Where it is null, they share the others'.
        assert list(score(near, group="real", matcher="exact")["score"]) == [0]

    def test_outputs_may_end_where_the_model_began_another_turn(self):
        rows = [
            choice_row(output="Oslo USER: no\nASSISTANT: Lyon", reference="Oslo"),
            row(output="Oslo\nASSISTANT: Lyon"),
            row(task="generation", reference="a b", output="a ASSISTANT: b"),
        ]
        assert list(score(*rows, matcher="exact")["score"]) == [0, 1, 0.8]
        cut = score(*rows, matcher="exact", cut_at_assistant=True)
        # "Oslo USER: no" is no option; a of a b: P 1, R 1/2, F 2/3.
        assert list(cut["score"]) == [0, 0, pytest.approx(2 / 3)]
        assert list(cut["output"]) == [r["output"] for r in rows]

    def test_a_refusal_is_mapped_too(self):
        scored = score(choice_row(output="I don't know"), choice_row(output="", modality="text"))
        assert set(scored["matched_option"]) <= set("ABCD")

    def test_outputs_are_not_changed_and_keep_their_order(self):
        outputs = table(row(person_id="9"), row(person_id="10")).assign(set="real")
        before = outputs.copy(deep=True)
        scored = score_outputs(outputs, options(), "x")
        pd.testing.assert_frame_equal(outputs, before)
        pd.testing.assert_frame_equal(scored[list(before.columns)], before)

    def test_an_error_of_a_matcher_names_the_row(self):
        bad = choice_row(person_id="8", option_logprobs=[])
        with pytest.raises(DataError, match=r"sft\.parquet: person 8, .*image: option_logprobs"):
            score(choice_row(), bad, matcher="likelihood")

    def test_no_rows_give_no_scores(self):
        assert len(score()) == 0

    def test_generation_alone_and_judged_alone(self):
        assert list(score(row(task="generation"))["score"]) == [1]
        assert math.isnan(score(row())["rouge1"][0])
