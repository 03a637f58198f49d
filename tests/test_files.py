import hashlib
import json
import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parallax.errors import DataError
from parallax.files import (
    checkpoint_root,
    digest,
    read_json,
    read_table,
    replace_file,
    replace_folder,
    write_csv,
    write_json,
    write_table,
    write_text,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_file_is_replaced_when_the_block_succeeds(tmp_path):
    target = tmp_path / "deep" / "file"
    with replace_file(target) as part:
        part.write_text("new")
        assert not target.exists()
        assert part.parent == target.parent
    assert target.read_text() == "new"
    assert names(target.parent) == ["file"]


def test_a_failed_block_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(KeyError), replace_file(target) as part:
        part.write_text("half")
        raise KeyError
    assert target.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_folder_is_replaced_whole(tmp_path):
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_text("old")
    with replace_folder(target) as part:
        assert list(part.iterdir()) == []
        (part / "new").write_text("new")
        assert names(target) == ["old"]
    assert names(target) == ["new"]
    assert names(tmp_path) == ["folder"]


def test_a_failed_block_leaves_the_old_folder(tmp_path):
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_text("old")
    with pytest.raises(KeyError), replace_folder(target) as part:
        (part / "new").write_text("new")
        raise KeyError
    assert names(target) == ["old"]
    assert names(tmp_path) == ["folder"]


def test_text_has_unix_line_ends(tmp_path):
    write_text(tmp_path / "t", "é\nb\n")
    assert (tmp_path / "t").read_bytes() == b"\xc3\xa9\nb\n"


def test_json_is_strict_sorted_and_readable(tmp_path):
    write_json(tmp_path / "j", {"b": math.nan, "a": [1.5, (math.nan, "é")], 3: {"x": None}})
    text = (tmp_path / "j").read_text(encoding="utf-8")
    assert text.endswith("}\n")
    assert "é" in text
    assert json.loads(text) == {"3": {"x": None}, "a": [1.5, [None, "é"]], "b": None}
    assert list(json.loads(text)) == ["3", "a", "b"]
    assert read_json(tmp_path / "j")["a"][0] == 1.5


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_json_has_no_infinity(tmp_path, value):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "j", {"a": value})
    assert names(tmp_path) == []


def test_missing_or_broken_json_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.json: no such file"):
        read_json(tmp_path / "nothing.json")
    (tmp_path / "broken.json").write_text('{\n"a": }')
    with pytest.raises(DataError, match=r"broken\.json: not JSON, line 2"):
        read_json(tmp_path / "broken.json")


def test_csv_leaves_missing_values_empty_and_refuses_unknown_columns(tmp_path):
    write_csv(tmp_path / "c", [{"a": 1, "b": 0.5}, {"a": 2}], ("a", "b"))
    assert (tmp_path / "c").read_bytes() == b"a,b\n1,0.5\n2,\n"
    with pytest.raises(ValueError, match="'c'"):
        write_csv(tmp_path / "d", [{"c": 1}], ("a", "b"))
    assert names(tmp_path) == ["c"]


def test_table_comes_back_and_has_the_same_bytes(tmp_path):
    table = pd.DataFrame({"id": ["1", "2"], "x": [0.5, math.nan], "b": [b"\x00", b"\x01"]})
    write_table(tmp_path / "one", table)
    write_table(tmp_path / "two", table.set_axis([7, 9]))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    pd.testing.assert_frame_equal(read_table(tmp_path / "one"), table, check_dtype=False)


def test_missing_or_broken_table_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nothing: no such file"):
        read_table(tmp_path / "nothing")
    (tmp_path / "broken").write_text("no parquet")
    with pytest.raises(DataError, match=r"broken: not a parquet file") as caught:
        read_table(tmp_path / "broken")
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=50))
def test_digest_of_a_file_is_its_md5(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("d") / "f"
    path.write_bytes(content)
    assert digest(path) == hashlib.md5(content).hexdigest()


def test_digest_of_a_folder_sees_names_and_contents(tmp_path):
    def folder(name, files):
        for file, text in files.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text(text)
        return digest(tmp_path / name)

    first = folder("a", {"x": "1", "sub/y": "2"})
    assert folder("b", {"sub/y": "2", "x": "1"}) == first
    assert folder("c", {"x": "2", "sub/y": "1"}) != first
    assert folder("d", {"x": "1", "y": "2"}) != first


def test_root_is_the_repository_that_dvc_names(monkeypatch, tmp_path):
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    assert checkpoint_root() == tmp_path / ".checkpoints"
    monkeypatch.delenv("DVC_ROOT")
    assert str(checkpoint_root()) == ".checkpoints"
