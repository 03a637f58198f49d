import itertools
import math
import random

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parallax.errors import DataError
from parallax.umu.metrics import (
    contraharmonic_mean,
    forget_accuracy,
    harmonic_mean,
    measure,
    modality_gap,
    retain_accuracy,
)

NAN = math.nan
FRACTION = st.floats(0, 1, allow_subnormal=False)


def row(task, modality, score, *, person="1", field="a", group="forget", model="sft", **changes):
    rouge = score if task == "generation" else NAN
    values = {
        "model": model,
        "set": group,
        "person_id": person,
        "task": task,
        "field": field,
        "modality": modality,
        "abstained": False,
        "score": float(score),
        "rouge1": rouge,
        "rouge2": rouge,
        "bleu": rouge,
    }
    return values | changes


def pairs(task, scores, **changes):
    """Rows of (image, text) scores, one person each."""
    return [
        row(task, modality, score, person=str(person), **changes)
        for person, both in enumerate(scores)
        for modality, score in zip(("image", "text"), both, strict=True)
    ]


def test_hand_worked_combinations():
    assert forget_accuracy(0.5, 0.25, 0.6) == pytest.approx(1.35 / 3)
    assert retain_accuracy(0.5, 0.25, 0.15) == pytest.approx(0.9 / 3)
    # (.0025 + .81) / .95 = .8125 / .95 and 2 * .045 / .95 = .09 / .95.
    assert round(contraharmonic_mean(0.05, 0.9), 4) == 0.8553
    assert round(harmonic_mean(0.05, 0.9), 4) == 0.0947
    assert contraharmonic_mean(0, 0) == harmonic_mean(0, 0) == 0
    assert modality_gap(0.2, 0.9) == modality_gap(0.9, 0.2) == pytest.approx(0.7)


@given(FRACTION, FRACTION)
def test_w_lies_above_the_mean_and_h_below_it(x, y):
    w, h = contraharmonic_mean(x, y), harmonic_mean(x, y)
    assert w == contraharmonic_mean(y, x) and h == harmonic_mean(y, x)
    # W + H = (x + y)² / (x + y) = x + y.
    assert w + h == pytest.approx(x + y)
    assert min(x, y) - 1e-12 <= h <= (x + y) / 2 + 1e-12
    assert (x + y) / 2 - 1e-12 <= w <= max(x, y) + 1e-12


def test_hand_worked_accuracies_on_forget():
    # Pairs (image, text): 11, 10, 10, 00. Image 3/4, text 1/4, both 1/4, either 3/4;
    # acc_F = (3/4 + 1/4 + 3/4) / 3 = 7/12; gap 1/2.
    metrics = measure(pd.DataFrame(pairs("cloze", [(1, 1), (1, 0), (1, 0), (0, 0)])))
    cloze = metrics["sft"]["forget"]["cloze"]
    assert (cloze["acc_mul"], cloze["acc_uni"]) == (0.75, 0.25)
    assert (cloze["acc_all"], cloze["acc_any"]) == (0.25, 0.75)
    assert cloze["acc_F"] == round(7 / 12, 6)
    assert cloze["modality_gap"] == 0.5
    assert cloze["n"] == 4
    assert "acc_R" not in cloze


@pytest.mark.parametrize("group", ["retain", "real"])
def test_hand_worked_accuracies_on_retain_and_real(group):
    # As above with both in place of either: acc_R = (3/4 + 1/4 + 1/4) / 3 = 5/12.
    table = pd.DataFrame(pairs("cloze", [(1, 1), (1, 0), (1, 0), (0, 0)], group=group))
    cloze = measure(table)["sft"][group]["cloze"]
    assert cloze["acc_R"] == round(5 / 12, 6)
    assert "acc_F" not in cloze and "modality_gap" not in cloze


def test_hand_worked_overlap():
    # Pairs (.05, .9) and (0, 0): W .855263 and 0, H .094737 and 0; means are their halves.
    scores = [(0.05, 0.9), (0, 0)]
    rows = [*pairs("generation", scores), *pairs("generation", scores, group="real")]
    sets = measure(pd.DataFrame(rows))["sft"]
    assert sets["forget"]["generation"]["RL_F"] == 0.427632
    assert sets["real"]["generation"]["RL_R"] == 0.047368
    assert sets["forget"]["generation"]["rl_mul"] == 0.025
    assert sets["forget"]["generation"]["rl_uni"] == 0.45
    assert sets["forget"]["generation"]["rouge2_uni"] == 0.45
    assert sets["forget"]["generation"]["n"] == 2


def test_mean_of_w_is_not_w_of_means():
    # W(1, 0) = W(0, 1) = 1, while W(.5, .5) = .5.
    table = pd.DataFrame(pairs("generation", [(1, 0), (0, 1)]))
    assert measure(table)["sft"]["forget"]["generation"]["RL_F"] == 1


def test_accuracy_is_the_plain_mean_of_the_two_tasks():
    # Classification (1 pair): 1, 0. Cloze (2 pairs): image 0, text 1/2. Means 1/2 and 1/4; either
    # 1 and 1/2: 3/4. acc_F = (1/2 + 1/4 + 3/4) / 3 = 1/2; gap 1/4.
    rows = [*pairs("classification", [(1, 0)]), *pairs("cloze", [(0, 1), (0, 0)])]
    accuracy = measure(pd.DataFrame(rows))["sft"]["forget"]["accuracy"]
    assert (accuracy["acc_mul"], accuracy["acc_uni"]) == (0.5, 0.25)
    assert (accuracy["acc_any"], accuracy["acc_F"]) == (0.75, 0.5)
    assert accuracy["modality_gap"] == 0.25
    assert accuracy["n"] == 3


def test_abstentions_are_counted_by_modality():
    rows = [
        row("cloze", "image", 0, abstained=True),
        row("cloze", "text", 1),
        row("cloze", "image", 0, person="2"),
        row("cloze", "text", 0, person="2"),
    ]
    cloze = measure(pd.DataFrame(rows))["sft"]["forget"]["cloze"]
    assert (cloze["abstention_rate_mul"], cloze["abstention_rate_uni"]) == (0.5, 0)


def test_text_alone_leaves_the_image_and_all_that_needs_it_undefined():
    # Text 1, 0, 1 in the cloze: 2/3. No image question: every figure with it is NaN, its count 0.
    rows = [
        *(row("cloze", "text", score, person=str(n)) for n, score in enumerate((1, 0, 1))),
        *(row("generation", "text", 0.5, person=str(n)) for n in range(2)),
    ]
    sets = measure(pd.DataFrame(rows))["sft"]["forget"]
    cloze, generation = sets["cloze"], sets["generation"]
    assert cloze["acc_uni"] == round(2 / 3, 6)
    for name in ("acc_mul", "acc_all", "acc_any", "acc_F", "modality_gap", "abstention_rate_mul"):
        assert math.isnan(cloze[name]), name
    assert (cloze["n"], cloze["n_mul"]) == (3, 0)
    assert generation["rl_uni"] == 0.5
    for name in ("rl_mul", "RL_F", "rouge1_mul", "bleu_mul"):
        assert math.isnan(generation[name]), name
    assert (generation["n"], generation["n_mul"]) == (2, 0)


def test_a_text_question_without_its_twin_is_still_refused_beside_image_ones():
    rows = [*pairs("cloze", [(1, 1)]), row("cloze", "text", 1, person="9")]
    with pytest.raises(DataError, match="has no twin in the other modality"):
        measure(pd.DataFrame(rows))


def test_what_has_no_rows_is_nan_with_a_count_of_zero():
    sets = measure(pd.DataFrame(pairs("cloze", [(1, 1)])))["sft"]
    assert sets["forget"]["classification"]["n"] == 0
    assert math.isnan(sets["forget"]["classification"]["acc_F"])
    assert math.isnan(sets["forget"]["accuracy"]["acc_F"])
    assert math.isnan(sets["real"]["generation"]["RL_R"])


def test_deltas_are_before_minus_after():
    # Cloze acc_F: sft 1; unlearned (1 + 0 + 1) / 3 = 2/3; retain_only 0.
    # Generation RL_F: sft W(1, 1) = 1; unlearned W(.5, 0) = .5; retain_only W(.2, .2) = .2.
    outcomes = {
        "base": ((0, 0), (0, 0)),
        "sft": ((1, 1), (1, 1)),
        "unlearned": ((1, 0), (0.5, 0)),
        "retain_only": ((0, 0), (0.2, 0.2)),
    }
    rows = [
        entry
        for model, (cloze, generation) in outcomes.items()
        for entry in (
            *pairs("cloze", [cloze], model=model),
            *pairs("classification", [cloze], model=model),
            *pairs("generation", [generation], model=model),
        )
    ]
    metrics = measure(pd.DataFrame(rows))
    delta = metrics["delta"]
    assert delta["cloze"] == {"dAcc_F": round(1 / 3, 6), "retain_only_gap": round(2 / 3, 6)}
    assert delta["classification"] == delta["accuracy"] == delta["cloze"]
    assert delta["generation"] == {"dRL_F": 0.5, "retain_only_gap": 0.3}
    assert list(metrics) == ["base", "sft", "retain_only", "unlearned", "delta"]


def test_a_delta_without_its_model_is_nan():
    delta = measure(pd.DataFrame(pairs("cloze", [(1, 1)])))["delta"]
    assert math.isnan(delta["cloze"]["dAcc_F"])


@pytest.mark.parametrize("model", ["sft", "unlearned"])
def test_a_missing_twin_is_named(model):
    rows = [
        entry for name in ("sft", "unlearned") for entry in pairs("cloze", [(1, 1)], model=name)
    ]
    alone = [row for row in rows if (row["model"], row["modality"]) != (model, "text")]
    with pytest.raises(
        DataError, match=rf"{model}: person 0 \(forget\), cloze of a, image: .*twin"
    ):
        measure(pd.DataFrame(alone))


def test_a_doubled_row_is_named():
    rows = pairs("cloze", [(1, 1)])
    with pytest.raises(DataError, match=r"person 0 \(forget\), cloze of a, text: comes twice"):
        measure(pd.DataFrame([*rows, rows[1]]))


def test_a_twin_in_another_set_is_no_twin():
    rows = [row("cloze", "image", 1), row("cloze", "text", 1, group="retain")]
    with pytest.raises(DataError, match="no twin"):
        measure(pd.DataFrame(rows))


def test_models_must_answer_the_same_questions():
    rows = [*pairs("cloze", [(1, 1)]), *pairs("cloze", [(1, 1), (1, 1)], model="unlearned")]
    with pytest.raises(DataError, match=r"unlearned: person 1 .* not answered by all 2 models"):
        measure(pd.DataFrame(rows))


def random_rows(seed):
    draw = random.Random(seed)
    rows = []
    for model, (group, people) in itertools.product(
        ("base", "sft", "retain_only", "unlearned"),
        {"forget": "12", "retain": "345", "real": "67"}.items(),
    ):
        for person, task, modality in itertools.product(
            people, ("classification", "cloze", "generation"), ("image", "text")
        ):
            for field in ("a", "b"):
                score = draw.random() if task == "generation" else draw.randrange(2)
                abstained = draw.random() < 0.3
                entry = row(
                    task, modality, score, person=person, group=group, model=model, field=field
                )
                if task == "generation":
                    entry |= {name: draw.random() for name in ("rouge1", "rouge2", "bleu")}
                rows.append(entry | {"abstained": abstained})
    draw.shuffle(rows)
    return rows


def mean(values):
    return sum(values) / len(values)


def recompute(rows, model, group, task):
    """The metrics of one cell, straight from their definitions."""
    cell = {}
    for entry in rows:
        if (entry["model"], entry["set"], entry["task"]) == (model, group, task):
            cell.setdefault((entry["person_id"], entry["field"]), {})[entry["modality"]] = entry
    both = [(pair["image"], pair["text"]) for pair in cell.values()]
    x = [image["score"] for image, _ in both]
    y = [text["score"] for _, text in both]
    result = {
        "n": len(both),
        "abstention_rate_mul": mean([image["abstained"] for image, _ in both]),
        "abstention_rate_uni": mean([text["abstained"] for _, text in both]),
    }
    if task == "generation":
        w = [(a**2 + b**2) / (a + b) if a + b > 0 else 0 for a, b in zip(x, y, strict=True)]
        h = [2 * a * b / (a + b) if a + b > 0 else 0 for a, b in zip(x, y, strict=True)]
        result |= {"rl_mul": mean(x), "rl_uni": mean(y)}
        result |= {"RL_F": mean(w)} if group == "forget" else {"RL_R": mean(h)}
        for name in ("rouge1", "rouge2", "bleu"):
            result[f"{name}_mul"] = mean([image[name] for image, _ in both])
            result[f"{name}_uni"] = mean([text[name] for _, text in both])
        return result
    mul, uni = mean(x), mean(y)
    every = mean([a == 1 and b == 1 for a, b in zip(x, y, strict=True)])
    either = mean([a == 1 or b == 1 for a, b in zip(x, y, strict=True)])
    result |= {"acc_mul": mul, "acc_uni": uni, "acc_all": every, "acc_any": either}
    if group == "forget":
        return result | {"acc_F": (mul + uni + either) / 3, "modality_gap": abs(mul - uni)}
    return result | {"acc_R": (mul + uni + every) / 3}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_all_metrics_agree_with_a_direct_recomputation(seed):
    rows = random_rows(seed)
    metrics = measure(pd.DataFrame(rows))
    for model, group, task in itertools.product(
        ("base", "sft", "retain_only", "unlearned"),
        ("forget", "retain", "real"),
        ("classification", "cloze", "generation"),
    ):
        expected = recompute(rows, model, group, task)
        assert metrics[model][group][task] == pytest.approx(expected, abs=6e-7)
        if task == "cloze":
            other = recompute(rows, model, group, "classification")
            name = "acc_F" if group == "forget" else "acc_R"
            mixed = (expected[name] + other[name]) / 2
            assert metrics[model][group]["accuracy"][name] == pytest.approx(mixed, abs=6e-7)
    before = recompute(rows, "sft", "forget", "generation")["RL_F"]
    after = recompute(rows, "unlearned", "forget", "generation")["RL_F"]
    gold = recompute(rows, "retain_only", "forget", "generation")["RL_F"]
    assert metrics["delta"]["generation"] == pytest.approx(
        {"dRL_F": before - after, "retain_only_gap": after - gold}, abs=6e-7
    )


@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(draw):
    rows = random_rows(1)
    shuffled = draw.sample(rows, len(rows))
    assert measure(pd.DataFrame(shuffled)) == measure(pd.DataFrame(rows))


def test_swapping_the_modalities_swaps_mul_and_uni_alone():
    rows = pairs("cloze", [(1, 0), (1, 1), (1, 0), (0, 0)])
    other = {"image": "text", "text": "image"}
    swapped = [entry | {"modality": other[entry["modality"]]} for entry in rows]
    ours = measure(pd.DataFrame(rows))["sft"]["forget"]["cloze"]
    theirs = measure(pd.DataFrame(swapped))["sft"]["forget"]["cloze"]
    assert (ours["acc_mul"], ours["acc_uni"]) == (theirs["acc_uni"], theirs["acc_mul"])
    assert (ours["acc_mul"], ours["acc_uni"]) == (0.75, 0.25)
    for name in ("acc_all", "acc_any", "acc_F", "modality_gap", "n"):
        assert ours[name] == theirs[name]


def test_figures_have_six_decimals_and_counts_are_whole():
    cloze = measure(pd.DataFrame(pairs("cloze", [(1, 0), (1, 0), (0, 0)])))["sft"]["forget"][
        "cloze"
    ]
    assert cloze["acc_mul"] == 0.666667
    assert isinstance(cloze["n"], int)
    no_gap = measure(pd.DataFrame(pairs("cloze", [(0, 0)])))["sft"]["forget"]["cloze"]
    assert math.copysign(1, no_gap["modality_gap"]) == 1
