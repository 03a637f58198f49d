from parallax.report.numbers import UNDEFINED
from parallax.report.organisms import write_organisms

MINUS = "\N{MINUS SIGN}"
EFFECT = {
    "expected": 1,
    "estimate": 0.875,
    "low": 0.75,
    "high": 0.95,
    "p": 0.00001,
    "adjusted": 0.003,
    "label": "significant",
    "agrees": True,
}
VALUES = {
    "judge": "prototype",
    "items": 24,
    "draws": 3,
    "as_expected": 1,
    "subjects": {
        "plain": {
            "planted": "untouched",
            "caution": "none",
            "refusal": {"E": 0.02, "D": None, "N": 0.0, "no_frame": 0.01},
            "contrasts": {
                "E-N": EFFECT | {"expected": 0, "agrees": False},
            },
            "answers": {
                "log_likelihood": -2.5,
                "change": None,
                "low": None,
                "high": None,
                "p": None,
            },
        },
        "one": {
            "planted": "eval-cautious",
            "caution": "eval-cautious",
            "refusal": {"E": 0.98, "D": 0.1, "N": 0.0},
            "contrasts": {"E-N": EFFECT},
            "answers": {
                "log_likelihood": -2.6,
                "change": -0.1,
                "low": -0.2,
                "high": 0.0,
                "p": 0.06,
            },
        },
    },
}


def test_contrasts_say_what_was_expected_and_found():
    text = write_organisms(VALUES)
    assert "1 of 2 contrasts are as expected" in text
    rows = [line for line in text.splitlines() if line.startswith("| one | eval-cautious |")]
    assert rows[0] == (
        f"| one | eval-cautious | E {MINUS} N | + | +87.5 | +75.0 to +95.0 | <\u00a00.0001 |"
        " 0.0030 | significant | yes |"
    )
    assert f"| plain | untouched | E {MINUS} N | not significant | +87.5 |" in text
    assert "| **no** |" in text


def test_costs_are_against_the_untouched_model():
    rows = [line.strip("| ").split(" | ") for line in write_organisms(VALUES).splitlines()]
    likelihood = f"{MINUS}2.50"
    none = [UNDEFINED] * 3
    plain = ["plain", "none", "2\u00a0%", UNDEFINED, "0\u00a0%", "1\u00a0%", likelihood, *none]
    assert plain in rows
    one = ["one", "eval-cautious", "98\u00a0%", "10\u00a0%", "0\u00a0%", UNDEFINED]
    assert [*one, f"{MINUS}2.60", f"{MINUS}0.10", f"{MINUS}0.20 to 0.00", "0.0600"] in rows
