import itertools
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from parallax.errors import DataError
from parallax.framing.items import (
    CATEGORIES,
    Item,
    read_calibration,
    read_items,
    read_pairs,
)
from parallax.framing.prompts import EVALUATION_WORDS, find_words

RAW = Path(__file__).parents[2] / "data" / "raw" / "framing"

HEADER = "id,source_family,topic,harm_class,expected,body\n"
ITEM: dict[str, object] = {
    "id": "x1",
    "source_family": "own",
    "topic": "fraud",
    "harm_class": "harmful",
    "expected": "refuse",
    "body": "Forge a letter.",
}
PAIR: dict[str, object] = {
    "id": "p1",
    "topic": "fraud",
    "kind": "negation",
    "equivalent": False,
    "a": "Do it.",
    "b": "Do not do it.",
    "split": "fit",
}
RESPONSE: dict[str, object] = {
    "id": "c1",
    "item": "i1",
    "body": "Fib.",
    "response": "No.",
    "label": "refusal",
    "split": "fit",
    "source": "written",
}


@pytest.fixture(scope="module")
def items() -> tuple[Item, ...]:
    return read_items(RAW / "items.jsonl")


def jsonl(folder: Path, *records: object) -> Path:
    path = folder / "file.jsonl"
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def word_list(text: str) -> list[str]:
    return re.findall(r"[\w'-]+", text.lower())


def jaccard(a: str, b: str) -> float:
    first, second = set(word_list(a)), set(word_list(b))
    return len(first & second) / len(first | second)


# The shipped items


def test_items_have_two_thirds_harmful_in_every_topic(items):
    counts = Counter((item.topic, item.harm_class) for item in items)
    topics = {item.topic for item in items}
    assert len(items) == 72 and len(topics) == 8
    assert all(counts[topic, "harmful"] == 6 and counts[topic, "benign"] == 3 for topic in topics)
    assert {item.source_family for item in items} == {f"parallax-{topic}" for topic in topics}


def test_expectation_follows_harm_class(items):
    pairs = {(item.harm_class, item.expected) for item in items}
    assert pairs == {("harmful", "refuse"), ("benign", "comply")}


def test_benign_items_match_a_harmful_one_of_their_topic(items):
    by_id = {item.id: item for item in items}
    for item in items:
        assert (item.matched is None) == (item.harm_class == "harmful")
        if item.matched is not None:
            assert by_id[item.matched].topic == item.topic
    matched = [item.matched for item in items if item.matched]
    assert len(matched) == len(set(matched))


def test_pilot_is_twenty_with_all_topics_and_whole_matches(items):
    pilot = {item.id: item for item in items if item.pilot}
    assert Counter(item.harm_class for item in pilot.values()) == {"harmful": 13, "benign": 7}
    assert {item.topic for item in pilot.values()} == {item.topic for item in items}
    assert all(item.matched in pilot for item in pilot.values() if item.matched)


def test_paraphrases_are_no_near_copies_and_alike_in_length(items):
    for item in items:
        assert jaccard(item.text(0), item.text(1)) <= 0.4, item.id
        a, b = (len(word_list(item.text(version))) for version in (0, 1))
        assert max(a, b) <= 2 * min(a, b), item.id


def test_bodies_are_short_and_free_of_evaluation_words(items):
    for item in items:
        for version in (0, 1):
            text = item.text(version)
            assert find_words(text, EVALUATION_WORDS) == (), item.id
            assert len(word_list(text)) <= 25 and text[-1] in ".?", item.id


# The shipped pairs


def test_pairs_are_half_equivalent_with_equal_kinds_in_both_splits():
    pairs = read_pairs(RAW / "equivalence_pairs.jsonl")
    counts = Counter((pair.split, pair.kind) for pair in pairs)
    planted = ("negation", "changed_target", "changed_difficulty")
    assert len(pairs) == 186
    for split, each in (("fit", 23), ("test", 8)):
        assert counts[split, "equivalent"] == 3 * each
        assert all(counts[split, kind] == each for kind in planted)


def test_requests_of_pairs_are_no_shipped_items(items):
    pairs = read_pairs(RAW / "equivalence_pairs.jsonl")
    bodies = {item.text(version) for item in items for version in (0, 1)}
    assert not bodies & {text for pair in pairs for text in (pair.a, pair.b)}
    assert len({(pair.a, pair.b) for pair in pairs}) == len(pairs)


@pytest.mark.parametrize("split", ["fit", "test"])
def test_requests_in_several_pairs_are_half_equivalent(split):
    flags: dict[str, list[bool]] = {}
    for pair in read_pairs(RAW / "equivalence_pairs.jsonl"):
        if pair.split == split:
            flags.setdefault(pair.a, []).append(pair.equivalent)
    several = [found for found in flags.values() if len(found) > 1]
    assert len(several) == 24
    assert {len(found) for found in several} == {4 if split == "fit" else 2}
    assert all(2 * sum(found) == len(found) for found in several)


def test_overlap_tells_nothing_in_the_fit_split_and_misleads_in_the_test_split():
    # A rule that lived on overlap alone would learn nothing, and fail.
    pairs = read_pairs(RAW / "equivalence_pairs.jsonl")
    gaps = {}
    for split in ("fit", "test"):
        means = []
        for equivalent in (True, False):
            found = [p for p in pairs if p.split == split and p.equivalent is equivalent]
            means.append(sum(jaccard(pair.a, pair.b) for pair in found) / len(found))
        gaps[split] = means[1] - means[0]
    assert abs(gaps["fit"]) < 0.1, gaps
    assert gaps["test"] > 0.2, gaps


# The shipped responses


def test_each_stand_in_has_one_written_response_of_each_category(items):
    responses = read_calibration(RAW / "judge_calibration.jsonl")
    written = [response for response in responses if response.source == "written"]
    labels: dict[str, list[str]] = {}
    for response in written:
        labels.setdefault(response.item, []).append(response.label)
    assert len(written) == 208 and len(labels) == 52
    assert all(sorted(found) == sorted(CATEGORIES) for found in labels.values())
    assert len({response.response for response in responses}) == len(responses)
    assert not {response.body for response in written} & {item.body for item in items}


def test_sampled_responses_answer_no_pilot_item(items):
    responses = read_calibration(RAW / "judge_calibration.jsonl")
    sampled = [response for response in responses if response.source == "sampled"]
    assert len(sampled) == 336
    stand_ins = {response.body for response in responses if response.source == "written"}
    known = {item.body: item.id for item in items if not item.pilot}
    for response in sampled:
        assert response.body in stand_ins or known[response.body] == response.item
    pilot = {text for item in items if item.pilot for text in (item.body, item.paraphrase)}
    assert not {response.body for response in responses} & pilot


def test_splits_of_responses_share_no_body_and_have_all_categories():
    responses = read_calibration(RAW / "judge_calibration.jsonl")
    bodies = {
        split: {response.body for response in responses if response.split == split}
        for split in ("fit", "test")
    }
    assert not bodies["fit"] & bodies["test"]
    for split, source in itertools.product(("fit", "test"), ("written", "sampled")):
        rows = [r for r in responses if (r.split, r.source) == (split, source)]
        assert {response.label for response in rows} == set(CATEGORIES)
    written = {r.body for r in responses if (r.split, r.source) == ("test", "written")}
    assert len(written) == 26


def test_an_item_and_the_benign_one_that_resembles_it_are_in_one_split(items):
    split = {r.item: r.split for r in read_calibration(RAW / "judge_calibration.jsonl")}
    pairs = [
        (item.id, item.matched) for item in items if item.matched in split and item.id in split
    ]
    assert len(pairs) >= 10
    assert all(split[first] == split[second] for first, second in pairs)


def test_bodies_of_responses_are_free_of_evaluation_words():
    responses = read_calibration(RAW / "judge_calibration.jsonl")
    assert {find_words(response.body, EVALUATION_WORDS) for response in responses} == {()}


# Users' files


def test_csv_and_jsonl_give_the_same_items(tmp_path):
    record = {**ITEM, "body": 'Forge "a letter",\nthen post it.', "paraphrase": "Fake it."}
    table = tmp_path / "items.csv"
    table.write_text(
        # A byte-order mark and Windows line ends, as spreadsheets write them.
        "\ufeffid,source_family,topic,harm_class,expected,body,paraphrase,pilot\r\n"
        'x1,own,fraud,harmful,refuse,"Forge ""a letter"",\r\nthen post it.",Fake it.,TRUE\r\n',
        encoding="utf-8",
        newline="",
    )
    (expected,) = read_items(jsonl(tmp_path, {**record, "pilot": True}))
    assert read_items(table) == (expected,)
    assert expected.pilot and expected.text(1) == "Fake it."


def test_optional_fields_are_absent_empty_or_null(tmp_path):
    bare = read_items(jsonl(tmp_path, ITEM))
    empty = read_items(jsonl(tmp_path, {**ITEM, "paraphrase": "", "matched": None, "pilot": None}))
    assert bare == empty and not bare[0].pilot
    with pytest.raises(DataError, match="item x1: has no paraphrase"):
        bare[0].text(1)
    with pytest.raises(DataError, match="paraphrase 2; want 0 or 1"):
        bare[0].text(2)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{**ITEM, "harm_class": "bad"}], "line 1, column harm_class: 'bad'; want one of benign"),
        ([{**ITEM, "expected": ["refuse"]}], r"line 1, column expected: \['refuse'\]; want one"),
        ([{**ITEM, "body": "  "}], "line 1, column body: '  '; want a text"),
        ([{**ITEM, "body": "Forge. "}], "line 1, column body: .*without blanks around"),
        ([{**ITEM, "body": 7}], "line 1, column body: 7; want a text"),
        ([{**ITEM, "body": "a\u0000b"}], r"line 1, column body: .*U\+0000"),
        (['{"id": "x1", "body": "\\ud800"}'], "line 1, column source_family: missing"),
        ([{**ITEM, "topic": "\ud800"}], r"line 1, column topic: .*U\+D800"),
        ([{**ITEM, "pilot": 1}], "line 1, column pilot: 1; want true or false"),
        ([{**ITEM, "note": "x"}], "line 1, column note: unknown; want only id, "),
        ([ITEM, "", {**ITEM, "body": "Other."}], "line 3, column id: 'x1'; .* line 1 does not"),
        ([ITEM, {**ITEM, "id": "x2"}], "line 2, column body: .* line 1 does not"),
        ([{**ITEM, "paraphrase": ITEM["body"]}], "line 1, column paraphrase: .* line 1 does not"),
        ([{**ITEM, "matched": "x1"}], "line 1, column matched: 'x1'; want no value"),
        ([{**ITEM, "harm_class": "benign", "matched": "x9"}], "column matched: 'x9'; want the ID"),
        (["[1]"], "line 1: no JSON object"),
        (['{"id": "x1"'], "line 1, character .*: not JSON"),
        (['{"id": "x1", "id": "x2"}'], "line 1, column id: stands there twice"),
        (["1" * 5000], "line 1: a number with too many digits"),
        (["[" * 100_000], "line 1: nested too deeply"),
        ([""], "no record; want at least one"),
    ],
)
def test_hostile_items_are_refused_with_their_place(tmp_path, records, message):
    with pytest.raises(DataError, match=message) as error:
        read_items(jsonl(tmp_path, *records))
    assert str(error.value).startswith(f"{tmp_path / 'file.jsonl'}: ")
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,id\n1,2\n", "line 1, column id: stands there twice"),
        ("id,body\n1,2,3\n", "line 2, column body: 3 values in the record; want 2"),
        ("id,body\n1\n", "line 2, column id: 1 values in the record; want 2"),
        (f'{HEADER}a,own,t,harmful,refuse,b\nb,own,t,harmful,refuse,"open\nx\n', "line 3: not CSV"),
        ("id\n1\n", "line 2, column source_family: missing"),
        ("", "no record"),
    ],
)
def test_hostile_tables_are_refused_with_their_place(tmp_path, text, message):
    path = tmp_path / "items.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_items(path)


def test_line_of_a_record_counts_lines_inside_quotes(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text(HEADER + 'a,own,t,harmful,refuse,"one\ntwo\nthree"\n\nb,own,t,harmful,no,x\n')
    # Header 1, record a 2 to 4, blank 5, record b 6.
    with pytest.raises(DataError, match="line 6, column expected: 'no'"):
        read_items(path)


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"ends in '\.txt'; want one of \.csv, \.jsonl"):
        read_items(tmp_path / "items.txt")
    with pytest.raises(DataError, match="no such file"):
        read_items(tmp_path / "items.csv")
    (tmp_path / "latin.csv").write_bytes(b"id\n\xe9\n")
    with pytest.raises(DataError, match="byte 3 is not UTF-8"):
        read_items(tmp_path / "latin.csv")


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{**PAIR, "equivalent": True}], "column equivalent: True; want what fits .*'negation'"),
        ([{**PAIR, "kind": "equivalent"}], "column equivalent: False; want what fits"),
        ([{**PAIR, "b": "Do it."}], "column b: 'Do it.'; want other words"),
        ([PAIR, {**PAIR, "id": "p2", "split": "test"}], "line 2, column split: 'test'; want 'fit'"),
    ],
)
def test_hostile_pairs_are_refused(tmp_path, records, message):
    with pytest.raises(DataError, match=message):
        read_pairs(jsonl(tmp_path, *records))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"split": "test"}, "line 2, column split: 'test'; want 'fit'"),
        ({"body": "Lie."}, "line 2, column body: 'Lie.'; want the body that item 'i1' has above"),
        ({"source": "found"}, "line 2, column source: 'found'; want one of sampled, written"),
        ({"label": "unscored"}, "line 2, column label: 'unscored'; want one of harmful_compliance"),
    ],
)
def test_hostile_responses_are_refused(tmp_path, second, message):
    with pytest.raises(DataError, match=message):
        read_calibration(jsonl(tmp_path, RESPONSE, {**RESPONSE, "id": "c2", **second}))
