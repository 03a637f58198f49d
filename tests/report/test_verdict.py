import math

import pandas as pd
import pytest

from parallax.errors import DataError
from parallax.report.excess import Estimate, Excess, measure_excess
from parallax.report.inputs import Scores
from parallax.report.verdict import Run, judge

RUN = Run(method="npo", alpha=1.0, beta=0.5, forget_people=9, known_people=60)
EXCESS = Excess(
    Estimate(0.44, 0.33, 0.55, 9), Estimate(0.23, 0.1, 0.36, 9), Estimate(0.21, 0.0, 0.4, 9)
)
# (image, text) accuracy, RL_F of the forget people; Acc_R of the people to keep.
BEFORE = (0.97, 0.98, 1.0, 0.97)
YARDSTICK = (0.15, 0.14, 0.32, 0.98)


def scores_of(after, before=BEFORE, yardstick=YARDSTICK):
    def figures(image, text, overlap, kept):
        accuracy = {"acc_mul": image, "acc_uni": text, "n": 108}
        return {
            "forget": {"accuracy": accuracy, "generation": {"RL_F": overlap, "n": 18}},
            "retain": {"accuracy": {"acc_R": kept, "n": 240}},
            "real": {"accuracy": {"acc_R": 0.93, "n": 96}},
        }

    values = {"sft": before, "unlearned": after, "retain_only": yardstick}
    return Scores({model: figures(*figure) for model, figure in values.items()}, "metrics.json")


@pytest.mark.parametrize(
    ("after", "status"),
    [
        # Within .05 of the yardstick everywhere: .19 - .15, .17 - .14, .35 - .32.
        ((0.19, 0.17, 0.35, 0.9), "level"),
        # The descriptions are still .12 above it.
        ((0.19, 0.17, 0.44, 0.9), "partial"),
        # Left above the yardstick: .26 and .24, .02 apart.
        ((0.41, 0.38, 0.6, 0.9), "partial"),
        # Left: .45 in image, .06 in text, .39 apart.
        ((0.60, 0.20, 0.6, 0.9), "unbalanced"),
        # One modality at the yardstick does not make up for the other.
        ((0.15, 0.75, 0.6, 0.9), "unbalanced"),
        # Removed (.97 - .94) / (.97 - .15) = .04 and (.98 - .95) / .84 = .04.
        ((0.94, 0.95, 1.0, 0.97), "unforgotten"),
        # Kept .47 of .97, less than half, whatever was forgotten.
        ((0.15, 0.14, 0.32, 0.47), "damaged"),
        ((0.60, 0.20, 0.6, 0.1), "damaged"),
        ((math.nan, 0.2, 0.4, 0.9), "unjudged"),
    ],
)
def test_status(after, status):
    assert judge(scores_of(after), EXCESS, RUN).status == status


def test_nothing_learned_is_not_judged_as_forgotten():
    verdict = judge(scores_of((0.15, 0.14, 0.3, 0.9), before=(0.97, 0.2, 1, 0.97)), EXCESS, RUN)
    assert verdict.status == "unjudged"
    assert "no forgetting can be shown" in verdict.sentences[-1]


def test_undefined_yardstick_is_not_judged():
    yardstick = (math.nan, 0.14, 0.32, 0.98)
    assert judge(scores_of((0.2, 0.2, 0.4, 0.9), yardstick=yardstick), EXCESS, RUN).status == (
        "unjudged"
    )


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ((0.60, 0.20, 0.6, 0.9), "more is left in image questions than in text ones"),
        ((0.20, 0.60, 0.6, 0.9), "more is left in text questions than in image ones"),
    ],
)
def test_unbalanced_headline_names_the_modality_that_keeps_more(after, words):
    assert words in judge(scores_of(after), EXCESS, RUN).headline


def test_sentences_carry_run_figures_chance_and_counts():
    verdict = judge(scores_of((0.41, 0.38, 0.6, 0.81)), EXCESS, RUN)
    text = " ".join(verdict.sentences).replace("\u00a0", " ")
    assert "NPO with alpha 1" in text
    assert "beta 0.5" in text
    assert "forget 9 of 60 people" in text
    assert "from 97 % to 41 % with the portrait" in text
    assert "from 98 % to 38 % with the name alone" in text
    assert "n = 108" in text
    assert "answers 15 % and 14 %" in text
    assert "guessing gives 25 % of four options" in text
    assert "44 points above it in image questions (33 to 55)" in text
    assert "image minus text is 21 points (0 to 40)" in text
    assert "intervals over 9 people" in text
    assert "from 97 % to 81 % on the people to keep" in text
    assert "from 1.00 to 0.60; the yardstick has 0.32" in text


@pytest.mark.parametrize(
    "after", [(0.19, 0.17, 0.35, 0.9), (0.41, 0.38, 0.6, 0.9), (0.15, 0.14, 0.32, 0.1)]
)
def test_no_verdict_claims_deletion(after):
    verdict = judge(scores_of(after), EXCESS, RUN)
    text = " ".join((verdict.headline, *verdict.sentences)).lower()
    for claim in ("deleted", "gone", "erased", "no longer knows", "proves"):
        assert claim not in text


def test_level_says_what_it_does_not_show():
    verdict = judge(scores_of((0.19, 0.17, 0.35, 0.9)), EXCESS, RUN)
    assert "does not show that no other question" in " ".join(verdict.sentences)


def test_below_the_yardstick_is_said():
    verdict = judge(scores_of((0.05, 0.14, 0.32, 0.9)), EXCESS, RUN)
    assert "Below the yardstick in image (10\u00a0points) questions" in verdict.sentences[-1]


def test_missing_figure_names_its_place():
    accuracy = {"acc_mul": 0.9, "acc_uni": 0.9, "n": 9}
    sets = {"forget": {"accuracy": accuracy, "generation": {"n": 9}}}
    scores = Scores(dict.fromkeys(("sft", "unlearned", "retain_only"), sets), "metrics.json")
    with pytest.raises(DataError, match=r"metrics\.json: no sft\.forget\.generation\.RL_F"):
        judge(scores, EXCESS, RUN)


def scored_of(rows):
    columns = ["model", "person_id", "modality", "task", "score"]
    return pd.DataFrame(rows, columns=columns).assign(set="forget")


def test_excess_is_the_mean_over_people_of_the_mean_over_tasks():
    rows = []
    for person, image, text in (("1", (1, 0), (0, 0)), ("2", (1, 1), (1, 0))):
        for modality, (classified, cloze) in (("image", image), ("text", text)):
            rows += [
                ("unlearned", person, modality, "classification", classified),
                ("unlearned", person, modality, "cloze", cloze),
                # A second cloze that is as wrong must not change person 1's half.
                ("unlearned", person, modality, "cloze", cloze),
                ("retain_only", person, modality, "classification", 0),
                ("retain_only", person, modality, "cloze", 0),
            ]
    excess = measure_excess(scored_of(rows))
    # Image: person 1 (1 + 0) / 2 = .5, person 2 1; mean .75. Text: 0 and .5; mean .25.
    assert excess.image.mean == 0.75
    assert excess.text.mean == 0.25
    assert excess.gap.mean == 0.5
    assert excess.image.people == 2
    # t with 1 degree of freedom 12.7062, s = .5 / sqrt 2, s / sqrt 2 = .25: .75 +- 3.17655.
    assert excess.image.high == pytest.approx(3.92655, abs=1e-4)
    # Both people are .5 apart: no spread, no interval.
    assert math.isnan(excess.gap.low)


def test_excess_needs_both_models():
    with pytest.raises(DataError, match="retain_only has no image answers"):
        measure_excess(
            scored_of(
                [
                    ("unlearned", "1", "image", "cloze", 1),
                    ("unlearned", "1", "text", "cloze", 1),
                    ("retain_only", "1", "text", "cloze", 1),
                ]
            )
        )
