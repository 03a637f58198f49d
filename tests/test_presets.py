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


@pytest.mark.parametrize("name", ["llava-1.5-7b", "qwen2-vl-2b", "smolvlm"])
def test_model_presets_have_the_papers_hyper_parameters(folder, name):
    before = Path("params.yaml").read_text()
    main([name])
    params = load_params()
    assert (params.data.people, params.data.forget_people) == (500, 25)
    assert params.model.dtype == "bfloat16" and params.sft.replay_share == 0
    sft, unlearn = params.sft, params.unlearn
    assert (sft.batch_size, sft.epochs, sft.learning_rate) == (4, 5, 2e-5)
    assert (sft.tuning, sft.lora.rank, sft.lora.alpha) == ("lora", 8, 16)
    assert (unlearn.batch_size, unlearn.schedule, unlearn.tuning) == (6, "linear", "lora")
    assert (unlearn.lora.rank, unlearn.lora.alpha, unlearn.lora.dropout) == (64, 32, 0.05)
    blocks = {key: getattr(unlearn, key) for key in ("ga", "gd", "kl", "po", "npo")}
    assert {key: block.epochs for key, block in blocks.items()} == {
        **{"ga": 5, "gd": 5, "po": 5},
        **{"kl": 4, "npo": 4},
    }
    assert {block.learning_rate for key, block in blocks.items() if key != "npo"} == {1e-5}
    assert (unlearn.npo.learning_rate, unlearn.npo.npo_beta) == (6.2e-6, 0.4)
    assert {blocks[key].retain_weight for key in ("gd", "kl", "po", "npo")} == {1}
    assert {sft.optimizer, unlearn.optimizer} == {"adamw"}
    # The framing half keeps its values and comments.
    assert before[before.index("framing:\n") :] in Path("params.yaml").read_text()


def test_model_presets_name_the_checkpoints(folder):
    names = {
        "llava-1.5-7b": "llava-hf/llava-1.5-7b-hf",
        "qwen2-vl-2b": "Qwen/Qwen2-VL-2B-Instruct",
        "smolvlm": "HuggingFaceTB/SmolVLM-Instruct",
    }
    for preset, name in names.items():
        main([preset])
        assert load_params().model.name_or_path == name


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
