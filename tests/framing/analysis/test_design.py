import numpy as np
import pytest

from parallax.errors import DataError
from parallax.framing.analysis.design import arrange, find_design


def design_of(keys, subjects=("tiny",)):
    return find_design(keys, subjects, {f"i{n:03d}" for n in range(9)}, "responses.parquet")


def test_axes_are_named_and_in_order(sample):
    keys = sample.make_keys(2, arms=("N", "no_frame", "D", "E"), wordings=("w2", "w1"), draws=2)
    design = design_of(keys.sample(frac=1, random_state=0))
    assert design.items == ("i000", "i001")
    assert design.wordings == ("w1", "w2")
    assert design.arms == ("E", "D", "N", "no_frame")
    assert design.draws == (0, 1)


def test_values_go_where_their_names_say(sample):
    keys = sample.make_keys(2, draws=3).sample(frac=1, random_state=1)
    design = design_of(keys)
    values = [int(row.item[1:]) * 100 + row.paraphrase * 10 + row.draw for row in keys.itertuples()]
    found = arrange(keys, design, design.axes, np.array(values, dtype=float), "made")
    assert found.shape == (1, 2, 2, 1, 3, 3)
    # item 1, paraphrase 0, arm D, draw 2
    assert found[0, 1, 0, 0, 1, 2] == 102
    assert (found[0, 0, 1, 0] == [10, 11, 12]).all()


def test_a_response_without_frame_stands_for_every_wording(sample):
    keys = sample.make_keys(
        1, arms=("E", "D", "N", "no_frame"), wordings=("w1", "w2", "w3"), draws=2
    )
    design = design_of(keys)
    values = np.where(keys["arm"] == "no_frame", keys["draw"] + 1, 0).astype(float)
    found = arrange(keys, design, design.axes, values, "made")
    assert (found[0, 0, :, :, 3] == [1, 2]).all()
    assert (found[0, 0, :, :, :3] == 0).all()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("subject", "other", "subject 'other' is none of this experiment's"),
        ("item", "i9", "item 'i9' is none"),
        ("arm", "X", "arm 'X' is none"),
        ("paraphrase", 2, "paraphrase 2 is none"),
    ],
)
def test_unknown_names_are_refused(sample, column, value, message):
    keys = sample.make_keys(2)
    keys.loc[0, column] = value
    with pytest.raises(DataError, match=message):
        design_of(keys)


def test_every_frame_and_subject_is_needed(sample):
    keys = sample.make_keys(2, arms=("E", "N"))
    with pytest.raises(DataError, match="no response of arm D"):
        design_of(keys)
    with pytest.raises(DataError, match="no response of subject large"):
        design_of(sample.make_keys(2), ("tiny", "large"))


def test_a_subject_that_lacks_an_arm_of_another_is_named(sample):
    keys = sample.make_keys(2, ("tiny", "large"), arms=("E", "D", "N", "content_free"))
    keys = keys[(keys["subject"] == "tiny") | (keys["arm"] != "content_free")]
    place = "subject large, item i000, paraphrase 0, wording w1, arm content_free, draw 0"
    with pytest.raises(DataError, match=f"response of {place} is missing"):
        design_of(keys, ("tiny", "large"))


def test_one_lost_draw_and_one_double_draw_are_named(sample):
    keys = sample.make_keys(2)
    with pytest.raises(DataError, match="arm E, draw 3 is missing"):
        design_of(keys.drop(index=3))
    keys.loc[3, "draw"] = 4
    with pytest.raises(DataError, match="draw 3 is missing"):
        design_of(keys)
    double = sample.make_keys(2).iloc[[*range(84), 5]]
    with pytest.raises(DataError, match="draw 5 stands there twice"):
        design_of(double)


def test_a_table_without_a_column_or_rows_is_refused(sample):
    keys = sample.make_keys(2)
    with pytest.raises(DataError, match="no column 'draw'"):
        design_of(keys.drop(columns="draw"))
    with pytest.raises(DataError, match="no rows"):
        design_of(keys[:0])
