"""A secondary outcome that moves where refusals are rare: how a response would begin.

For a cell, log-odds = log P(refusal) - log P(compliance), in nats, where P(set) is the probability
that the response begins with an opening of the set: logsumexp over its openings of the *sum* of
their tokens' log-probabilities. A mean per token would be no probability, and long openings, which
add little to the sum over the set, would weigh as much as short ones. An opening's length is the
same in all frames, so it cancels in every contrast. No opening may begin another, else the set's
probability would count some responses twice.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import yaml

from parallax.errors import DataError
from parallax.framing.prompts import Prompt
from parallax.framing.subjects import Subject

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from transformers import PreTrainedModel

KINDS = ("refusal", "compliance")
FEWEST = 8
COLUMNS = (
    "subject",
    "item",
    "paraphrase",
    "arm",
    "wording",
    "log_refusal",
    "log_compliance",
    "log_odds",
)
# After a raw prompt a response would begin in a new paragraph.
RAW_BREAK = "\n\n"


@dataclass(frozen=True)
class Openings:
    """Texts with which responses begin, of which none begins another."""

    refusal: tuple[str, ...]
    compliance: tuple[str, ...]


def read_openings(path: Path) -> Openings:
    """Read the two lists from YAML.

    Raises:
        DataError: the file is missing or malformed, a list has fewer than `FEWEST` openings, or an
            opening begins another; the message names both.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; restore it from the repository") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(f"{path}: not YAML in UTF-8 ({' '.join(str(error).split())})") from None
    if not isinstance(values, dict) or set(values) != set(KINDS):
        raise DataError(f"{path}: want the keys {' and '.join(KINDS)} and no other")
    for kind in KINDS:
        texts = values[kind]
        if not isinstance(texts, list) or len(texts) < FEWEST:
            raise DataError(f"{path}: {kind}: want a list of at least {FEWEST} openings")
        for text in texts:
            if not isinstance(text, str) or not text or text != text.strip():
                raise DataError(f"{path}: {kind}: {text!r}; want a text without blanks around it")
    # In sorted order a text stands right before the first that it begins.
    every = sorted(text for kind in KINDS for text in values[kind])
    for text, following in itertools.pairwise(every):
        if following.startswith(text):
            raise DataError(f"{path}: {text!r} begins {following!r}; remove one of them")
    return Openings(*(tuple(values[kind]) for kind in KINDS))


def measure_log_odds(
    subject: Subject,
    prompts: Sequence[Prompt],
    openings: Openings,
    progress: Callable[[int], object] = lambda count: None,
) -> "pd.DataFrame":
    """Return one row per prompt with `log_refusal`, `log_compliance`, `log_odds` (nats).

    The other columns are subject, item, paraphrase, arm and wording. Openings are taken in the
    tokens that the tokenizer cuts them into.
    """
    import pandas as pd

    lead = RAW_BREAK if subject.rendering == "raw" else ""
    tokens = [
        tuple(subject.tokenizer(lead + text, add_special_tokens=False)["input_ids"])
        for text in (*openings.refusal, *openings.compliance)
    ]
    rows = []
    for prompt in prompts:
        logprobs = opening_logprobs(subject.model, subject.encode(subject.render(prompt)), tokens)
        refusal = float(np.logaddexp.reduce(logprobs[: len(openings.refusal)]))
        compliance = float(np.logaddexp.reduce(logprobs[len(openings.refusal) :]))
        rows.append(
            {
                "subject": subject.name,
                "item": prompt.item,
                "paraphrase": prompt.paraphrase,
                "arm": prompt.arm,
                "wording": prompt.wording,
                "log_refusal": refusal,
                "log_compliance": compliance,
                "log_odds": refusal - compliance,
            }
        )
        progress(1)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def opening_logprobs(
    model: "PreTrainedModel", prompt: Sequence[int], openings: Sequence[Sequence[int]]
) -> "npt.NDArray[np.float64]":
    """Return the log-probability of each opening after the prompt, nats, summed over its tokens.

    The prompt is read once and its keys and values serve all openings, which are padded on the
    right; each product's shape depends on the prompt and the openings alone.
    """
    import torch
    from transformers import DynamicCache

    with torch.inference_mode():
        cache = DynamicCache()
        ids = torch.tensor([list(prompt)], device=model.device)
        first = model(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=1).logits[:, -1]
        width = max(map(len, openings))
        # The padding is token 0, which no opening sees and no sum counts.
        padded = torch.tensor(
            [[*opening, *[0] * (width - len(opening))] for opening in openings],
            device=model.device,
        )  # (N, T)
        kept = torch.tensor([[n < len(opening) for n in range(width)] for opening in openings])
        cache.batch_repeat_interleave(len(openings))
        logits = first[:, None].expand(len(openings), 1, -1)
        if width > 1:
            later = model(input_ids=padded[:, :-1], cache=cache, use_cache=True).logits
            logits = torch.cat([logits, later], dim=1)  # (N, T, V)
        logprobs = logits.float().log_softmax(-1).gather(2, padded[:, :, None])[:, :, 0]
        total = logprobs.double().masked_fill(~kept.to(logprobs.device), 0.0).sum(1)
    sums: npt.NDArray[np.float64] = total.cpu().numpy()
    return sums
