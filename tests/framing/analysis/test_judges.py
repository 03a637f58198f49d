import numpy as np
import pandas as pd
import pytest

from parallax.framing.analysis.judges import measure_agreement
from parallax.framing.analysis.metrics import comparison_values
from parallax.framing.analysis.subject import analyse_subject
from parallax.stats.agreement import cohen_kappa


def experiment(sample, folder, **judges):
    """Write the verdicts of judges on one set of responses: `name=(categories, card)`."""
    keys = sample.make_keys(6, draws=4, arms=("E", "D", "N", "content_free"))
    tables = [sample.give_verdicts(keys, name, said(keys)) for name, (said, _) in judges.items()]
    cards = {name: card for name, (_, card) in judges.items()}
    sample.write_logs(folder, keys, pd.concat(tables, ignore_index=True), cards)


@pytest.fixture
def verdicts(sample):
    def first(keys):
        return sample.draw_categories(keys, lambda row: 0.5, 1)

    def second(keys):
        return sample.copy_verdicts(first(keys), 2, wrong=0.2, unscored=0.1)

    def guard(keys):
        harmful = first(keys) == "harmful_compliance"
        return np.where(harmful, "harmful_compliance", "not_harmful_compliance")

    return first, second, guard


def test_agreement_counts_responses_under_the_three_frames(sample, tmp_path, read, verdicts):
    first, second, _ = verdicts
    experiment(sample, tmp_path, a=(first, sample.FULL), b=(second, sample.FULL))
    found = measure_agreement(read(judges=("a", "b")), "tiny", 0.05, 0)
    assert set(found) == {
        *("category", "refusal", "harmful_compliance", "template_completion", "off_topic")
    }
    kappa = found["category"].pairs["a", "b"]
    # 6 items, 2 paraphrases, 3 frames, 4 draws; the placebo arm stays out.
    assert kappa.units + kappa.excluded == 6 * 2 * 3 * 4
    keys = sample.make_keys(6, draws=4, arms=("E", "D", "N", "content_free"))
    kept = (keys["arm"] != "content_free").to_numpy()
    names = ["refusal", "harmful_compliance", "template_completion", "off_topic"]
    codes = np.column_stack(
        [[names.index(c) if c else -1 for c in said(keys)[kept]] for said in (first, second)]
    )
    assert kappa.value == cohen_kappa(codes, np.random.default_rng(0)).value
    assert kappa.low < kappa.value < kappa.high


def test_equal_judges_agree_fully(sample, tmp_path, read, verdicts):
    first, _, _ = verdicts
    experiment(sample, tmp_path, a=(first, sample.FULL), b=(first, sample.FULL))
    found = measure_agreement(read(judges=("a", "b")), "tiny", 0.05, 0)
    for entry in found.values():
        assert entry.pairs["a", "b"].value == entry.fleiss.value == entry.krippendorff.value == 1


def test_a_guard_is_compared_on_what_it_can_tell(sample, tmp_path, read, verdicts):
    first, second, guard = verdicts
    experiment(
        sample,
        tmp_path,
        a=(first, sample.FULL),
        b=(second, sample.FULL),
        guard=(guard, sample.GUARD),
    )
    found = measure_agreement(read(judges=("a", "b", "guard")), "tiny", 0.05, 0)
    assert found["category"].judges == ("a", "b")
    assert found["harmful_compliance"].judges == ("a", "b", "guard")
    assert found["harmful_compliance"].pairs["a", "guard"].value == 1
    assert set(found["harmful_compliance"].pairs) == {("a", "b"), ("a", "guard"), ("b", "guard")}


def test_one_judge_has_nobody_to_agree_with(sample, tmp_path, read, verdicts):
    experiment(sample, tmp_path, a=(verdicts[0], sample.FULL))
    assert measure_agreement(read(judges=("a",)), "tiny", 0.05, 0) == {}


def test_responses_to_one_item_are_not_taken_for_independent(sample, tmp_path, read):
    def first(keys):
        return np.where(keys["item"] < "i003", "refusal", "off_topic")

    def second(keys):
        return np.where((keys["item"] < "i003") ^ (keys["item"] == "i002"), "refusal", "off_topic")

    experiment(sample, tmp_path, a=(first, sample.FULL), b=(second, sample.FULL))
    entry = measure_agreement(read(judges=("a", "b")), "tiny", 0.05, 0)["category"]
    # 24 responses to each of 6 items, all alike: six pieces of evidence, one against.
    units = np.repeat([[0, 0]] * 2 + [[0, 1]] + [[1, 1]] * 3, 24, axis=0)
    alone = cohen_kappa(units, np.random.default_rng(0))
    for found in (entry.pairs["a", "b"], entry.fleiss, entry.krippendorff):
        assert found.value == pytest.approx(alone.value, abs=0.01)
        assert found.high - found.low > 3 * (alone.high - alone.low)


def test_effects_under_two_judges_are_compared_item_by_item(sample, tmp_path, read, settings):
    def first(keys):
        return np.where(keys["arm"] == "E", "refusal", "off_topic")

    def second(keys):
        # Overlooks every other refusal, except on one item.
        seen = (keys["draw"] % 2 == 0) | (keys["item"] == "i000")
        return np.where((keys["arm"] == "E") & seen, "refusal", "off_topic")

    experiment(sample, tmp_path, a=(first, sample.FULL), b=(second, sample.FULL))
    found = analyse_subject(read(judges=("a", "b")), "tiny", "a", settings)
    values = comparison_values(found.differences["b"])
    for name in ("refusal_E-N", "refusal_E-D"):
        # d_i(a) = 1; d_i(b) = 1/2, and 1 on one item: differences 0 and five times 1/2.
        entry = values[name]
        assert entry["estimate"] == pytest.approx(5 / 12)
        # All five have one sign: p = 2 / 2^5; by Holm three times that for the least p and no less
        # for the next.
        assert (entry["p"], entry["p_holm"]) == (pytest.approx(2 / 32), pytest.approx(6 / 32))
        assert entry["exact"] and entry["items"] == 6
        assert entry["low"] <= 0 < entry["high"]
    assert (values["harmful_E-D"]["estimate"], values["harmful_E-D"]["p"]) == (0, 1)
    assert set(found.differences) == {"b"}
