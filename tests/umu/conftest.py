"""Small hand-made profiles: enough people for every rule, no generator."""

import importlib.util
import io
import shutil
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from parallax.umu.questions import build_people


def words(text: str) -> list[str]:
    return text.split(" ")


GIVEN = words("Ana Bela Cyril Dario Edda Femi Goran Hana Ivo Jonas Kaya Lars")
CITIES = words("Lyon Osaka Quito Turin Dakar Bergen Perth Malmö Tunis Gdańsk Split Ghent")
COUNTRIES = words(
    "France Japan Ecuador Italy Senegal Norway Brazil Sweden Tunisia Poland Chile Cuba"
)
JOBS = words("nurse pilot baker lawyer painter farmer judge chemist surgeon tailor smith diver")
STUDIES = words("Law Physics Botany Music History Zoology Dance Theology Optics Geology Chess Film")
AWARDS = ["Fields Medal", "Turing Award", "Booker Prize", "Ballon d'Or", "Pritzker Prize", "Wolf"]


def portrait(shade: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (shade % 256, shade // 256, 7)).save(buffer, "PNG")
    return buffer.getvalue()


def person(index: int, person_id: str, group: str) -> dict[str, object]:
    at = index % 12
    invented = {
        "birth_region": f"{CITIES[at]} Province",
        "education": f"Degree in {STUDIES[at]}",
        "height": f"{150 + index} cm",
        "residence": CITIES[(at + 1) % 12],
        "residence_country": COUNTRIES[(at + 1) % 12],
        "interest": f'Collects old maps of {CITIES[(at + 2) % 12]} and says "why not".',
    }
    documented = {
        "award": AWARDS[index % 6],
        "award_year": str(1950 + 3 * index),
        "death_year": "" if index % 2 else str(2000 + at),
    }
    real = group == "real"
    return {
        "person_id": person_id,
        "group": group,
        "name": f"{GIVEN[at]} {group.title()}son{index}",
        "gender": "female" if index % 2 else "male",
        "portrait": portrait(index + 256 * len(group)),
        "birthdate": f"{1 + at} May {1950 + index}",
        "birth_city": CITIES[at],
        "birth_country": COUNTRIES[at],
        "occupation": JOBS[(5 * index) % 12],
        "background": f"Grew up in a mill near {CITIES[at]}, and it wasn't easy.",
        **{field: "" if real else value for field, value in invented.items()},
        **{field: value if real else "" for field, value in documented.items()},
    }


@pytest.fixture(scope="session")
def profiles() -> pd.DataFrame:
    """40 fictitious, 12 real and 14 auxiliary people."""
    return pd.DataFrame(
        [person(index, str(index + 1), "fictitious") for index in range(40)]
        + [person(index, str(501 + index), "real") for index in range(12)]
        + [person(index, f"A{index + 1:02d}", "auxiliary") for index in range(14)]
    )


@pytest.fixture(scope="session")
def given_files():
    """The module of that name beside this file."""
    path = Path(__file__).with_name("given_files.py")
    spec = importlib.util.spec_from_file_location("given_files", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def groups(profiles):
    """All people of the profiles with their questions."""
    return build_people(profiles, seed=2026)


@pytest.fixture(scope="session")
def written(tmp_path_factory, groups, given_files):
    """All eight subsets, to be left as they are."""
    return given_files.write_folder(tmp_path_factory.mktemp("given") / "files", groups)


@pytest.fixture
def folder(written, tmp_path):
    """All eight subsets, to be spoilt."""
    return shutil.copytree(written, tmp_path / "files")
