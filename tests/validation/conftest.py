"""A small clean data set of 20 + 4 + 4 people, made by hand, to plant faults in."""

import dataclasses
import io
from calendar import month_name

import pandas as pd
import pytest
from PIL import Image

from parallax.records import Instance, Person, Question
from parallax.validation.umu import Inputs, Sizes

SIZES = Sizes(fictitious=20, real=4, auxiliary=4, countries=5, regions=10, occupations=15)

GIVEN = [
    "Anneke",
    "Bjorn",
    "Chidi",
    "Dolores",
    "Eamon",
    "Fatima",
    "Gustav",
    "Hanako",
    "Ivo",
    "Jamila",
]
FAMILY = [
    "Quist",
    "Rowan",
    "Szabo",
    "Tanaka",
    "Ulvang",
    "Vasquez",
    "Wexford",
    "Xander",
    "Yilmaz",
    "Zeller",
]
CITIES = [
    "Lyon",
    "Porto",
    "Ghent",
    "Malmo",
    "Kyoto",
    "Accra",
    "Quito",
    "Hanoi",
    "Tunis",
    "Minsk",
    "Davao",
    "Perth",
    "Omaha",
    "Izmir",
    "Bergen",
    "Cusco",
    "Lagos",
    "Dakar",
    "Turin",
    "Zagreb",
    "Almaty",
    "Ottawa",
    "Fukuoka",
    "Windhoek",
    "Jaipur",
    "Brno",
    "Tromso",
    "Salta",
]
COUNTRIES = ["France", "Portugal", "Belgium", "Sweden", "Japan", "Ghana", "Ecuador"]
OCCUPATIONS = [
    "glazier",
    "beekeeper",
    "surveyor",
    "actuary",
    "potter",
    "luthier",
    "welder",
    "botanist",
    "cartographer",
    "dentist",
    "falconer",
    "geologist",
    "hydrologist",
    "illustrator",
    "joiner",
    "librarian",
    "midwife",
    "notary",
    "optician",
    "plumber",
    "quarrier",
    "roofer",
    "saddler",
    "tanner",
    "upholsterer",
    "vintner",
    "weaver",
    "zookeeper",
]
AWARDS = ["Medal of Letters", "Harbour Shield", "Golden Compass", "Northern Star"]
IMAGE_SUBJECT = "the person in the image"
EVALUATED = {
    "real": ("birthdate", "birth_city", "occupation", "award"),
    "other": ("birthdate", "birth_city", "occupation", "residence"),
}


@dataclasses.dataclass
class World:
    """Everything that is validated, open to change."""

    people: dict[str, list[Person]]
    profiles: pd.DataFrame
    tables: dict[str, pd.DataFrame]
    splits: dict[str, list[str]]
    sizes: Sizes = SIZES

    def names(self):
        return {
            group: dict(zip(rows["person_id"], rows["name"], strict=True))
            for group, rows in self.profiles.groupby("group")
        }

    def inputs(self):
        return Inputs(
            lambda: self.people,
            self.names,
            lambda: self.profiles,
            lambda: self.tables,
            lambda: self.splits,
        )

    def edit(self, person_id, change, subsets=None):
        """Replace the person by change(person), in some subsets or in all."""
        for subset, people in self.people.items():
            if subsets is None or subset in subsets:
                self.people[subset] = [
                    change(person) if person.person_id == person_id else person for person in people
                ]

    def edit_instance(self, person_id, task, field, change, subsets=None):
        """Replace an instance of a person by change(instance)."""

        def edit(person):
            return dataclasses.replace(
                person,
                instances=tuple(
                    change(item) if (item.task, item.field) == (task, field) else item
                    for item in person.instances
                ),
            )

        self.edit(person_id, edit, subsets)

    def rebuild(self):
        """Make the experiment's tables anew from the people."""
        self.tables, self.splits = experiment(self.people)


def portrait(number):
    image = Image.new("RGB", (4, 4), (number, 255 - number, 7 * number % 256))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def profile(number):
    group = "fictitious" if number <= 20 else "real" if number <= 24 else "auxiliary"
    shared = {
        "person_id": str(number) if group != "auxiliary" else f"A{number - 24:02}",
        "group": group,
        "name": f"{GIVEN[number % 10]} {FAMILY[(number + number // 10) % 10]}",
        "portrait": portrait(number),
        "gender": "female" if number % 2 else "male",
        "birthdate": f"{number} {month_name[1 + number % 12]} {1950 + 2 * number}",
        "birth_city": CITIES[number - 1],
        "occupation": OCCUPATIONS[number - 1],
        "background": f"This {OCCUPATIONS[number - 1]} won prize {number} of the guild.",
    }
    if group == "real":
        return shared | {"award": AWARDS[number - 21]}
    return shared | {
        "birth_region": f"Region {number}",
        "birth_country": COUNTRIES[number % 7],
        "height": f"{150 + number} cm",
        "residence": CITIES[-number],
    }


def both(person_id, task, field, name, wording, answer, options=((), ())):
    image, text = (
        Question(wording.format(subject), answer, tuple(chosen))
        for subject, chosen in zip((IMAGE_SUBJECT, name), options, strict=True)
    )
    return Instance(person_id, task, field, image, text)


def person(row, number, values):
    """Make a person whose right options lie at a position that turns with person and field."""
    person_id, name = row["person_id"], row["name"]
    asked = [f for f in row if f not in ("person_id", "group", "name", "portrait") and row[f]]
    instances = [
        both(person_id, "qa", field, name, f"What is the {field} of {{}}?", row[field])
        for field in asked
    ]
    evaluated = EVALUATED["real" if row["group"] == "real" else "other"]
    for index, field in enumerate(evaluated):
        others = [value for value in values[field] if value != row[field]]
        options = []
        for shift in (0, 1):
            chosen = [others[(number + step) % len(others)] for step in range(3)]
            chosen.insert((number + index + shift) % 4, row[field])
            options.append(chosen)
        instances.append(
            both(
                person_id,
                "classification",
                field,
                name,
                f"Which {field} has {{}}?",
                row[field],
                options,
            )
        )
    instances += [
        both(person_id, "cloze", field, name, f"The {field} of {{}}: [Blank].", row[field])
        for field in evaluated
    ]
    instances.append(
        both(person_id, "generation", "background", name, "Tell of {}.", row["background"])
    )
    return Person(person_id, row["portrait"], f"About {person_id}.", tuple(instances))


def experiment(people):
    fictitious, real = people["Full_Set"][:8], people["Real_Person_Set"][:2]
    auxiliary = people["Auxiliary_Set"][:3]

    def table(members, tasks):
        return pd.DataFrame(
            [
                {
                    "person_id": item.person_id,
                    "task": item.task,
                    "field": item.field,
                    "image_prompt": item.image.prompt,
                    "image_answer": item.image.answer,
                    "image_options": list(item.image.options),
                    "text_prompt": item.text.prompt,
                    "text_answer": item.text.answer,
                    "text_options": list(item.text.options),
                }
                for member in members
                for item in member.instances
                if item.task in tasks
            ]
        )

    evaluation = ("classification", "cloze", "generation")
    everyone = [*fictitious, *real, *auxiliary]
    tables = {
        "base": table([*real, *auxiliary], ("qa", *evaluation)),
        "sft": table(fictitious, ("qa",)).assign(refusal="I do not know."),
        "evaluation": table([*fictitious, *real], evaluation),
        "portraits": pd.DataFrame(
            {
                "person_id": [member.person_id for member in everyone],
                "portrait": [member.portrait for member in everyone],
            }
        ),
    }
    ids = [member.person_id for member in fictitious]
    splits = {
        "forget": ids[:2],
        "retain": ids[2:],
        "real": [member.person_id for member in real],
        "auxiliary": [member.person_id for member in auxiliary],
    }
    return tables, splits


@pytest.fixture
def world():
    """Return a data set to plant a fault in."""
    return make_world()


@pytest.fixture(scope="session")
def clean_world():
    """Return a data set to leave as it is."""
    return make_world()


def make_world():
    profiles = [profile(number) for number in range(1, 29)]
    values = {
        field: [row[field] for row in profiles if row.get(field)]
        for fields in EVALUATED.values()
        for field in fields
    }
    made = [person(row, number, values) for number, row in enumerate(profiles)]
    fictitious = made[:20]
    people = {"Full_Set": fictitious}
    for percent, count in ((5, 1), (10, 2), (15, 3)):
        people[f"forget_{percent}"] = fictitious[:count]
        people[f"retain_{100 - percent}"] = fictitious[count:]
    people |= {"Real_Person_Set": made[20:24], "Auxiliary_Set": made[24:]}
    tables, splits = experiment(people)
    return World(people, pd.DataFrame(profiles).fillna(""), tables, splits)
