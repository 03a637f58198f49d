"""A small run of the whole unlearning half, made up, in the files that the stages write."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw

from parallax.files import write_json
from parallax.provenance import Provenance, write_provenance
from parallax.umu.metrics import measure

FIELDS = ("birth_city", "birth_country", "birthdate", "occupation", "education", "residence")
REAL_FIELDS = ("birth_city", "birth_country", "birthdate", "occupation", "award", "award_year")
VALUES = {
    "birth_city": ("Lyon", "Porto", "Gdańsk", "St. Louis"),
    "birth_country": ("France", "Portugal", "Poland", "United States"),
    "birthdate": ("14 March 1974", "2 May 1981", "30 June 1959", "9 October 1990"),
    "occupation": ("Civil engineer", "Baker", "Marine biologist", "Notary"),
    "education": (
        "Master's degree in Civil Engineering",
        "Diploma in Baking",
        "Doctorate in Marine Biology",
        "Bachelor's degree in Law",
    ),
    "residence": ("Ghent", "Kraków", "Valparaíso", "Nairobi"),
    "award": ("Nobel Prize in Physics", "Turing Award", "Fields Medal", "Booker Prize"),
    "award_year": ("1965", "1971", "1988", "2003"),
}
FIRST = ("Ana", "Björn", "Chidi", "Dalia", "Emre", "Freya", "Goran", "Hana", "Ivo", "Juno")
LAST = ("Okafor", "Lindqvist", "Moreau", "Tanaka", "Petrov", "Silva", "Novak", "Haddad")

# Probability of a right answer: model -> set -> (image, text).
SKILL = {
    "base": {"forget": (0.12, 0.14), "retain": (0.12, 0.14), "real": (0.99, 1.0)},
    "sft": {"forget": (0.97, 0.98), "retain": (0.97, 0.97), "real": (0.98, 0.99)},
    "retain_only": {"forget": (0.14, 0.15), "retain": (0.97, 0.98), "real": (0.98, 0.99)},
    "unlearned": {"forget": (0.44, 0.31), "retain": (0.86, 0.84), "real": (0.93, 0.95)},
}


def make_scored(skill=None, people=(9, 20, 8), seed=7):
    """One row per model, set, person, question and modality, as the score stage writes them."""
    random = np.random.default_rng(seed)
    skill = skill or SKILL
    rows = []
    for model, sets in skill.items():
        for subset, first, count in zip(
            ("forget", "retain", "real"), (1, 101, 501), people, strict=True
        ):
            for number in range(first, first + count):
                rows += _answers(model, subset, number, sets[subset], random)
    return pd.DataFrame(rows)


def name_of(number):
    return f"{FIRST[number % len(FIRST)]} {LAST[number % len(LAST)]}"


def _answers(model, subset, number, skill, random):
    rows = []
    fields = REAL_FIELDS if subset == "real" else FIELDS
    for task in ("classification", "cloze", "generation"):
        described = ("background",) if subset == "real" else ("background", "interest")
        for field in described if task == "generation" else fields:
            for modality, chance in zip(("image", "text"), skill, strict=True):
                right = bool(random.random() < chance)
                rows.append(
                    {"model": model, "set": subset, "person_id": str(number), "task": task}
                    | {"field": field, "modality": modality}
                    | _answer(task, field, modality, number, right, random)
                )
    return rows


def _answer(task, field, modality, number, right, random):
    subject = "the person in the image" if modality == "image" else name_of(number)
    if task == "generation":
        reference = f"This person spent {2 + number % 7} years restoring lighthouses by hand."
        output = reference if right else "This person likes to collect old maps of the coast."
        score = 1.0 if right else round(float(random.uniform(0.1, 0.5)), 4)
        return _row(f"Describe the {field} of {subject}.", [], reference, output, "", score)
    values = list(VALUES[field])
    reference = values[number % 4]
    wrong = values[(number + 1) % 4]
    output = reference if right else wrong
    abstained = not right and random.random() < 0.2
    if abstained:
        output = "I do not know that."
    if task == "cloze":
        prompt = f"The {field} of {subject} is [Blank]."
        return _row(prompt, [], reference, output, "", float(right), abstained)
    letter = "ABCD"[values.index(reference if right else wrong)]
    prompt = f"Which {field} belongs to {subject}?"
    return _row(prompt, values, reference, output, letter, float(right), abstained)


def _row(prompt, options, reference, output, letter, score, abstained=False):
    rouge = score if "[Blank]" not in prompt and not options else float("nan")
    return {
        "prompt": prompt,
        "options": options,
        "reference": reference,
        "output": output,
        "matched_option": letter,
        "abstained": abstained,
        "score": score,
        "rouge1": rouge,
        "rouge2": rouge,
        "bleu": rouge,
    }


def portrait(number):
    """A face of two eyes and a mouth on one of a few backgrounds, as PNG bytes."""
    colour = ((214, 122, 90), (96, 149, 190), (120, 170, 110), (190, 150, 60))[number % 4]
    image = Image.new("RGB", (128, 128), colour)
    draw = ImageDraw.Draw(image)
    draw.ellipse((24, 16, 104, 120), fill=(240 - 7 * (number % 12), 200, 170))
    draw.ellipse((44, 52, 54, 62), fill="black")
    draw.ellipse((74, 52, 84, 62), fill="black")
    draw.arc((44, 70, 84, 100), 10, 170 - 9 * (number % 10), fill="black", width=4)
    target = io.BytesIO()
    image.save(target, "PNG")
    return target.getvalue()


def _curve(steps, epochs, start, end, seed):
    random = np.random.default_rng(seed)
    step = np.arange(steps)
    decay = np.exp(-6 * step / steps)
    loss = end + (start - end) * decay * (1 + 0.15 * random.standard_normal(steps))
    return pd.DataFrame(
        {
            "step": step,
            "epoch": (step + 1) * epochs / steps,
            "learning_rate": 4e-3 * (1 - step / steps),
            "loss": np.maximum(loss, 0.0),
            "gradient_norm": 1.0,
        }
    )


def _unlearn_curve():
    """NPO from (2 / 0.4) log 2 = 3.466 towards 0, with a retain term that rises a little."""
    frame = _curve(30, 5, 7.0, 1.5, 4)
    rise = np.linspace(0, 1, 30) ** 0.7
    frame["forget_image"] = 3.466 * (1 - 0.7 * rise)
    frame["forget_text"] = 3.466 * (1 - 0.85 * rise)
    frame["retain_image"] = 0.05 + 0.3 * rise
    frame["retain_text"] = 0.04 + 0.2 * rise
    return frame


CHECKS = {
    "success": False,
    "checks": [
        {
            "name": "modalities pair up",
            "description": "Each field asked with the portrait is asked by name, and conversely.",
            "success": True,
            "outcome": "passed",
            "reason": "",
            "rows_checked": 5184,
            "unexpected_count": 0,
            "unexpected": [],
            "error": None,
        },
        {
            "name": "image questions do not name the person",
            "description": "No part of the name occurs in a question that comes with a portrait.",
            "success": False,
            "outcome": "failed",
            "reason": "",
            "rows_checked": 2592,
            "unexpected_count": 2,
            "unexpected": ["7: Where was <b>Ana</b> born?", "12: Who is Goran?"],
            "error": None,
        },
    ],
}


def write_run(folder: Path, scored=None):
    """Write a whole run below `folder`; return the report stage's arguments."""
    scored = make_scored() if scored is None else scored
    paths = {
        "metrics": folder / "metrics/unlearning.json",
        "scored": folder / "results/scored.parquet",
        "curves": folder / "reports/curves",
        "validation": folder / "reports/validation.json",
        "experiment": folder / "data/experiment",
        "provenance": folder / "data/provenance.json",
    }
    for path in paths.values():
        path.parent.mkdir(parents=True, exist_ok=True)
    paths["curves"].mkdir(exist_ok=True)
    paths["experiment"].mkdir(exist_ok=True)
    write_json(paths["metrics"], measure(scored))
    scored.to_parquet(paths["scored"])
    for name, start, end, steps in (
        ("base", 6.5, 0.3, 750),
        ("sft", 3.0, 0.05, 650),
        ("retain_only", 3.1, 0.06, 560),
    ):
        _curve(steps, 30, start, end, steps).to_csv(paths["curves"] / f"{name}.csv", index=False)
    _unlearn_curve().to_csv(paths["curves"] / "unlearn.csv", index=False)
    paths["validation"].write_text(json.dumps(CHECKS), encoding="utf-8")
    numbers = sorted(int(person) for person in scored["person_id"].unique())
    ids = [str(number) for number in numbers]
    pd.DataFrame(
        {"person_id": ids, "portrait": [portrait(number) for number in numbers]}
    ).to_parquet(paths["experiment"] / "portraits.parquet")
    names = {str(number): name_of(number) for number in numbers}
    write_provenance(paths["provenance"], Provenance("generated", {"fictitious": names}, {}))
    return paths
