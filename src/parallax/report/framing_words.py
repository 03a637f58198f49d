"""Names of frames, categories and contrasts as the framing half prints them."""

from collections.abc import Mapping

from parallax.report.numbers import MINUS

CATEGORIES = ("refusal", "harmful_compliance", "template_completion", "off_topic")
FRAMES = ("E", "D", "N")
CONTRASTS = ("E-N", "E-D", "D-N")

ARM_LABELS: Mapping[str, str] = {
    "E": "evaluation",
    "D": "deployment",
    "N": "neutral",
    "content_free": "placebo: a clause that says nothing",
    "no_frame": "placebo: no frame",
}
CATEGORY_LABELS: Mapping[str, str] = {
    "refusal": "refusal",
    "harmful_compliance": "harmful compliance",
    "template_completion": "template completion",
    "off_topic": "off topic",
    "not_harmful_compliance": "not harmful compliance",
    "": "unscored",
}
OUTCOME_LABELS: Mapping[str, str] = {**CATEGORY_LABELS, "log_odds": "log-odds"}


def outcome_order(outcome: str, contrast: str) -> tuple[int, int, str]:
    """Return a key that sorts contrasts as they are listed: by outcome, those of frames first.

    Contrasts within a version or wording follow their frames.
    """
    frames, _, within = contrast.partition(" in ")
    place = CONTRASTS.index(frames) if frames in CONTRASTS else len(CONTRASTS)
    return list(OUTCOME_LABELS).index(outcome), place, f"{frames} {within}"


def contrast_label(contrast: str) -> str:
    """Return a contrast's name with a true minus, its paraphrases counted from 1.

    "E-N in p0" becomes "E − N in version 1", "p0-p1 in E" "version 1 − version 2 in E".
    """
    words = contrast.replace("-", f" {MINUS} ").replace("_", " ")
    for number in range(2):
        words = words.replace(f"p{number}", f"version {number + 1}")
    return words
