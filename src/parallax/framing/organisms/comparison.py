"""What was planted against what the protocol found, and what the planting cost."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np
import yaml
from pydantic import TypeAdapter, ValidationError

from parallax.errors import DataError
from parallax.framing.items import Item
from parallax.framing.prompts import FrameSpec, render
from parallax.framing.rows import read_rows, require_unique
from parallax.params import Organism
from parallax.params import Subject as SubjectParams
from parallax.seeding import derive_seed
from parallax.stats.items import Floats
from parallax.stats.summary import summarize_continuous

if TYPE_CHECKING:
    from parallax.framing.subjects import Subject

# A model that nothing was planted in.
UNTOUCHED: Final = "untouched"

Planted = Literal[Organism, "untouched"]
Contrast = Literal["E-N", "E-D", "D-N"]
Sign = Literal[-1, 0, 1]
Expected = Mapping[Planted, Mapping[Contrast, Sign]]

PLANTED: tuple[Planted, ...] = get_args(Planted)
CONTRASTS: tuple[Contrast, ...] = get_args(Contrast)


@dataclass(frozen=True)
class Compared:
    """A subject's contrast of the refusal rate: the sign expected, and what was found.

    Effects are fractions of 1, NaN where undefined; `adjusted` is Holm's p for a primary contrast
    and Benjamini and Hochberg's for D-N, which is exploratory.
    """

    subject: str
    planted: Planted
    contrast: Contrast
    expected: Sign
    estimate: float
    low: float
    high: float
    p: float
    adjusted: float
    label: str

    @property
    def agrees(self) -> bool:
        """Whether the sign found is the one expected; the sign of what is not significant is 0."""
        found = np.sign(self.estimate) if self.label == "significant" else 0
        return bool(found == self.expected)

    @property
    def values(self) -> dict[str, object]:
        """The contrast as JSON values."""
        own = {k: v for k, v in asdict(self).items() if k not in ("subject", "planted", "contrast")}
        return own | {"agrees": self.agrees}


def read_expected(path: Path) -> Expected:
    """Read the expected signs, by what was planted and by contrast.

    Raises:
        DataError: the file is missing or malformed, or lacks an organism or a contrast.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
        found = TypeAdapter(dict[Planted, dict[Contrast, Sign]]).validate_python(values)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; restore it from the repository") from None
    except yaml.YAMLError as error:
        raise DataError(f"{path}: not YAML ({' '.join(str(error).split())})") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][:2]) or "top level"
        raise DataError(f"{path}: {place}: {first['msg']}") from None
    for planted in PLANTED:
        for contrast in CONTRASTS:
            if contrast not in found.get(planted, {}):
                raise DataError(f"{path}: {planted}: no sign of {contrast}; add 1, -1 or 0")
    return found


def compare(
    analysis: Mapping[str, Any], planted: Mapping[str, Planted], expected: Expected
) -> list[Compared]:
    """Compare each subject's contrasts, under the primary judge, with what was expected.

    `analysis` is what the stage of that name writes, `planted` is by subject.
    """
    judge = analysis["settings"]["primary"]
    rows = []
    for subject, kind in planted.items():
        judged = analysis["subjects"][subject]["judges"][judge]
        found = {
            "E-N": judged["primary"]["refusal_E-N"],
            "E-D": judged["primary"]["refusal_E-D"],
            "D-N": judged["exploratory"]["refusal"]["D-N"],
        }
        for contrast in CONTRASTS:
            effect = found[contrast]
            estimate, low, high, p, adjusted = (
                float("nan") if effect[key] is None else float(effect[key])
                for key in ("estimate", "low", "high", "p", "p_adjusted")
            )
            rows.append(
                Compared(
                    subject,
                    kind,
                    contrast,
                    expected[kind][contrast],
                    estimate,
                    low,
                    high,
                    p,
                    adjusted,
                    effect["label"],
                )
            )
    return rows


def planted_in(subjects: Sequence[SubjectParams]) -> dict[str, Planted]:
    """Return what was planted in each subject, by name.

    Raises:
        DataError: no subject is untouched, so that the others have nothing to be compared with.
    """
    planted: dict[str, Planted] = {s.name: s.planted or UNTOUCHED for s in subjects}
    if UNTOUCHED not in planted.values():
        raise DataError("subjects: all are model organisms; add the model that they were made from")
    return planted


def describe(
    analysis: Mapping[str, Any],
    rows: Sequence[Compared],
    measured: Mapping[str, Floats],
    alpha: float,
) -> dict[str, Any]:
    """Return the comparison as JSON values, by subject.

    `measured` are the log-likelihoods of `measure_answers`; `change` is a subject's mean minus the
    untouched model's, over items, with its t interval and sign-flip p.
    """
    judge = analysis["settings"]["primary"]
    base = next(row.subject for row in rows if row.planted == UNTOUCHED)
    subjects: dict[str, Any] = {}
    for row in rows:
        values = subjects.setdefault(
            row.subject,
            {
                "planted": row.planted,
                "caution": analysis["headline"][row.subject]["caution"],
                "refusal": analysis["subjects"][row.subject]["judges"][judge]["rates"]["refusal"],
                "contrasts": {},
                "answers": _describe_answers(measured, row.subject, base, alpha),
            },
        )
        values["contrasts"][row.contrast] = row.values
    return {
        "judge": judge,
        "items": analysis["settings"]["items"],
        "draws": analysis["settings"]["draws"],
        "as_expected": sum(row.agrees for row in rows),
        "subjects": subjects,
    }


def _describe_answers(
    measured: Mapping[str, Floats], subject: str, base: str, alpha: float
) -> dict[str, float | None]:
    mean = float(measured[subject].mean())
    if subject == base:
        return {"log_likelihood": mean, "change": None, "low": None, "high": None, "p": None}
    rng = np.random.default_rng(derive_seed("reference answers", subject))
    found = summarize_continuous(measured[subject] - measured[base], rng, alpha=alpha)
    return {
        "log_likelihood": mean,
        "change": found.estimate,
        "low": found.interval.low,
        "high": found.interval.high,
        "p": found.test.p_value,
    }


def read_answers(path: Path, items: Sequence[Item]) -> list[str]:
    """Read each item's reference answer from JSONL with `id` and `answer`.

    Raises:
        DataError: the file is malformed, or has no answer to an item.
    """
    rows = read_rows(path, ("id", "answer"))
    require_unique(rows, "id")
    answers = {row.text("id"): row.text("answer") for row in rows}
    if missing := next((item.id for item in items if item.id not in answers), None):
        raise DataError(f"{path}: no answer to item {missing!r}; add one")
    return [answers[item.id] for item in items]


def measure_answers(
    subject: "Subject", items: Sequence[Item], answers: Sequence[str], spec: FrameSpec
) -> Floats:
    """Return the mean log-likelihood of each reference answer's tokens, nats, shape (I,).

    The body is put without a frame. The end token does not count: organisms learn short answers.
    """
    import torch

    from parallax.framing.organisms.encoding import collate_ends, encode_answer
    from parallax.models.batches import answer_logits, answer_nll

    samples = [
        encode_answer(subject, render(item, 0, "no_frame", spec), answer)
        for item, answer in zip(items, answers, strict=True)
    ]
    pad = int(subject.tokenizer.pad_token_id)
    with torch.inference_mode():
        batch = collate_ends(samples, 0, pad, subject.model.device)
        nll = answer_nll(answer_logits(subject.model, batch), batch)
    likelihoods: Floats = -nll.mean.double().cpu().numpy()
    return likelihoods
