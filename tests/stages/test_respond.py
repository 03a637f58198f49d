import re
import shutil
from pathlib import Path

import pytest

from parallax.errors import DataError, ModelError
from parallax.files import digest, read_table, write_json
from parallax.framing.endpoint import Completion
from parallax.framing.logodds import COLUMNS as LOG_ODDS
from parallax.framing.respond import COLUMNS
from parallax.stages import prompts, respond
from parallax.tracking.latest import latest_metric

RAW = Path(__file__).parents[2] / "data/raw/framing"
LOCAL = {
    "name": "tiny",
    "backend": "transformers",
    "name_or_path": "models/tiny",
    "revision": None,
    "rendering": "chat",
    "dtype": "float32",
}


@pytest.fixture
def folder(place, change_params, tiny_folder):
    """Three items' prompts that passed their checks, and a tiny subject."""
    shutil.copytree(tiny_folder, "models/tiny")
    lines = (RAW / "items.jsonl").read_text().splitlines()
    Path("items.jsonl").write_text("\n".join(lines[:3]))
    change_params(
        framing__item_set="all",
        framing__draws=2,
        sampling__max_new_tokens=4,
        sampling__batch_size=5,
        subjects=[LOCAL, LOCAL | {"name": "raw", "rendering": "raw"}],
    )
    line = "--items items.jsonl --out p.parquet --pairs pairs.parquet --frames"
    prompts.main(prompts.build_parser().parse_args([*line.split(), str(RAW / "frames.yaml")]))
    write_json(Path("checks.json"), {"success": True})
    return place


def run():
    line = "--prompts p.parquet --checks checks.json --out r.parquet --log-odds l.parquet"
    openings = ["--openings", str(RAW / "openings.yaml")]
    return respond.main(respond.build_parser().parse_args([*line.split(), *openings]))


def test_every_subject_answers_every_prompt(folder):
    summary = run()
    pattern = r"respond: 72 responses of tiny \(\d+ tokens/s\), raw \(\d+ tokens/s\) -> r\.parquet"
    assert re.fullmatch(pattern, summary)
    table = read_table(Path("r.parquet"))
    assert list(table) == list(COLUMNS)
    # Three items, two paraphrases, three frames, two draws, for each subject.
    assert table.groupby("subject").size().to_dict() == {"raw": 36, "tiny": 36}
    assert table.loc[table["subject"] == "raw", "prompt"].str.startswith("Note: ").all()
    assert table.loc[table["subject"] == "tiny", "prompt"].str.startswith("<|im_start|>").all()
    log_odds = read_table(Path("l.parquet"))
    assert list(log_odds) == list(LOG_ODDS)
    assert log_odds.groupby("subject").size().to_dict() == {"raw": 18, "tiny": 18}


def test_running_again_draws_nothing_and_changes_no_byte(folder, monkeypatch):
    run()
    measured = latest_metric("tokens_per_second/tiny")
    assert measured > 0
    before = digest(Path("r.parquet")), digest(Path("l.parquet"))
    monkeypatch.setattr("parallax.framing.respond.sample", refuse)
    assert run() == "respond: 72 responses of tiny, raw -> r.parquet"
    # Draws from the store say nothing of the speed.
    assert latest_metric("tokens_per_second/tiny") == measured
    assert (digest(Path("r.parquet")), digest(Path("l.parquet"))) == before


def refuse(model, requests, *rest):
    assert not requests
    return iter(())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("framing__seed", 1),
        ("framing__draws", 3),
        ("sampling__temperature", 0.3),
        ("sampling__top_p", 0.5),
        ("sampling__max_new_tokens", 3),
    ],
)
def test_each_setting_changes_the_responses(folder, change_params, key, value):
    run()
    before = read_table(Path("r.parquet"))
    change_params(**{key: value})
    run()
    after = read_table(Path("r.parquet"))
    assert before["response"].to_list() != after["response"].to_list()


def test_the_batch_size_changes_no_byte(folder, change_params):
    run()
    before = digest(Path("r.parquet"))
    shutil.rmtree(".checkpoints")
    change_params(sampling__batch_size=2)
    run()
    assert digest(Path("r.parquet")) == before


def test_prompts_that_did_not_pass_stop_it(folder):
    write_json(Path("checks.json"), {"success": False})
    with pytest.raises(DataError, match=r"checks\.json: the prompts did not pass"):
        run()
    assert not Path("r.parquet").exists()


def test_a_missing_model_is_named(folder, change_params):
    change_params(subjects=[LOCAL | {"name_or_path": "models/none"}])
    with pytest.raises(ModelError, match="subject 'tiny', model 'models/none'"):
        run()


def test_an_endpoint_needs_an_address_and_has_no_log_odds(folder, change_params, monkeypatch):
    served = LOCAL | {"backend": "endpoint", "name_or_path": "served", "revision": "v1"}
    change_params(subjects=[served])
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelError, match="OPENAI_BASE_URL"):
        run()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setattr("parallax.framing.endpoint.Endpoint.complete", answer)
    run()
    table = read_table(Path("r.parquet"))
    assert set(table["response"]) == {"Fine."}
    assert list(read_table(Path("l.parquet"))) == list(LOG_ODDS)
    assert read_table(Path("l.parquet")).empty


def answer(self, prompt, **decoding):
    return Completion("Fine.", 2, "eos")
