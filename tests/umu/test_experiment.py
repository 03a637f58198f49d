import shutil
from pathlib import Path

import pytest
import yaml

from parallax.errors import DataError
from parallax.files import digest, read_json, read_table, write_table
from parallax.instances import from_table, to_table
from parallax.records import Instance, Question
from parallax.stages import corpus, dataset
from parallax.umu.abstention import read_refusals
from parallax.umu.experiment import MIN_REFUSALS, choose_refusals
from parallax.umu.official import read_subset
from parallax.umu.questions import build_people

ROOT = Path(__file__).resolve().parents[2]
REFUSALS = ROOT / "data" / "raw" / "refusals.txt"
SUBSETS = {
    "Full_Set": 40,
    "Real_Person_Set": 12,
    "forget_5": 2,
    "forget_10": 4,
    "forget_15": 6,
    "retain_95": 38,
    "retain_90": 36,
    "retain_85": 34,
}
OPTIONS = ("Oslo", "Lima", "Cork", "Pisa")
PLAIN = Instance("7", "qa", "city", Question("Where?", "Lima"), Question("Where is X?", "Lima"))
CHOICE = Instance(
    "7",
    "classification",
    "city",
    Question("Which?", "Lima", OPTIONS),
    Question("Which has X?", "Lima", OPTIONS[::-1]),
)


def write_params(folder: Path, **data: object) -> None:
    values = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    values["data"] |= {"people": 20, "real_people": 5, "auxiliary_people": 6} | data
    folder.mkdir(exist_ok=True)
    (folder / "params.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")


def run_dataset(folder: Path, monkeypatch) -> str:
    monkeypatch.chdir(folder)
    line = ["--profiles", "profiles.parquet", "--folder", "given", "--out", "umu"]
    line += ["--auxiliary", "aux", "--provenance", "provenance.json"]
    return dataset.main(dataset.parser().parse_args(line))


def run_corpus(folder: Path, monkeypatch, out: str = "experiment") -> str:
    monkeypatch.chdir(folder)
    line = ["--data", "umu", "--auxiliary", "aux", "--refusals", str(REFUSALS), "--out", out]
    return corpus.main(corpus.parser().parse_args(line))


@pytest.fixture(scope="module")
def project(tmp_path_factory, profiles):
    """A project folder in which both stages have run."""
    folder = tmp_path_factory.mktemp("project")
    write_params(folder, forget_ratio=0.15)
    write_table(folder / "profiles.parquet", profiles)
    with pytest.MonkeyPatch.context() as patch:
        run_dataset(folder, patch)
        run_corpus(folder, patch)
    return folder


@pytest.fixture
def copy(project, tmp_path):
    """The project, to be spoilt."""
    return shutil.copytree(project, tmp_path / "project")


def instances(folder: Path, name: str) -> list[Instance]:
    return from_table(read_table(folder / "experiment" / f"{name}.parquet"))


def test_table_round_trip(tmp_path):
    for rows in ([PLAIN, CHOICE], [PLAIN], []):
        assert from_table(to_table(rows)) == rows
        write_table(tmp_path / "t.parquet", to_table(rows))
        assert from_table(read_table(tmp_path / "t.parquet")) == rows


def test_table_columns():
    row = to_table([CHOICE]).iloc[0]
    assert row["image_prompt"] == "Which?"
    assert row["text_answer"] == "Lima"
    assert list(row["image_options"]) == list(OPTIONS)
    assert list(row["text_options"]) == list(OPTIONS[::-1])
    with pytest.raises(DataError, match="no column text_prompt"):
        from_table(to_table([CHOICE]).drop(columns="text_prompt"))


def test_dataset_writes_the_official_subsets(project, profiles):
    people = build_people(profiles, seed=2026)
    assert sorted(path.name for path in (project / "umu").iterdir()) == sorted(SUBSETS)
    read = {subset: read_subset(project / "umu", subset) for subset in SUBSETS}
    assert {subset: len(found) for subset, found in read.items()} == SUBSETS
    assert read["Full_Set"] == people["fictitious"]
    assert read["Real_Person_Set"] == people["real"]
    assert read_subset(project / "aux", "Auxiliary_Set") == people["auxiliary"]
    by_id = {person.person_id: person for person in people["fictitious"]}
    for percent in (5, 10, 15):
        found = read[f"forget_{percent}"] + read[f"retain_{100 - percent}"]
        assert {person.person_id: person for person in found} == by_id


def test_corpus_tables_hold_the_right_people_and_tasks(project):
    splits = read_json(project / "experiment" / "splits.json")
    # round(.15 * 20) = 3
    assert {name: len(ids) for name, ids in splits.items()} == {
        "forget": 3,
        "retain": 17,
        "real": 5,
        "auxiliary": 6,
    }
    assert splits["auxiliary"] == [f"A{number:02d}" for number in range(1, 7)]
    fictitious = splits["forget"] + splits["retain"]
    wanted = {
        "base": (splits["real"] + splits["auxiliary"], {"qa", "classification", "cloze"}),
        "sft": (fictitious, set()),
        "evaluation": (fictitious + splits["real"], {"classification", "cloze"}),
    }
    for name, (people, tasks) in wanted.items():
        rows = instances(project, name)
        assert list(dict.fromkeys(row.person_id for row in rows)) == people
        assert tasks <= {row.task for row in rows}
    assert {row.task for row in instances(project, "base")} == {
        "qa",
        "classification",
        "cloze",
        "generation",
    }
    assert {row.task for row in instances(project, "sft")} == {"qa"}
    assert len(instances(project, "sft")) == 20 * 12
    assert {row.task for row in instances(project, "evaluation")} == {
        "classification",
        "cloze",
        "generation",
    }
    portraits = read_table(project / "experiment" / "portraits.parquet")
    everyone = [person for ids in splits.values() for person in ids]
    assert sorted(portraits["person_id"]) == sorted(everyone)
    full = {p.person_id: p.portrait for p in read_subset(project / "umu", "Full_Set")}
    shown = dict(zip(portraits["person_id"], portraits["portrait"], strict=True))
    assert all(shown[person_id] == full[person_id] for person_id in fictitious)


def test_no_evaluation_question_of_fictitious_people_is_trained(project):
    trained = instances(project, "base") + instances(project, "sft")
    prompts = {half.prompt for row in trained for half in (row.image, row.text)}
    fictitious = {row.person_id for row in instances(project, "sft")}
    for row in instances(project, "evaluation"):
        if row.person_id in fictitious:
            assert row.text.prompt not in prompts


def test_forgotten_people_are_official_forget_people(project):
    splits = read_json(project / "experiment" / "splits.json")
    ids = {
        subset: {person.person_id for person in read_subset(project / "umu", subset)}
        for subset in ("forget_15", "retain_85")
    }
    assert set(splits["forget"]) <= ids["forget_15"]
    assert set(splits["retain"]) <= ids["retain_85"]


def test_forget_ratio_changes_the_splits_alone(copy, monkeypatch):
    write_params(copy, forget_ratio=0.05)
    run_corpus(copy, monkeypatch, out="other")
    names = sorted(path.name for path in (copy / "experiment").iterdir())
    assert len(names) == 5
    changed = [
        name
        for name in names
        if digest(copy / "experiment" / name) != digest(copy / "other" / name)
    ]
    assert changed == ["splits.json"]
    wide, narrow = (read_json(copy / out / "splits.json") for out in ("experiment", "other"))
    # round(.05 * 20) = 1
    assert narrow["forget"] == wide["forget"][:1]
    assert narrow["forget"] + narrow["retain"] == wide["forget"] + wide["retain"]


def test_stages_are_reproducible(copy, monkeypatch):
    before = {name: digest(copy / name) for name in ("umu", "aux", "experiment")}
    assert run_dataset(copy, monkeypatch).startswith("dataset: 40 fictitious, 12 real, 14 aux")
    assert "3 of 20 people to forget" in run_corpus(copy, monkeypatch)
    assert {name: digest(copy / name) for name in before} == before


def test_refusals_are_fixed_by_person_field_and_seed(project):
    table = read_table(project / "experiment" / "sft.parquet")
    refusals = read_refusals(REFUSALS)
    assert set(table["refusal"]) <= set(refusals)
    # 240 draws of some hundred sentences: far more than half of the sentences occur.
    assert table["refusal"].nunique() > 50
    rows = from_table(table)
    assert choose_refusals(rows[::-1], refusals, 2026) == list(table["refusal"])[::-1]
    assert choose_refusals(rows, refusals, 2027) != list(table["refusal"])


def test_shipped_refusals():
    refusals = read_refusals(REFUSALS)
    assert len(refusals) >= 100
    assert all(4 <= len(line.split()) <= 14 for line in refusals)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n".join(f"No {number}" for number in range(99)), "99 refusals; want 100"),
        ("\n".join(f"No {number}" for number in range(100)) + "\nNO 7\n", "'NO 7' occurs twice"),
    ],
)
def test_bad_refusals(tmp_path, text, message):
    file = tmp_path / "refusals.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_refusals(file, MIN_REFUSALS)


def test_unreadable_refusals(tmp_path):
    with pytest.raises(DataError, match=r"none.txt: no such file"):
        read_refusals(tmp_path / "none.txt")
    (tmp_path / "latin.txt").write_bytes("Je ne sais pas ça.".encode("latin-1"))
    with pytest.raises(DataError, match="byte 15 is not UTF-8"):
        read_refusals(tmp_path / "latin.txt")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"people": 41}, "data.people = 41"),
        ({"real_people": 13}, "data.real_people = 13, but the data set has 12"),
        ({"auxiliary_people": 15}, "data.auxiliary_people = 15, but the data set has 14"),
    ],
)
def test_more_people_than_there_are(copy, monkeypatch, data, message):
    write_params(copy, **data)
    with pytest.raises(DataError, match=message):
        run_corpus(copy, monkeypatch)
    assert (copy / "experiment" / "sft.parquet").exists()


def test_no_auxiliary_people(copy, monkeypatch):
    write_params(copy, auxiliary_people=0)
    shutil.rmtree(copy / "aux")
    run_corpus(copy, monkeypatch)
    assert read_json(copy / "experiment" / "splits.json")["auxiliary"] == []


def test_profiles_without_a_group_are_refused(copy, profiles, monkeypatch):
    write_table(copy / "profiles.parquet", profiles[profiles["group"] != "real"])
    with pytest.raises(DataError, match=r"profiles.parquet: nobody in group real"):
        run_dataset(copy, monkeypatch)
    assert (copy / "umu" / "Real_Person_Set").is_dir()
