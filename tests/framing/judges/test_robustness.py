import math

import pytest

from parallax.framing.items import CATEGORIES, LabelledResponse
from parallax.framing.judges import Case, Verdict
from parallax.framing.judges.calibration import to_cases
from parallax.framing.judges.cards import card_values
from parallax.framing.judges.judge import Prior
from parallax.framing.judges.robustness import SURFACES, count_flips, measure_robustness

R, H, T, X = CATEGORIES
APOSTROPHE, OPENING, CLOSING = "\u2019", "\u201c", "\u201d"


def rows(*responses):
    return [
        LabelledResponse(f"c{n}", f"i{n // 2}", "body", text, R, "test", "written")
        for n, text in enumerate(responses)
    ]


def measure(judge, labelled):
    return measure_robustness(judge, labelled, judge.judge(to_cases(labelled)))


def test_surfaces_by_hand():
    text = 'He said "No, I can\'t" and "go".'
    assert SURFACES["typographic"](text) == (
        f"He said {OPENING}No, I can{APOSTROPHE}t{CLOSING} and {OPENING}go{CLOSING}."
    )
    assert SURFACES["typographic"]("plain") == "plain"
    assert SURFACES["lower_case"](text) == 'he said "no, i can\'t" and "go".'
    assert SURFACES["blanks_around"]("a\nb") == "\n\n  a\nb  \n"


def test_a_judge_of_the_surface_is_found_out(scripted):
    # Refusal where a straight apostrophe stands: curved ones take it away.
    judge = scripted(lambda case: R if "'" in case.response else X)
    found = measure(judge, rows("can't", "won't", "No.", "Yes"))
    flips = found.surfaces["typographic"]
    assert (flips.hits, flips.trials, flips.value) == (2, 2, 1.0)
    # Only responses that the change alters count: "can't" and "won't" have no capital.
    assert (found.surfaces["lower_case"].hits, found.surfaces["lower_case"].trials) == (0, 2)
    assert (found.surfaces["blanks_around"].hits, found.surfaces["blanks_around"].trials) == (0, 4)


def test_a_surface_that_alters_nothing_is_undefined(scripted):
    found = measure(scripted(lambda case: R), rows("no", "never"))
    assert found.surfaces["typographic"].trials == 0
    assert math.isnan(found.surfaces["typographic"].value)


def test_rules_are_retested_and_not_reworded(scripted):
    judge = scripted(lambda case: R)
    found = measure(judge, rows("No"))
    assert (found.retest.hits, found.rewordings, found.content_free) == (0, (), None)
    # Once for the verdicts, once again and once for each surface; "No" has no apostrophe to curve.
    assert judge.calls == 5


def test_a_judge_is_retested_in_the_reverse_order(scripted):
    class Batchy:
        """Takes the first of a batch for a refusal, whatever it is."""

        name, model, outcomes = "batchy", "m", CATEGORIES

        def judge(self, cases):
            return [Verdict(R if n == 0 else X, "") for n, _ in enumerate(cases)]

    # The first and the last change places.
    found = measure(Batchy(), rows("a", "b", "c", "d"))
    assert (found.retest.hits, found.retest.trials) == (2, 4)
    steady = measure(scripted(lambda case: R, model="m"), rows("a", "b"))
    assert (steady.retest.hits, steady.retest.value) == (0, 0.0)
    assert steady.retest.high > 0


def test_rewordings_are_counted_one_by_one(scripted):
    class Worded:
        name, model, outcomes = "worded", "m", CATEGORIES

        def __init__(self, refused=("a", "b")):
            self.refused = refused

        def judge(self, cases):
            return [Verdict(R if case.response in self.refused else None, "") for case in cases]

        def reword(self):
            return (Worded(("a", "b", "c")), Worded(()))

    found = measure(Worded(), rows("a", "b", "c", "d"))
    assert [flips.hits for flips in found.rewordings] == [1, 2]
    assert [flips.value for flips in found.rewordings] == [0.25, 0.5]


def test_unscored_is_a_verdict():
    before = [Verdict(None, "x"), Verdict(R, ""), Verdict(None, "")]
    after = [Verdict(R, ""), Verdict(R, "other reason"), Verdict(None, "other")]
    flips = count_flips(rows("a", "b", "c"), before, after)
    assert (flips.hits, flips.trials) == (1, 3)


def test_the_shipped_local_judges_do_not_look_at_the_surface(calibration, settings):
    from parallax.framing.judges import JUDGES, Setup

    judge = JUDGES["lexical"](Setup(settings(), ()))
    part = [row for row in calibration if row.split == "fit"]
    for name, flips in measure(judge, part).surfaces.items():
        assert flips.hits == 0, name


def test_values_say_what_was_not_measured(scripted):
    from parallax.framing.judges.calibration import make_card

    labelled = rows("No", "no")
    judge = scripted(lambda case: R)
    card = make_card(judge, labelled, judge.judge(to_cases(labelled)), 0.5)
    values = card_values(card, measure(judge, labelled))["robustness"]
    assert (values["retest"]["responses"], values["retest"]["flipped"]) == (2, 0)
    assert (values["rewordings"], values["content_free"]) == ([], None)
    lower = values["surfaces"]["lower_case"]
    assert {k: lower[k] for k in ("responses", "flipped", "value")} == {
        "responses": 1,
        "flipped": 0,
        "value": 0.0,
    }
    letters = dict.fromkeys("ABCD", 0.25)
    judge.content_free = lambda: Prior(letters, dict.fromkeys(CATEGORIES, 0.25))
    found = card_values(card, measure(judge, labelled))["robustness"]["content_free"]
    assert found == {"letters": letters, "categories": dict.fromkeys(CATEGORIES, 0.25)}


def test_no_frame_is_shown(scripted):
    seen = []
    measure(scripted(lambda case: seen.append(case) or R), rows("No"))
    assert all(case == Case("body", case.response) for case in seen)


@pytest.mark.parametrize("name", SURFACES)
def test_a_change_twice_is_no_other_change_of_words(name):
    text = 'I can\'t say "no" twice.'
    words = SURFACES[name](text).replace(APOSTROPHE, "'")
    words = words.replace(OPENING, '"').replace(CLOSING, '"')
    assert words.split() == (text.lower() if name == "lower_case" else text).split()
