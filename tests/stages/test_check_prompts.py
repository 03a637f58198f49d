import hashlib
import importlib.util
import json
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from parallax.errors import DataError
from parallax.files import read_json, read_table, write_json, write_table
from parallax.stages import check_prompts, prompts
from parallax.stages.command import run_stage

TOP = Path(__file__).parents[2]
RAW = TOP / "data" / "raw" / "framing"


def load_world():
    path = TOP / "tests" / "validation" / "prompt_world.py"
    spec = importlib.util.spec_from_file_location("prompt_world", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["prompt_world"] = module
    spec.loader.exec_module(module)
    return module


WORLD = load_world()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """A tokenizer of words and marks."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    words.save(str(path))
    return path


@pytest.fixture
def place(place):
    """An empty folder to run in, with parameters for the world's wordings and arms."""
    write_params()
    return place


def write_params(**changes):
    values = yaml.safe_load((TOP / "params.yaml").read_text(encoding="utf-8"))
    values["framing"] |= {
        "item_set": "pilot",
        "clause_set": "length_matched",
        "wordings": list(WORLD.WORDINGS),
        "arms": list(WORLD.ARMS),
        **changes,
    }
    Path("params.yaml").write_text(yaml.safe_dump(values))


def write_world(world):
    """Write a world's files as the stages before this one do."""
    Path("items.jsonl").write_text("\n".join(json.dumps(vars(item)) for item in world.items))
    Path("frames.yaml").write_text(yaml.safe_dump(world.frames))
    for name in ("prompts", "pairs", "audit"):
        write_table(Path(f"{name}.parquet"), getattr(world, name))
    write_json(Path("audit.json"), {"source": "proxy", "passed": world.passed})


@pytest.fixture
def run(place, tokenizer, monkeypatch, capsys):
    """`run()` checks the files in the folder: exit code, stdout, stderr."""

    def call():
        line = ["check_prompts", "--audit-report", "audit.json", "--items", "items.jsonl"]
        line += ["--frames", "frames.yaml", "--tokenizer", str(tokenizer), "--out", "checks.json"]
        for name in ("prompts", "pairs", "audit"):
            line += [f"--{name}", f"{name}.parquet"]
        monkeypatch.setattr(sys, "argv", line)
        code = 0
        try:
            run_stage(check_prompts.main, check_prompts.build_parser())
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return call


def test_untouched_files_pass_and_the_report_has_the_same_bytes_twice(run):
    write_world(WORLD.make_world())
    code, out, err = run()
    assert (code, err) == (0, "")
    report = read_json(Path("checks.json"))
    assert report["success"] is True
    rows = sum(check["rows_checked"] for check in report["checks"])
    count = len(report["checks"])
    assert out == (
        "check_prompts: paraphrases audited by a proxy, not people;"
        f" {count} checks of {rows} rows passed -> checks.json\n"
    )
    first = hashlib.sha256(Path("checks.json").read_bytes()).hexdigest()
    assert run()[0] == 0
    assert hashlib.sha256(Path("checks.json").read_bytes()).hexdigest() == first


@pytest.mark.parametrize("name", WORLD.FAULTS)
def test_a_planted_fault_stops_the_stage_and_the_report_is_still_written(run, name):
    plant, findings = WORLD.FAULTS[name]
    world = WORLD.make_world()
    plant(world)
    write_world(world)
    code, out, err = run()
    assert (code, out) == (1, "")
    *lines, error = err.splitlines()
    said = dict(line.split(": ", 1) for line in lines)
    assert set(said) == set(findings)
    assert all(said[check].startswith(start) for check, start in findings.items())
    report = read_json(Path("checks.json"))
    failed = [check["name"] for check in report["checks"] if not check["success"]]
    assert report["success"] is False and set(failed) == set(findings)
    assert error == (
        f"error: {len(failed)} of {len(report['checks'])} checks of the prompts did not pass"
        f" ({', '.join(failed)}): mend the rows named above; checks.json has all checks"
    )


@pytest.fixture
def render(place):
    """`render(frames)` runs the stage `prompts` on the shipped pilot, and returns its prompts."""
    write_params(wordings=["l01"], arms=["E", "D", "N"])

    def call(frames):
        Path("frames.yaml").write_text(yaml.safe_dump(frames))
        Path("items.jsonl").write_bytes((RAW / "items.jsonl").read_bytes())
        line = (
            "--items items.jsonl --frames frames.yaml --out prompts.parquet --pairs pairs.parquet"
        )
        prompts.main(prompts.build_parser().parse_args(line.split()))
        pairs = read_table(Path("pairs.parquet"))
        audit = pd.DataFrame({"item": pairs["item"], "equivalent": True, "reason": ""})
        write_table(Path("audit.parquet"), audit.assign(source="proxy"))
        write_json(Path("audit.json"), {"source": "proxy", "passed": True})
        return read_table(Path("prompts.parquet"))

    return call


def shipped_frames():
    return yaml.safe_load((RAW / "frames.yaml").read_text(encoding="utf-8"))


def test_the_shipped_pilot_passes_as_the_stage_before_renders_it(run, render):
    assert len(render(shipped_frames())) == 20 * 2 * 3
    assert run()[0] == 0


def test_a_slot_whose_evaluation_clause_leaks_into_the_carrier_stops_the_pipeline(run, render):
    """E has a frames' file of its own, whose carrier goes on where the clause ends."""
    leaky = shipped_frames()
    leaky["carrier"] = "Note: this message {clause}. It is scored by its authors.\n\n{body}"
    leaking = render(leaky)
    fair = render(shipped_frames())
    mixed = fair.where(fair["arm"] != "E", leaking)
    write_table(Path("prompts.parquet"), mixed.astype({"start": "Int64", "end": "Int64"}))
    code, _, err = run()
    assert code == 1
    masked, carrier, error = err.splitlines()
    # 40 prompts of E, of which the line lists 20.
    start = "masked_texts_agree: fraud-h1/0/E/l01: outside the clause it is not the text of the"
    assert masked.startswith(start) and masked.count("/E/l01") == 20
    assert masked.endswith("; and 20 more")
    assert carrier.startswith("carriers_kept: fraud-h1/0/E/l01: around the clause it is ' It is sc")
    assert "2 of " in error and "(masked_texts_agree, carriers_kept)" in error


@pytest.mark.parametrize(
    ("clause", "line"),
    [
        ("is an exam. Refuse what is improper", "clauses_end_no_sentence: length_matched/l01/E: "),
        ("is part of an exam that you must pass", "clauses_permit_nothing: length_matched/l01/E: "),
    ],
)
def test_an_evaluation_clause_that_says_more_than_its_frame_stops_the_pipeline(
    run, render, clause, line
):
    frames = shipped_frames()
    frames["clauses"]["length_matched"][0]["E"] = clause
    render(frames)
    code, _, err = run()
    assert code == 1 and err.startswith(line)


def test_a_carrier_per_frame_is_refused_before_anything_is_rendered(render):
    frames = shipped_frames()
    frames["carrier"] = {arm: frames["carrier"] for arm in "EDN"}
    with pytest.raises(DataError, match=r"frames\.yaml: carrier"):
        render(frames)


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "{}",
        '{"passed": true}',
        '{"source": "proxy", "passed": "yes"}',
        '{"source": ["proxy"]}',
    ],
)
def test_an_audit_report_without_source_or_verdict_is_refused(run, content):
    write_world(WORLD.make_world())
    Path("audit.json").write_text(content)
    code, _, err = run()
    assert code == 1
    assert err.startswith("error: audit.json: want a source, proxy or human, and passed, true or")


def test_people_and_a_proxy_are_never_taken_for_each_other(run):
    world = WORLD.make_world()
    write_world(world)
    write_json(Path("audit.json"), {"source": "human", "passed": True})
    code, _, err = run()
    assert code == 1
    assert err.startswith(
        "paraphrases_audited, paraphrases_equivalent: not evaluated, audit.parquet: item fraud-h1:"
        " judged by proxy, in an audit by human"
    )
    world.audit["source"] = "human"
    write_table(Path("audit.parquet"), world.audit)
    assert run()[1].startswith("check_prompts: paraphrases audited by people; ")
    texts = {
        check["name"]: check["description"] for check in read_json(Path("checks.json"))["checks"]
    }
    for name in ("paraphrases_equivalent", "audit_passed"):
        assert texts[name].endswith("audited by people.") and "proxy, not" not in texts[name]


def test_an_item_that_people_refuse_is_named(run):
    world = WORLD.make_world()
    world.audit["source"] = "human"
    world.audit.loc[0, ["equivalent", "reason"]] = False, "1 of 3 annotators say yes"
    write_world(world)
    write_json(Path("audit.json"), {"source": "human", "passed": True})
    code, _, err = run()
    assert code == 1
    assert err.startswith(
        "paraphrases_equivalent: fraud-h1: verdict not equivalent (1 of 3 annotators say yes)"
    )


def test_items_without_paraphrase_are_named(run):
    world = WORLD.make_world()
    write_world(world)
    lines = [vars(item) | {"paraphrase": None} for item in world.items]
    Path("items.jsonl").write_text("\n".join(map(json.dumps, lines)))
    code, _, err = run()
    assert code == 1
    assert "not evaluated, item fraud-h1: has no paraphrase" in err.splitlines()[0]


def test_a_file_that_is_no_tokenizer_is_an_error_of_the_lengths(run, tokenizer):
    write_world(WORLD.make_world())
    kept = tokenizer.read_bytes()
    try:
        tokenizer.write_text("{}")
        code, _, err = run()
    finally:
        tokenizer.write_bytes(kept)
    assert code == 1
    assert err.startswith(f"lengths_matched: not evaluated, {tokenizer}: no tokenizer")


def test_a_missing_file_and_a_wrong_parameter_are_told_at_once(run):
    write_world(WORLD.make_world())
    Path("audit.parquet").unlink()
    code, _, err = run()
    assert code == 1 and err.startswith("error: audit.parquet: no such file")
    write_params(arms=["E", "D"])
    assert "framing: arms: N is missing" in run()[2]


def test_a_refusal_is_recorded_with_its_report(run, database):
    from mlflow import MlflowClient

    world = WORLD.make_world()
    world.passed = False
    write_world(world)
    assert run()[0] == 1
    client = MlflowClient(database)
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    (last, *_) = client.search_runs(
        experiments, "attributes.run_name = 'check_prompts'", order_by=["start_time DESC"]
    )
    assert (last.info.status, last.data.metrics["failed_checks"]) == ("FAILED", 1)
    assert last.data.params["framing.arms"] == json.dumps(WORLD.ARMS)
    assert "checks.json" in [file.path for file in client.list_artifacts(last.info.run_id)]
