import shutil
from pathlib import Path

import pytest

from parallax.errors import ParamsError
from parallax.params import load_params
from parallax.presets.__main__ import main

TOP = Path(__file__).parents[1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(TOP / "params.yaml", "params.yaml")
    return tmp_path


def test_pilot_is_what_ships(folder):
    before = load_params()
    assert main(["pilot"]).startswith("preset pilot: set framing in params.yaml")
    assert load_params() == before


def test_writing_a_preset_twice_changes_nothing_more(folder):
    main(["paper"])
    once = Path("params.yaml").read_bytes()
    main(["paper"])
    assert Path("params.yaml").read_bytes() == once


def test_full_asks_every_item_in_every_arm(folder):
    main(["full"])
    framing = load_params().framing
    assert (framing.item_set, len(framing.arms), framing.draws) == ("all", 5, 7)


def test_paper_has_five_subjects_and_two_model_judges(folder):
    text = Path("params.yaml").read_text()
    main(["paper"])
    params = load_params()
    assert len(params.subjects) == 5
    assert params.judging.names == ("rubric", "guard", "lexical")
    (pair,) = params.subject_pairs
    base = next(s for s in params.subjects if s.name == pair.base)
    assert base.rendering == "raw"
    # Another section keeps its values and comments.
    unlearn = text[text.index("unlearn:\n") : text.index("evaluate:\n")]
    assert unlearn in Path("params.yaml").read_text()


def test_an_unusable_file_is_left_as_it_is(folder):
    Path("params.yaml").write_text("data: 1\n")
    with pytest.raises(ParamsError, match="data = 1"):
        main(["full"])
    assert Path("params.yaml").read_text() == "data: 1\n"


def test_an_unknown_preset_is_told_the_presets(folder, capsys):
    with pytest.raises(SystemExit):
        main(["huge"])
    error = capsys.readouterr().err
    assert all(name in error for name in ("pilot", "full", "paper"))
