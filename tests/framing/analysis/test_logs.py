import numpy as np
import pandas as pd
import pytest

from parallax.errors import DataError
from parallax.files import write_table


def refuse(row):
    return "refusal"


@pytest.fixture
def keys(sample):
    return sample.make_keys(2, draws=2)


def test_verdicts_become_indicators(sample, keys, logs_of):
    order = ("refusal", "harmful_compliance", "template_completion", "off_topic", "")
    said = iter(order * 5)
    logs = logs_of(keys, lambda row: next(said))
    refusal = logs.judged("tiny", "lexical", "refusal")
    assert refusal.shape == (2, 2, 1, 3, 2)
    np.testing.assert_equal(refusal.reshape(-1)[:10], [1, 0, 0, 0, np.nan] * 2)
    off_topic = logs.judged("tiny", "lexical", "off_topic").reshape(-1)
    np.testing.assert_equal(off_topic[:5], [0, 0, 0, 1, np.nan])
    np.testing.assert_equal(logs.scored("tiny", "lexical").reshape(-1)[:5], [0, 0, 0, 0, np.nan])
    assert logs.families == ("family-0", "family-1")


def test_a_judge_without_a_refusal_class_leaves_refusal_open(sample, keys, read, tmp_path):
    said = np.where(keys["arm"] == "E", "not_harmful_compliance", "harmful_compliance")
    verdicts = sample.give_verdicts(keys, "guard", said)
    sample.write_logs(tmp_path, keys, verdicts, {"guard": sample.GUARD})
    logs = read(judges=("guard",))
    assert logs.outcomes["guard"] == ("harmful_compliance",)
    harmful = logs.judged("tiny", "guard", "harmful_compliance")
    assert (harmful[:, :, :, 0] == 0).all() and (harmful[:, :, :, 1:] == 1).all()
    # "harmful_compliance" is no refusal, but a rate from such rows alone would always be 0.
    assert np.isnan(logs.judged("tiny", "guard", "refusal")).all()
    assert not np.isnan(logs.scored("tiny", "guard")).any()


def test_the_order_of_rows_changes_nothing(sample, keys, logs_of, read, tmp_path):
    rng = np.random.default_rng(0)
    logs = logs_of(keys, lambda row: rng.choice(["refusal", "off_topic"]))
    for name in ("responses", "verdicts", "log_odds", "familiarity"):
        path = tmp_path / f"{name}.parquet"
        write_table(path, pd.read_parquet(path).sample(frac=1, random_state=3))
    again = read()
    np.testing.assert_array_equal(again.codes["lexical"], logs.codes["lexical"])
    np.testing.assert_array_equal(again.log_odds["tiny"], logs.log_odds["tiny"])
    np.testing.assert_array_equal(again.familiarity["tiny"], logs.familiarity["tiny"])


def test_a_response_without_verdict_is_named(sample, keys, read, tmp_path):
    verdicts = sample.give_verdicts(keys, "lexical", ["refusal"] * len(keys))
    sample.write_logs(tmp_path, keys, verdicts.drop(index=0))
    place = "subject tiny, item i000, paraphrase 0, wording w1, arm E, draw 0"
    with pytest.raises(DataError, match=f"verdict by lexical of {place} is missing; run its"):
        read()


def test_a_verdict_without_response_is_named(sample, keys, read, tmp_path):
    more = sample.make_keys(2, draws=3)
    sample.write_logs(
        tmp_path, keys, sample.give_verdicts(more, "lexical", ["refusal"] * len(more))
    )
    with pytest.raises(DataError, match="draw 2 belongs to none of the responses"):
        read()


def test_verdicts_are_by_the_judges_of_the_parameters(sample, keys, read, tmp_path, logs_of):
    logs_of(keys, refuse)
    with pytest.raises(DataError, match="no card of judge 'rubric'"):
        read(judges=("lexical", "rubric"))
    sample.write_logs(
        tmp_path,
        keys,
        sample.give_verdicts(keys, "lexical", ["refusal"] * len(keys)),
        {"lexical": sample.FULL, "rubric": sample.FULL},
    )
    for judges in (("lexical", "rubric"), ("rubric",)):
        with pytest.raises(DataError, match="verdicts by lexical, not by"):
            read(judges=judges)


def test_a_verdict_that_the_card_does_not_have_is_refused(sample, keys, read, tmp_path):
    verdicts = sample.give_verdicts(keys, "guard", ["refusal"] * len(keys))
    sample.write_logs(tmp_path, keys, verdicts, {"guard": sample.GUARD})
    with pytest.raises(DataError, match="verdict 'refusal' by guard, whose card does not have it"):
        read(judges=("guard",))


def test_log_odds_may_lack_a_subject_but_not_a_prompt(sample, read, tmp_path):
    keys = sample.make_keys(2, ("tiny", "served"), draws=2)
    verdicts = sample.give_verdicts(keys, "lexical", ["refusal"] * len(keys))
    table = sample.make_log_odds(keys[keys["subject"] == "tiny"], lambda row: 0.0)
    sample.write_logs(tmp_path, keys, verdicts, log_odds=table)
    logs = read(("tiny", "served"))
    assert set(logs.log_odds) == {"tiny"}
    assert logs.log_odds["tiny"].shape == (2, 2, 1, 3)
    sample.write_logs(tmp_path, keys, verdicts, log_odds=table[1:])
    with pytest.raises(DataError, match=r"log-odds of subject tiny, .* arm E is missing"):
        read(("tiny", "served"))
    sample.write_logs(tmp_path, keys, verdicts, log_odds=table.assign(wording="w9"))
    with pytest.raises(DataError, match="wording w9, arm E belongs to none of the responses"):
        read(("tiny", "served"))
    sample.write_logs(tmp_path, keys, verdicts, log_odds=table[:0])
    assert read(("tiny", "served")).log_odds == {}


def test_familiarity_may_lack_items_and_know_others(sample, keys, logs_of, read, tmp_path):
    rows = pd.DataFrame({"subject": "tiny", "item": ["i001", "i777"], "score": [0.5, 9.0]})
    logs = logs_of(keys, refuse, familiarity=rows)
    np.testing.assert_equal(logs.familiarity["tiny"], [np.nan, 0.5])
    unknown = rows.assign(score=np.nan)
    assert logs_of(keys, refuse, familiarity=unknown).familiarity == {}
    assert logs_of(keys, refuse, familiarity=rows[:0]).familiarity == {}
    with pytest.raises(DataError, match="item i001 of subject tiny stands there twice"):
        logs_of(keys, refuse, familiarity=rows.assign(item="i001"))


def test_an_item_outside_the_item_file_is_refused(sample, keys, logs_of, read, tmp_path):
    logs_of(keys, refuse)
    sample.write_items(tmp_path / "items.jsonl", ["i000"])
    with pytest.raises(DataError, match="item 'i001' is none of this experiment's"):
        read()
