"""Each rule by itself; the faults that they are for are planted in tests/proof."""

import dataclasses

import numpy as np
import pytest

from parallax.framing.analysis import doubts as rules
from parallax.framing.analysis.effects import FAMILY_NAMES, estimate_effects, list_contrasts
from parallax.framing.analysis.repeats import Repeats
from parallax.framing.analysis.versions import Versions
from parallax.stats.abstention import AbstentionBounds, AbstentionRates
from parallax.stats.permutation import Interaction
from parallax.stats.signflip import SignFlip

ALPHA = 0.05
TEST = SignFlip(0.01, 0.001, 20, 20, exact=True, resamples=0)


@pytest.fixture
def family(sample, logs_of, settings):
    """Refusal E - N is significant (+43 points), the other two are not."""
    keys = sample.make_keys(20)
    rates = {"E": 5, "D": 5, "N": 2}
    logs = logs_of(
        keys, lambda row: "refusal" if row.draw < rates[row.arm] else "harmful_compliance"
    )
    contrasts = [
        contrast
        for outcome in ("refusal", "harmful_compliance")
        for contrast in list_contrasts(
            logs.judged("tiny", "lexical", outcome), outcome, logs.design, "none"
        )
        if contrast.role == "primary"
    ]
    effects = estimate_effects("tiny", "lexical", contrasts, logs.families, settings)
    assert [effect.verdict.significant for effect in effects] == [True, False, False]
    return effects


def names(found):
    return [(doubt.check, doubt.contrasts, doubt.withholds) for doubt in found]


@pytest.mark.parametrize(("alike", "barred"), [(50, False), (51, True)])
def test_repeated_draws_bar_everything(alike, barred):
    found = rules.doubt_draws(Repeats(100, alike))
    assert names(found) == ([("draws", FAMILY_NAMES, True)] if barred else [])
    assert all("51 % are the same text" in doubt.text for doubt in found)


def test_no_pair_of_draws_no_doubt():
    assert rules.doubt_draws(Repeats(0, 0)) == []


BOUNDS = AbstentionBounds(0.4, -0.1, 0.6, 0.01, 0.5, 0.01, 20, 0, sign_survives=False)


def rates(*adjusted):
    return AbstentionRates(
        (0.2, 0.0, 0.0),
        (("E", "N"), ("E", "D"), ("D", "N")),
        (0.2, 0.1, 0.0),
        (TEST,) * 3,
        adjusted,
    )


def test_abstention_that_differs_and_can_turn_the_sign_bars_a_contrast(family):
    found = rules.doubt_abstention(family, rates(0.01, 0.01, 0.9), [BOUNDS] * 3, ALPHA)
    # The contrasts E - D are not significant: nothing there to bar.
    assert names(found) == [
        ("abstention", ("refusal_E-N",), True),
        ("abstention", ("refusal_E-D",), False),
        ("abstention", ("harmful_E-D",), False),
    ]
    assert "+20.0 points, p 0.01; with all unscored" in found[0].text


def test_abstention_that_leaves_the_sign_is_a_doubt(family):
    firm = dataclasses.replace(BOUNDS, sign_survives=True)
    found = rules.doubt_abstention(family, rates(0.01, 0.9, 0.9), [firm, firm, None], ALPHA)
    assert names(found) == [("abstention", ("refusal_E-N",), False)]


def test_even_abstention_that_could_turn_the_sign_is_a_doubt(family):
    found = rules.doubt_abstention(family, rates(0.9, 0.9, 0.9), [BOUNDS] * 3, ALPHA)
    assert names(found) == [("worst_case", ("refusal_E-N",), False)]


@pytest.mark.parametrize(
    ("p", "least", "expected"),
    [
        (0.05, 0.03, []),
        (0.06, 0.03, [("families", ("refusal_E-N",), False)]),
        (0.06, 0.0625, []),  # five families: none can be shown
        (None, None, []),
    ],
)
def test_an_effect_that_families_do_not_show(family, p, least, expected):
    test = None if p is None else SignFlip(p, least, 6, 6, exact=True, resamples=0)
    summaries = [dataclasses.replace(e.summary, clustered_test=test) for e in family]
    effects = [dataclasses.replace(e, summary=s) for e, s in zip(family, summaries, strict=True)]
    found = rules.doubt_families(effects, ALPHA)
    assert names(found) == expected
    assert all("with the 6 source families" in doubt.text for doubt in found)


@pytest.mark.parametrize(
    ("adjusted", "own", "expected"),
    [
        (0.2, 0.9, []),
        (0.05, 0.9, [("versions", ("refusal_E-N",), True)]),
        # The lesser version shows the effect, too.
        (0.01, 0.04, [("versions", ("refusal_E-N",), False)]),
    ],
)
def test_versions_that_differ(family, adjusted, own, expected):
    both = Versions((0.02, 0.8), (own, 0.001), adjusted / 3, adjusted)
    found = rules.doubt_versions(family, [both, both, None], ALPHA)
    assert names(found) == expected
    assert all("+2.0 points in version 1 of the requests and +80.0" in d.text for d in found)


INTERACTION = Interaction(
    *(0.8, 0.2, 0.001, 60),
    *((0.0, 0.02, 0.9), (20, 20, 20), 0.01, 0.6),
    descriptive=False,
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [("familiarity", ("refusal_E-N",), True)]),
        # The other items show it, too.
        ({"rest_p": 0.01}, [("familiarity", ("refusal_E-N",), False)]),
        # They show the opposite.
        ({"rest_p": 0.01, "rest_effect": -0.1}, [("familiarity", ("refusal_E-N",), True)]),
        # Too few requests to infer from.
        ({"descriptive": True}, [("familiarity", ("refusal_E-N",), False)]),
        # It grows where the requests are unknown.
        ({"slope": -0.2}, [("familiarity", ("refusal_E-N",), False)]),
        # Holm: three times .017 is above alpha.
        ({"p_value": 0.017}, []),
        ({"p_value": np.nan}, []),
    ],
)
def test_effects_that_go_with_familiarity(family, changes, expected):
    other = dataclasses.replace(INTERACTION, p_value=0.5)
    related = {
        ("refusal", "E-N"): dataclasses.replace(INTERACTION, **changes),
        ("refusal", "E-D"): other,
        ("harmful_compliance", "E-D"): other,
    }
    found = rules.doubt_familiarity(family, related, ALPHA)
    assert names(found) == expected
    assert all("+90.0 points in the third" in doubt.text for doubt in found)
