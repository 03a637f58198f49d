import ast
import hashlib
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from parallax.errors import DataError
from parallax.records import Instance, Person, Question
from parallax.umu.folders import FILE_NAME, parse_id
from parallax.umu.literals import parse_literal
from parallax.umu.official import read_ids, read_subset, write_subset
from parallax.umu.official_rows import COLUMNS, parse_person
from parallax.umu.questions import build_people

FLAWS = """'"\\\n \t{}[]<image>—ŁÖ한국"""


def png() -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise((24, 24), 40).save(buffer, "PNG")
    return buffer.getvalue()


PORTRAIT = png()


def classified(question: str, answer: str = "B") -> dict[str, object]:
    options = {"A": "Oslo", "B": "Lima", "C": "Cork", "D": "Pisa"}
    return {"question": question, "options": options, "answer": answer}


def row(**changes: object) -> dict[str, object]:
    """A row as the official files have it, with Python literals."""
    cells: dict[str, object] = {
        "ID": "17",
        "image": {"bytes": PORTRAIT, "path": "17.png"},
        "Biography": "A life.",
        "MM_QA": repr({"question": {"city": "Where from?"}, "answer": {"city": "Lima"}}),
        "UM_QA": repr({"question": {"city": "Where is Ana from?"}, "answer": {"city": "Lima"}}),
        "Classify": repr(
            {
                "unimodal": {"city": classified("Which city is Ana's?")},
                "muitimodal": {"city": classified("Which city is it?")},
            }
        ),
        "Cloze": repr(
            {
                "unimodal": {"city": {"question": "Ana is from [Blank].", "answer": "Lima"}},
                "muitimodal": {"city": {"question": "From [Blank].", "answer": "Lima"}},
            }
        ),
        "Generation": repr(
            {
                "unimodal": {"past": {"question": "Tell of Ana.", "answer": "She isn't here."}},
                "muitimodal": {"past": {"question": "Tell.", "answer": "She isn't here."}},
            }
        ),
    }
    return cells | changes


def parsed(**changes: object) -> Person:
    return parse_person(row(**changes), "17", "forget_5")


def edited(column: str, edit) -> str:
    value = ast.literal_eval(row()[column])
    edit(value)
    return repr(value)


@pytest.fixture(scope="module")
def people(profiles):
    return build_people(profiles, seed=7)["fictitious"]


def write_rows(folder, rows):
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / FILE_NAME)


def test_row():
    person = parsed()
    options = ("Oslo", "Lima", "Cork", "Pisa")
    assert person == Person(
        "17",
        PORTRAIT,
        "A life.",
        (
            Instance(
                "17",
                "qa",
                "city",
                Question("Where from?", "Lima"),
                Question("Where is Ana from?", "Lima"),
            ),
            Instance(
                "17",
                "classification",
                "city",
                Question("Which city is it?", "Lima", options),
                Question("Which city is Ana's?", "Lima", options),
            ),
            Instance(
                "17",
                "cloze",
                "city",
                Question("From [Blank].", "Lima"),
                Question("Ana is from [Blank].", "Lima"),
            ),
            Instance(
                "17",
                "generation",
                "past",
                Question("Tell.", "She isn't here."),
                Question("Tell of Ana.", "She isn't here."),
            ),
        ),
    )


def test_round_trip_is_identity(people, tmp_path):
    write_subset(tmp_path, "forget_5", people)
    assert read_subset(tmp_path, "forget_5") == people
    assert read_ids(tmp_path, "forget_5") == [person.person_id for person in people]


texts = st.text(st.sampled_from(FLAWS + "abcXYZ019"), min_size=1, max_size=12).map(
    lambda text: f"x{text}y".replace("<image>", "")
)


@given(
    prompts=st.lists(texts, min_size=2, max_size=2),
    answers=st.lists(texts, min_size=1),
    field=texts,
    options=st.lists(texts, min_size=4, max_size=4, unique=True),
)
@settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_round_trip_keeps_any_text(tmp_path, prompts, answers, field, options):
    image, text = prompts
    instances = (
        Instance("é", "qa", field, Question(image, answers[0]), Question(text, answers[-1])),
        Instance(
            "é",
            "classification",
            field,
            Question(image, options[3], tuple(options)),
            Question(text, options[0], tuple(options)),
        ),
    )
    person = Person("é", PORTRAIT, answers[0], instances)
    write_subset(tmp_path, "Full_Set", [person])
    assert read_subset(tmp_path, "Full_Set") == [person]


def test_written_files_are_official(people, tmp_path):
    write_subset(tmp_path, "forget_5", people)
    frame = pq.read_table(tmp_path / "forget_5" / FILE_NAME).to_pandas()
    assert tuple(frame.columns) == COLUMNS
    assert list(frame["ID"][:2]) == ["1", "2"]
    assert frame["image"][0] == {"bytes": people[0].portrait, "path": "1.png"}
    qa = ast.literal_eval(frame["MM_QA"][0])
    assert list(qa) == ["question", "answer"]
    assert qa["answer"]["birth_city"] == "Lyon"
    assert len(qa["question"]) == 12
    classify = ast.literal_eval(frame["Classify"][0])
    assert list(classify) == ["unimodal", "muitimodal"]
    entry = classify["muitimodal"]["birth_city"]
    assert entry["options"][entry["answer"].split(".")[0]] == "Lyon"
    assert list(ast.literal_eval(frame["Cloze"][0])["unimodal"]["birth_city"]) == [
        "question",
        "answer",
    ]


def test_written_files_open_in_datasets_as_pictures(people, tmp_path):
    import datasets

    write_subset(tmp_path, "forget_5", people[:2])
    file = str(tmp_path / "forget_5" / FILE_NAME)
    loaded = datasets.load_dataset(
        "parquet", data_files=file, split="train", cache_dir=str(tmp_path / "cache")
    )
    assert loaded[0]["image"].size == (8, 8)
    assert loaded[1]["ID"] == "2"


def test_same_people_same_bytes(people, tmp_path):
    for name in ("one", "two"):
        write_subset(tmp_path / name, "Full_Set", people)
    first, second = (
        hashlib.md5((tmp_path / name / "Full_Set" / FILE_NAME).read_bytes()).hexdigest()
        for name in ("one", "two")
    )
    assert first == second


def test_writer_refuses_an_answer_that_is_no_option(tmp_path):
    question = Question("Which?", "Rome", ("Oslo", "Lima", "Cork", "Pisa"))
    instance = Instance("9", "classification", "city", question, question)
    with pytest.raises(DataError, match=r"ID 9, classification of city: .*'Rome'"):
        write_subset(tmp_path, "Full_Set", [Person("9", PORTRAIT, "", (instance,))])
    assert not list(tmp_path.rglob("*.parquet"))


def test_spelling_json_and_letter_variants_mean_the_same():
    multimodal = {c: row()[c].replace("muitimodal", "multimodal") for c in ("Classify", "Cloze")}
    assert parsed(**multimodal) == parsed()
    columns = ("MM_QA", "UM_QA", "Classify", "Cloze", "Generation")
    as_json = {c: json.dumps(ast.literal_eval(row()[c])) for c in columns}
    assert parsed(**as_json) == parsed()
    for answer in ("B. Lima", "B.", "b", " B ", "B: Lima", "B) Lima.", "B.lima"):
        assert (
            parsed(Classify=row()["Classify"].replace(", 'answer': 'B'", f", 'answer': {answer!r}"))
            == parsed()
        )


@pytest.mark.parametrize(
    "scaffolded",
    [
        "USER:\n{}",
        "USER: {}\nASSISTANT:",
        "USER: <image>\n{}",
        "<image>\nUSER: {}",
        "<image>{}",
        " {} <image> ",
    ],
)
def test_template_is_kept_out_of_questions(scaffolded):
    cell = edited(
        "MM_QA", lambda v: v["question"].update(city=scaffolded.format(v["question"]["city"]))
    )
    assert parsed(MM_QA=cell) == parsed()


def test_numbers_become_texts():
    qa = {"question": {"year": "When?"}, "answer": {"year": 1974}}
    person = parsed(MM_QA=json.dumps(qa), UM_QA=repr(qa))
    assert person.instances[0].text.answer == "1974"
    keys = {"question": {1: "When?"}, "answer": {1: "now"}}
    assert parsed(MM_QA=repr(keys), UM_QA=repr(keys)).instances[0].field == "1"


def test_answer_letter_is_read_per_modality():
    cell = edited("Classify", lambda v: v["unimodal"]["city"].update(answer="D"))
    instance = parsed(Classify=cell).instances[1]
    assert (instance.image.answer, instance.text.answer) == ("Lima", "Pisa")


@pytest.mark.parametrize(
    ("value", "wanted"), [("17", "17"), (17, "17"), (17.0, "17"), (" 017 ", "017"), ("A01", "A01")]
)
def test_ids(value, wanted):
    assert parse_id(value, "here") == wanted


@pytest.mark.parametrize("value", [None, "", " ", True, 1.5, float("nan"), b"17"])
def test_bad_ids(value):
    with pytest.raises(DataError, match="here, column ID"):
        parse_id(value, "here")


def drop(column, *path):
    def edit(value):
        for key in path[:-1]:
            value = value[key]
        del value[path[-1]]

    return edited(column, edit)


def put(column, new, *path):
    def edit(value):
        for key in path[:-1]:
            value = value[key]
        value[path[-1]] = new

    return edited(column, edit)


CLASSIFIED = ("muitimodal", "city")
BAD_CELLS = [
    ("image", None, "no bytes"),
    ("image", {"bytes": None, "path": "x.png"}, "no bytes"),
    ("image", {"bytes": b"GIF89a not", "path": "x"}, "undecodable image of 10 bytes"),
    ("image", {"bytes": PORTRAIT[: len(PORTRAIT) // 2], "path": "x"}, "undecodable image"),
    ("image", {"bytes": PORTRAIT[:40] + bytes(200), "path": "x"}, "undecodable image"),
    ("Biography", 5, "5 is no text"),
    ("MM_QA", None, "None is no text"),
    ("MM_QA", "", "neither a Python literal nor JSON"),
    ("MM_QA", "null", "NoneType; want a mapping"),
    ("MM_QA", "NaN", "float; want a mapping"),
    ("MM_QA", "[]", "list; want a mapping"),
    ("MM_QA", "{'question': {}}", "no key 'answer'"),
    ("MM_QA", "{'question': {'city'", "neither a Python literal nor JSON"),
    ("MM_QA", "__import__('os').getcwd()", "neither a Python literal nor JSON"),
    ("MM_QA", "9" * 5000, "neither a Python literal nor JSON"),
    ("MM_QA", put("MM_QA", "Li\ud83dma", "answer", "city"), "is no valid Unicode"),
    ("MM_QA", "{" * 5000, "neither a Python literal nor JSON"),
    ("MM_QA", put("MM_QA", "", "answer", "city"), "question 'city': empty answer"),
    ("MM_QA", put("MM_QA", " \n", "answer", "city"), "question 'city': empty answer"),
    ("MM_QA", put("MM_QA", None, "answer", "city"), "question 'city': empty answer"),
    ("MM_QA", put("MM_QA", ["Lima"], "answer", "city"), r"answer \['Lima'\] is no text"),
    ("MM_QA", put("MM_QA", True, "answer", "city"), "answer True is no text"),
    ("MM_QA", put("MM_QA", "USER: <image>\n", "question", "city"), "empty question"),
    ("MM_QA", '{"question": {"a": "b"}, "answer": {"a": NaN}}', "question 'a': empty answer"),
    ("MM_QA", '{"question": {"a": "b", "a": "c"}, "answer": {"a": "d"}}', "'a' occurs twice"),
    ("MM_QA", "{'question': {'a': 'b', 'a': 'c'}, 'answer': {'a': 'd'}}", "key 'a' occurs twice"),
    ("MM_QA", "{'question': {1: 'b', '1': 'c'}, 'answer': {1: 'd', '1': 'd'}}", "only in type"),
    ("MM_QA", drop("MM_QA", "answer", "city"), "'city' has a question or an answer, not both"),
    ("UM_QA", "{'question': {}, 'answer': {}}", "'city' has no text twin of its image side"),
    ("MM_QA", "{'question': {}, 'answer': {}}", "'city' has no image twin of its text side"),
    ("Classify", drop("Classify", "muitimodal"), "want one of the keys"),
    ("Classify", put("Classify", {}, "multimodal"), "want one of the keys"),
    ("Classify", drop("Classify", "unimodal"), "no key 'unimodal'"),
    ("Classify", drop("Classify", *CLASSIFIED), "no image twin of its text side"),
    ("Classify", drop("Classify", *CLASSIFIED, "options"), "no key 'options'"),
    ("Classify", drop("Classify", *CLASSIFIED, "answer"), "no key 'answer'"),
    ("Classify", drop("Classify", *CLASSIFIED, "options", "D"), r"want \['A', 'B', 'C', 'D'\]"),
    ("Classify", put("Classify", "Rome", *CLASSIFIED, "options", "E"), r"options .*'E'"),
    ("Classify", put("Classify", "", *CLASSIFIED, "options", "C"), "empty option C"),
    ("Classify", put("Classify", "E", *CLASSIFIED, "answer"), "'E' is not the letter"),
    ("Classify", put("Classify", "", *CLASSIFIED, "answer"), "empty answer"),
    ("Classify", put("Classify", "Lima", *CLASSIFIED, "answer"), "'Lima' is not the letter"),
    ("Classify", put("Classify", "A. Lima", *CLASSIFIED, "answer"), "option A is 'Oslo'"),
    ("Cloze", put("Cloze", "", "unimodal", "city", "answer"), "question 'city': empty answer"),
    ("Cloze", put("Cloze", "Lima", "unimodal", "city"), "'city' is str; want a mapping"),
    ("Generation", drop("Generation", "unimodal", "past"), "no text twin of its image side"),
]


@pytest.mark.parametrize(("column", "cell", "message"), BAD_CELLS)
def test_bad_row_is_refused_with_its_place(column, cell, message):
    with pytest.raises(DataError, match=rf"(?s)^forget_5, ID 17, column .*{column}.*: .*{message}"):
        parsed(**{column: cell})


@given(st.integers(0, len(PORTRAIT) - 1), st.binary(min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_damaged_image_is_read_or_refused(position, junk):
    damaged = PORTRAIT[:position] + junk + PORTRAIT[position + len(junk) :]
    try:
        assert parsed(image={"bytes": damaged, "path": "x"}).portrait == damaged
    except DataError as error:
        assert "undecodable image" in str(error)


@given(st.text(max_size=40) | st.from_regex(r"[{}\[\]()'\":,a0n*\\-]{0,30}", fullmatch=True))
@settings(max_examples=200, deadline=None)
def test_any_cell_is_read_or_refused(cell):
    try:
        parse_literal(cell)
    except DataError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("subset", "name"),
    [
        ("Real_Person_Set", "real_person"),
        ("Full_Set", "full_data"),
        ("Full_Set", "full_set"),
        ("Full_Set", "Full"),
        ("Real_Person_Set", "real"),
        ("forget_5", "forget5"),
        ("retain_95", "Retain_95"),
    ],
)
def test_folder_names_of_forks(tmp_path, subset, name):
    write_rows(tmp_path / name, [row(ID=3)])
    assert read_ids(tmp_path, subset) == ["3"]
    assert read_subset(tmp_path, subset)[0].person_id == "3"


def test_forget_15_is_not_taken_for_forget_5(tmp_path):
    write_rows(tmp_path / "forget15", [row()])
    with pytest.raises(DataError, match=r"forget_5: want one folder of this name .*forget15"):
        read_subset(tmp_path, "forget_5")


def test_official_name_wins_and_two_aliases_are_refused(tmp_path):
    write_rows(tmp_path / "full_data", [row(ID=1)])
    write_rows(tmp_path / "fullset", [row(ID=2)])
    with pytest.raises(DataError, match="found full_data, fullset"):
        read_subset(tmp_path, "Full_Set")
    write_rows(tmp_path / "Full_Set", [row(ID=3)])
    assert read_ids(tmp_path, "Full_Set") == ["3"]


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"Full_Set: want one folder .* found none"):
        read_subset(tmp_path / "nowhere", "Full_Set")
    (tmp_path / "Full_Set").mkdir()
    with pytest.raises(DataError, match="no parquet file"):
        read_subset(tmp_path, "Full_Set")
    (tmp_path / "Full_Set" / FILE_NAME).write_bytes(b"PAR1 no")
    with pytest.raises(DataError, match=r"Full_Set: .* is not readable as parquet"):
        read_subset(tmp_path, "Full_Set")


def test_incomplete_tables_are_refused(tmp_path):
    cells = row()
    del cells["Cloze"], cells["image"]
    write_rows(tmp_path / "forget_5", [cells])
    with pytest.raises(DataError, match=r"forget_5: .* has no column image, Cloze"):
        read_subset(tmp_path, "forget_5")
    write_rows(tmp_path / "forget_10", [row(), row(ID="18"), row()])
    with pytest.raises(DataError, match="forget_10, ID 17, column ID: occurs twice"):
        read_subset(tmp_path, "forget_10")
    write_rows(tmp_path / "forget_15", [row(ID="1"), row(ID="")])
    with pytest.raises(DataError, match=r"forget_15, row 1 .*column ID"):
        read_subset(tmp_path, "forget_15")


def test_shards_are_read_together_or_not_at_all(tmp_path):
    folder = tmp_path / "Full_Set"
    write_rows(folder, [row(ID="2")])
    (folder / FILE_NAME).rename(folder / "train-00001-of-00002.parquet")
    with pytest.raises(DataError, match="has 1 of the 2 files train-"):
        read_subset(tmp_path, "Full_Set")
    pq.write_table(pa.Table.from_pylist([row(ID="1")]), folder / "train-00000-of-00002.parquet")
    assert read_ids(tmp_path, "Full_Set") == ["1", "2"]


def test_empty_subset_is_refused(tmp_path):
    write_subset(tmp_path, "Full_Set", [])
    with pytest.raises(DataError, match="Full_Set: no rows"):
        read_subset(tmp_path, "Full_Set")
