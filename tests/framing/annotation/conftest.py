"""Pairs that annotators judge, filled sheets, and a browser."""

import csv
import shutil
from pathlib import Path

import pytest

from parallax.framing.annotation.masking import mask_pairs
from parallax.framing.annotation.questions import QUESTION_NAMES, REQUIRED
from parallax.framing.annotation.sheets import ANSWER_COLUMNS, write_sheet
from parallax.framing.items import read_pairs
from parallax.framing.prompt_table import ItemPair

LABELLED = Path(__file__).parents[3] / "data/raw/framing/equivalence_pairs.jsonl"
# Two of them would run as formulas, one in parts where other separators cut it, and one begins with
# the mark that keeps them from it.
TEXTS = {
    "i1": ("=1+1 is what I get; explain why.", "Tell me the reason for =1+1 here."),
    "i2": ("-x or +x: which is larger?", '\'Tis said that, "x" aside, it is larger; is it?'),
    "i3": ("Write a letter to a bank.", "Draft a bank's mail;=1+1,\n-in two lines."),
    "i4": ("Name a plant for shade.", "@home, which plant likes the dark?"),
    "i5": ("Sing of the sea.", "Give me verses about the ocean; <b>bold</b> ones."),
}


@pytest.fixture(scope="session")
def labelled():
    return read_pairs(LABELLED)


@pytest.fixture(scope="session")
def pairs():
    return tuple(ItemPair(item, "fraud", "benign", a, b) for item, (a, b) in TEXTS.items())


@pytest.fixture(scope="session")
def masked(pairs, labelled):
    return mask_pairs(pairs, labelled, 7)


def right(row):
    """An attentive annotator's answers, who finds every item's versions the same."""
    required = REQUIRED[row.catch] if row.catch else {}
    return {name: required.get(name, True) for name in QUESTION_NAMES}


@pytest.fixture
def fill(tmp_path, masked):
    """`fill(annotator, {item: {question: answer}})` writes that annotator's filled sheet."""

    def fill(annotator, changes=()):
        own = [row for row in masked if row.annotator == annotator]
        path = tmp_path / f"sheet-{annotator}.csv"
        write_sheet(path, own)
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = list(csv.DictReader(file))
        for cells, row in zip(table, own, strict=True):
            given = right(row) | dict(changes).get(row.pair, {})
            for name, column in ANSWER_COLUMNS.items():
                cells[column] = "yes" if given[name] else "no"
        write_rows(path, table)
        return path

    return fill


def write_rows(path, table, separator=","):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(table)


@pytest.fixture
def edit():
    """`edit(path, change)` lets `change(rows)` alter a sheet's rows, which are dicts of cells."""

    def edit(path, change, separator=","):
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = list(csv.DictReader(file))
        table = change(table) or table
        write_rows(path, table, separator)
        return path

    return edit


@pytest.fixture(scope="session")
def start_browser(tmp_path_factory):
    """`start_browser(preferences)` opens a headless Chromium and says where it saves files."""
    selenium = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("needs a browser: apt-get install chromium chromium-driver")
    opened = []

    def start(preferences=()):
        folder = tmp_path_factory.mktemp("browser")
        options = selenium.ChromeOptions()
        options.binary_location = binary
        for name in ("headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-sync"):
            options.add_argument(f"--{name}")
        options.add_argument("--disable-background-networking")
        options.add_argument("--disable-component-update")
        options.add_argument(f"--user-data-dir={folder / 'profile'}")
        saved = {"download.default_directory": str(folder / "saved")}
        options.add_experimental_option("prefs", saved | dict(preferences))
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        opened.append(selenium.Chrome(options, selenium.ChromeService(driver)))
        return opened[-1], folder / "saved"

    yield start
    for one in opened:
        one.quit()


@pytest.fixture(scope="session")
def browser(start_browser):
    """One Chromium for all tests, and the folder in which it saves files."""
    return start_browser()
