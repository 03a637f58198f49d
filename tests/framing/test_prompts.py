import hashlib
import itertools
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from parallax.errors import DataError
from parallax.framing import prompts
from parallax.framing.items import Item, read_items
from parallax.framing.prompts import (
    ARMS,
    CLAUSE_ARMS,
    CLAUSE_SETS,
    EVALUATION_WORDS,
    FRAMES,
    PERMISSION_WORDS,
    FrameSpec,
    find_words,
    hash_body,
    mask,
    read_frames,
    render,
)
from parallax.stats import contrasts

RAW = Path(__file__).parents[2] / "data" / "raw" / "framing"
ALL = [(name, spec) for name in CLAUSE_SETS for spec in read_frames(RAW / "frames.yaml", name)]

SPEC = {
    "name": "w",
    "carrier": "Note: {clause}.\n\n{body}",
    "clause": {"E": "ee", "D": "d", "N": "nnn", "content_free": "c"},
    "position": "before",
    "role": "user",
    "body_ref": "body",
    "authority": "user",
    "instruction_source": "user",
    "slots": ("clause",),
}
ITEM = Item("i", "f", "t", "harmful", "refuse", "Body.", "Other.")


def spec(**changes: object) -> FrameSpec:
    return FrameSpec.model_validate({**SPEC, **changes})


def test_frames_are_those_of_the_statistics():
    assert FRAMES == contrasts.FRAMES
    assert ARMS[:4] == CLAUSE_ARMS and ARMS[:3] == FRAMES and ARMS[4:] == ("no_frame",)


def test_render_by_hand():
    prompt = render(ITEM, 0, "E", spec())
    # "Note: " has 6 characters, "ee" 2: the span is 6 to 8.
    assert (prompt.text, prompt.span) == ("Note: ee.\n\nBody.", (6, 8))
    assert prompt.messages == ({"role": "user", "content": "Note: ee.\n\nBody."},)
    assert mask(prompt.text, (6, 8)) == "Note: [CLAUSE].\n\nBody."
    assert (prompt.item, prompt.paraphrase, prompt.arm, prompt.wording) == ("i", 0, "E", "w")
    assert prompt.body_hash == hashlib.sha256(b"Body.").hexdigest()


def test_render_with_the_clause_behind():
    behind = spec(carrier="{body}\n\n(It {clause}.)", position="after")
    prompt = render(ITEM, 1, "N", behind)
    # "Other." 6 + two line ends 2 + "(It " 4 = 12; "nnn" 3.
    assert (prompt.text, prompt.span) == ("Other.\n\n(It nnn.)", (12, 15))
    assert prompt.body_hash == hash_body("Other.")


def test_without_a_frame_the_prompt_is_the_bare_body():
    prompt = render(ITEM, 1, "no_frame", spec())
    assert (prompt.text, prompt.span) == ("Other.", None)


@given(st.text(min_size=1).filter(lambda text: text.isprintable()))
def test_any_body_is_inserted_verbatim_and_only_the_span_differs(body):
    item = Item("i", "f", "t", "harmful", "refuse", body + "{clause}{body}{0}")
    framed = [render(item, 0, arm, spec()) for arm in CLAUSE_ARMS]
    for prompt in framed:
        assert prompt.span is not None and prompt.text.endswith(item.body)
        assert prompt.text[slice(*prompt.span)] == spec().clause[prompt.arm]
    assert len({mask(prompt.text, prompt.span) for prompt in framed}) == 1


@pytest.mark.parametrize("span", [(-1, 2), (3, 2), (0, 5)])
def test_mask_refuses_spans_outside_the_text(span):
    with pytest.raises(DataError, match="want 0 <= start <= end <= 4"):
        mask("four", span)


def test_shipped_prompts_differ_in_the_clause_alone():
    items = read_items(RAW / "items.jsonl")
    for (_, shipped), item, version in itertools.product(ALL, items, (0, 1)):
        framed = [render(item, version, arm, shipped) for arm in CLAUSE_ARMS]
        assert len({prompt.text for prompt in framed}) == len(CLAUSE_ARMS)
        assert len({mask(prompt.text, prompt.span).encode() for prompt in framed}) == 1
        assert len({(prompt.body_hash, prompt.role, prompt.wording) for prompt in framed}) == 1


def test_shipped_clauses_are_all_different_and_plentiful():
    clauses = [shipped.clause[arm] for _, shipped in ALL for arm in CLAUSE_ARMS]
    assert len(clauses) == len(set(clauses)) == 4 * (12 + 8)
    assert all(text == text.strip(" .") for text in clauses)


def test_shipped_clauses_neither_permit_nor_demand():
    found = [
        find_words(shipped.clause[arm], PERMISSION_WORDS) for _, shipped in ALL for arm in ARMS[:4]
    ]
    assert set(found) == {()}
    assert find_words(ALL[0][1].carrier, PERMISSION_WORDS | EVALUATION_WORDS) == ()


def test_only_the_evaluation_clauses_speak_of_an_evaluation():
    for arm in CLAUSE_ARMS:
        for _, shipped in ALL:
            found = find_words(shipped.clause[arm], EVALUATION_WORDS)
            measures = find_words(shipped.clause[arm], {"measure", "measures", "check"})
            assert bool(found or measures) == (arm == "E"), shipped.name


def test_lengths_match_within_two_words():
    for shipped in read_frames(RAW / "frames.yaml", "length_matched"):
        lengths = [len(shipped.clause[arm].split()) for arm in CLAUSE_ARMS]
        assert max(lengths) - min(lengths) <= 2, shipped.name


def test_find_words_takes_whole_words():
    text = "An attest, the contest, for example a TEST; safety-first can\u2019t canned."
    assert find_words(text, EVALUATION_WORDS) == ("test", "safety")
    assert find_words(text, PERMISSION_WORDS) == ("can't",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"carrier": "{clause} {clause} {body}"}, "want {clause} and {body} once each"),
        ({"carrier": "{clause}"}, "want {clause} and {body} once each"),
        ({"carrier": "{clause} {body} {hint}"}, "want {clause} and {body} once each"),
        ({"position": "after"}, "the carrier has the clause elsewhere"),
        ({"role": "system"}, "Input should be 'user'"),
        ({"authority": "developer"}, "Input should be 'user'"),
        ({"slots": ("clause", "role")}, "at most 1 item"),
        ({"extra": 1}, "Extra inputs are not permitted"),
        ({"clause": {**SPEC["clause"], "D": "ee"}}, "two arms have the same clause"),
        ({"clause": {**SPEC["clause"], "D": "a\nb"}}, "one line without stray blanks"),
        ({"clause": {**SPEC["clause"], "D": "{body}"}}, "one line without stray blanks"),
        ({"clause": {"E": "e", "D": "d", "N": "n"}}, "content_free"),
    ],
)
def test_leaky_slots_are_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        spec(**changes)


def test_specifications_are_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        spec().clause.E = "other"


def shipped_values() -> dict[str, object]:
    return yaml.safe_load((RAW / "frames.yaml").read_text(encoding="utf-8"))


def test_hostile_frame_files_are_refused(tmp_path):
    path = tmp_path / "frames.yaml"
    with pytest.raises(DataError, match="no such file"):
        read_frames(path, "main")
    path.write_bytes(b"\xff")
    with pytest.raises(DataError, match="byte 0 is not UTF-8"):
        read_frames(path, "main")
    path.write_text("a: [")
    with pytest.raises(DataError, match="not YAML"):
        read_frames(path, "main")
    path.write_text("just words")
    with pytest.raises(DataError, match="top level: 'just words'"):
        read_frames(path, "main")

    values = shipped_values()
    for change, message in [
        ({"role": "system"}, "role: 'system': Input should be 'user'"),
        ({"clauses": {"main": values["clauses"]["main"]}}, "no set 'length_matched'"),
        ({"clauses": {**values["clauses"], "main": values["clauses"]["main"][:2]}}, "main: .*3 it"),
        ({"clauses": {name: values["clauses"]["main"] for name in CLAUSE_SETS}}, "named 'm01'"),
        ({"tone": "warm"}, "tone: 'warm': Extra inputs"),
    ]:
        path.write_text(yaml.safe_dump({**values, **change}))
        with pytest.raises(DataError, match=message) as error:
            read_frames(path, "main")
        assert str(error.value).startswith(f"{path}: ") and "\n" not in str(error.value)


def test_unknown_clause_set_is_refused():
    with pytest.raises(DataError, match="clause set 'long': want one of main, length_matched"):
        read_frames(RAW / "frames.yaml", "long")


def test_no_body_holds_the_mask():
    # A body that holds the mark would make a masked comparison ambiguous; none does.
    texts = [item.text(version) for item in read_items(RAW / "items.jsonl") for version in (0, 1)]
    assert not any(prompts.MASK in text for text in texts)
