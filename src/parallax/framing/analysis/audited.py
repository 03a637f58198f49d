"""Who said that an item's two versions ask the same, and how far that can be believed.

A paraphrase that asks for something else would be an effect of its own, so that every number of the
analysis stands under this one.
"""

from pathlib import Path

from parallax.errors import DataError
from parallax.files import read_json
from parallax.framing.analysis.metrics import Values


def read_audit(path: Path) -> Values:
    """Return the source of the audit, its items, and the figures of that source alone.

    Raises:
        DataError: the audit's report lacks one of them.
    """
    report = read_json(path)
    try:
        source, items = report["source"], report["items"]
        figures = _of_people(report["human"]) if source == "human" else _of_proxy(report)
        return {
            "source": source,
            "passed": report["passed"],
            "items": items["equivalent"] + items["doubtful"],
            "equivalent": items["equivalent"],
            **figures,
        }
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: no audit's report ({error}); run `dvc repro audit`") from None


def _of_proxy(report: Values) -> Values:
    reached = report["test"][report["gate"]["rule"]]
    return {name: reached[name]["value"] for name in ("sensitivity", "specificity")}


def _of_people(report: Values) -> Values:
    questions = report["questions"]
    catches = report["catches"].values()
    return {
        "annotators": report["annotators"],
        "adjudicated": len(report["adjudicated"]),
        "alpha": {name: found["value"] for name, found in questions.items()},
        "agreement": {name: found["observed"] for name, found in questions.items()},
        "catches": sum(found["pairs"] for found in catches),
        "catches_failed": sum(len(found["failed"]) for found in catches),
    }


def add_audit(metrics: Values, audit: Values) -> Values:
    """Return the metrics with the audit beside them, and in each subject's headline."""
    headline = {
        subject: values | {"paraphrases": audit} for subject, values in metrics["headline"].items()
    }
    return {**metrics, "headline": headline, "paraphrases": audit}
