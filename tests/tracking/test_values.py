import math

import pytest

from parallax.errors import ParallaxError
from parallax.tracking.values import check_name, flatten, numbers, param_text


@pytest.mark.parametrize("name", ["acc_F_forget", "loss/forget_image", "a-b.c d:e", "x" * 250])
def test_usual_names_pass(name):
    check_name(name)


@pytest.mark.parametrize("sign", list("@=()%,#é\n"))
def test_a_sign_that_mlflow_refuses_is_named(sign):
    with pytest.raises(ParallaxError, match="MLflow refuses @ = "):
        check_name(f"acc{sign}5")


@pytest.mark.parametrize("name", ["/loss", "loss//a", "../loss", "loss/", ".", "./loss"])
def test_a_name_must_be_a_plain_path(name):
    with pytest.raises(ParallaxError, match="'/' separates"):
        check_name(name)


@pytest.mark.parametrize("name", ["", "x" * 251])
def test_a_name_has_1_to_250_characters(name):
    with pytest.raises(ParallaxError, match="1 to 250"):
        check_name(name)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1"), (1.0, "1"), (0.7, "0.7"), (3e-4, "0.0003"), (-2.0, "-2"), (2**40, "1099511627776")],
)
def test_equal_numbers_have_equal_texts(value, text):
    assert param_text(value) == text


def test_truth_none_and_infinity_have_texts():
    assert [param_text(v) for v in (True, False, None)] == ["true", "false", "null"]
    assert param_text(math.inf) == "inf"
    assert param_text("full") == "full"


def test_flatten_joins_keys_with_dots_and_writes_lists_as_json():
    nested = {"unlearn": {"npo": {"npo_beta": 0.4}, "alpha": 1}, "betas": [0.9, 0.98], "none": None}
    assert flatten(nested) == {
        "unlearn.npo.npo_beta": 0.4,
        "unlearn.alpha": 1,
        "betas": "[0.9, 0.98]",
        "none": None,
    }


def test_numbers_leave_out_texts_and_truths_and_read_null_as_nan():
    found = numbers({"forget": {"acc_F": 0.25, "n": 3, "gap": None}, "set": "x", "ok": True})
    assert found.pop("forget.gap") != 0 and "forget.gap" not in found
    assert found == {"forget.acc_F": 0.25, "forget.n": 3.0}
    assert math.isnan(numbers({"gap": None})["gap"])
