import gc
import json
import shutil
import weakref
from pathlib import Path

import pytest

from parallax.errors import DataError, ModelError
from parallax.files import read_table
from parallax.framing.contamination import COLUMNS
from parallax.stages import contamination

MEASURES = ["min_k_pp", "zlib_ratio", "rouge_l", "score", "tertile"]
BODIES = {
    "a": "write a polite letter to the neighbours",
    "b": "explain how a heat pump warms a house",
    "c": "list the birds that nest on the ground near a house",
    "d": "say why bread rises",
}


def subject(name, folder="models/tiny", backend="transformers", revision=None, dtype="float32"):
    return {
        "name": name,
        "backend": backend,
        "name_or_path": folder,
        "revision": revision,
        "rendering": "raw",
        "dtype": dtype,
    }


ONE, TWO = subject("one"), subject("two", dtype="bfloat16")
ENDPOINT = subject("served", "org/served", "endpoint", "v1")


@pytest.fixture
def run(place, change_params, tiny_folder):
    """`run(section__key=value, ...)` runs the stage in a folder with a model and five items."""
    shutil.copytree(tiny_folder, "models/tiny")
    common = {"source_family": "f", "topic": "t", "harm_class": "benign", "expected": "comply"}
    rows = [{"id": name, "body": body, "pilot": True} for name, body in BODIES.items()]
    rows.append({"id": "e", "body": "tell the birds why", "pilot": False})
    Path("items.jsonl").write_text("".join(json.dumps(row | common) + "\n" for row in rows))
    change_params(
        subjects=[ONE],
        subject_pairs=[],
        framing__item_set="pilot",
        contamination={"corpus": None, "ngram": 3, "least_likely": 0.5},
    )

    def call(out="results/familiarity.parquet", **changes):
        change_params(**changes)
        line = ["--items", "items.jsonl", "--out", out]
        return contamination.main(contamination.build_parser().parse_args(line))

    return call


def made(name="results/familiarity.parquet"):
    return read_table(Path(name))


def test_one_row_per_subject_and_item_of_the_set(run):
    said = run(subjects=[ONE, TWO])
    assert said == (
        "contamination: 4 bodies, subjects one, two; no corpus, no overlap"
        " -> results/familiarity.parquet"
    )
    table = made()
    assert tuple(table.columns) == COLUMNS
    assert table["subject"].tolist() == ["one"] * 4 + ["two"] * 4
    assert table["item"].tolist() == list("abcd") * 2
    assert table["overlap"].isna().all()
    assert table[MEASURES].notna().all(axis=None)
    assert (table["min_k_pp"][:4].to_numpy() != table["min_k_pp"][4:].to_numpy()).all()
    # The score and its tertiles are of one subject's items each.
    assert table.groupby("subject")["score"].mean().tolist() == pytest.approx([0, 0])
    assert table.groupby("subject")["tertile"].max().tolist() == [3, 3]
    run(framing__item_set="all")
    assert made()["item"].tolist() == list("abcde") * 2


def test_endpoint_has_no_measures_but_the_overlap(run):
    Path("corpus.txt").write_text("So: write a polite letter!\n")
    said = run(subjects=[ENDPOINT, ONE], contamination__corpus="corpus.txt")
    assert said == (
        "contamination: 4 bodies, subjects served, one;"
        " served: NaN, an endpoint gives no log-probabilities -> results/familiarity.parquet"
    )
    table = made()
    assert table[MEASURES][:4].isna().all(axis=None)
    assert table[MEASURES][4:].notna().all(axis=None)
    # Trigrams of "write a polite letter to the neighbours": 5, of which 2 are found.
    assert table["overlap"].tolist() == [2 / 5, 0, 0, 0] * 2


def test_endpoints_alone_need_no_model(run):
    shutil.rmtree("models")
    run(subjects=[ENDPOINT])
    assert made()[[*MEASURES, "overlap"]].isna().all(axis=None)


def test_what_is_undefined_is_counted(run):
    Path("corpus.txt").write_text("say why bread rises")
    items = Path("items.jsonl")
    items.write_text(items.read_text().replace(BODIES["d"], "w"))
    said = run(contamination__corpus="corpus.txt", contamination__ngram=5)
    assert "; 1 rows without a score; 1 bodies under 5 words, no overlap -> " in said


def test_same_inputs_same_bytes_at_any_batch_size(run):
    first = Path("results/familiarity.parquet")
    run()
    run(out="again.parquet", sampling__batch_size=1)
    assert Path("again.parquet").read_bytes() == first.read_bytes()


def test_one_model_is_freed_before_the_next_is_loaded(run, monkeypatch):
    from parallax.framing import subjects

    load, alive = subjects.load_subject, []

    def watch(*args):
        assert not any(model() for model in alive)
        loaded = load(*args)
        alive.append(weakref.ref(loaded.model))
        return loaded

    monkeypatch.setattr(subjects, "load_subject", watch)
    gc.disable()
    try:
        run(subjects=[ONE, TWO])
    finally:
        gc.enable()
    assert len(alive) == 2


def test_means_are_tracked_per_subject(run, database):
    from mlflow.tracking import MlflowClient

    run(subjects=[ONE, ENDPOINT])
    client = MlflowClient(database)
    places = [experiment.experiment_id for experiment in client.search_experiments()]
    newest = client.search_runs(
        places, "attributes.run_name = 'contamination'", order_by=["attributes.start_time DESC"]
    )[0]
    table = made()
    own = table[table["subject"] == "one"]
    assert newest.data.metrics == {
        f"{name}/one": pytest.approx(own[name].mean())
        for name in ("min_k_pp", "zlib_ratio", "rouge_l")
    }
    assert newest.data.params["contamination.least_likely"] == "0.5"
    files = {file.path for file in client.list_artifacts(newest.info.run_id)}
    assert files == {"familiarity.json", "familiarity.parquet"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "corpus.txt: no such file or folder; correct contamination.corpus"),
        (b"", "corpus.txt: holds no word"),
        (b"caf\xe9", "corpus.txt: not UTF-8 text"),
    ],
)
def test_corpus_that_cannot_be_used_stops_the_stage_before_a_model_is_loaded(
    run, monkeypatch, content, message
):
    from parallax.framing import subjects

    monkeypatch.delattr(subjects, "load_subject")
    if content is not None:
        Path("corpus.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        run(contamination__corpus="corpus.txt")
    assert not Path("results").exists()


def test_missing_model_and_items_are_named(run):
    with pytest.raises(ModelError, match=r"subject 'gone'.*models/none"):
        run(subjects=[subject("gone", "./models/none")])
    Path("items.jsonl").unlink()
    with pytest.raises(DataError, match=r"items\.jsonl"):
        run()
