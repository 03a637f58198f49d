from pathlib import Path

import pytest

from parallax.errors import DataError
from parallax.files import digest, read_table
from parallax.framing.prompt_table import read_item_pairs, read_prompts
from parallax.stages import prompts

TOP = Path(__file__).parents[2]
RAW = TOP / "data" / "raw" / "framing"


@pytest.fixture
def run(place, change_params):
    """`run(**changes of params.framing)` runs the stage in an empty folder."""

    def call(items=RAW / "items.jsonl", overlay=None, **changes):
        values = {
            "item_set": "pilot",
            "clause_set": "length_matched",
            "wordings": ["l01"],
            "arms": ["E", "D", "N"],
            **changes,
        }
        change_params(**{f"framing__{key}": value for key, value in values.items()})
        command = f"--items {items} --frames {RAW / 'frames.yaml'}"
        command += " --out data/prompts.parquet --pairs data/pairs.parquet"
        command += f" --overlay {overlay}" if overlay else ""
        return prompts.main(prompts.build_parser().parse_args(command.split()))

    return call


def test_pilot_has_120_prompts_and_20_pairs(run):
    # 20 items x 2 paraphrases x 3 frames
    assert run() == (
        "prompts: 120 of 20 items in E, D, N, length_matched l01 -> data/prompts.parquet"
    )
    table = read_table(Path("data/prompts.parquet"))
    assert table.groupby(["item", "paraphrase"])["body_hash"].nunique().eq(1).all()
    assert list(table["arm"][:6]) == ["E", "D", "N"] * 2
    pairs = read_item_pairs(Path("data/pairs.parquet"))
    assert [pair.item for pair in pairs] == list(dict.fromkeys(table["item"]))
    bodies = {(row.item, row.paraphrase): row.body for row in table.itertuples()}
    assert all(bodies[p.item, 0] == p.a and bodies[p.item, 1] == p.b for p in pairs)


def test_an_overlay_asks_other_items_in_the_same_frames(run):
    Path("other.yaml").write_text("framing: {item_set: all, draws: 3}")
    said = run(items=RAW / "organisms/items.jsonl", overlay="other.yaml")
    # 24 stand-ins x 2 paraphrases x 3 frames
    assert said.startswith("prompts: 144 of 24 items in E, D, N, length_matched l01")


def test_all_items_arms_and_wordings_in_the_order_asked(run):
    run(
        item_set="all", arms=["N", "no_frame", "E", "D"], wordings=["m03", "m01"], clause_set="main"
    )
    made = read_prompts(Path("data/prompts.parquet"))
    # 72 items x 2 paraphrases x (3 framed arms x 2 wordings + 1 bare body)
    assert len(made) == 72 * 2 * 7
    first = [(prompt.wording, prompt.arm) for prompt in made[:7]]
    assert first == [
        *(("m03", arm) for arm in ("N", "no_frame", "E", "D")),
        *(("m01", arm) for arm in ("N", "E", "D")),
    ]


def test_the_same_inputs_give_the_same_bytes(run):
    files = [Path("data/prompts.parquet"), Path("data/pairs.parquet")]
    run()
    before = [digest(file) for file in files]
    run()
    assert [digest(file) for file in files] == before


def test_an_unknown_wording_lists_those_of_the_set(run):
    with pytest.raises(DataError, match=r"wordings: 'm01' is no wording .* has l01, l02, .*, l08$"):
        run(wordings=["l01", "m01"])
    assert not Path("data").exists()


def test_a_pilot_without_items_is_refused(run, tmp_path):
    lines = (
        (RAW / "items.jsonl").read_text(encoding="utf-8").replace('"pilot": true', '"pilot": false')
    )
    (tmp_path / "own.jsonl").write_text(lines)
    with pytest.raises(DataError, match="item_set is 'pilot', but none of 72 items is marked"):
        run(items="own.jsonl")
    assert run(items="own.jsonl", item_set="all").startswith("prompts: 432 of 72 items")
