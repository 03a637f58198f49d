"""How likely a model finds a plain text's tokens, and two signs in that of having seen the text.

Min-K%++: Zhang et al., "Min-K%++: Improved Baseline for Detecting Pre-Training Data from Large
Language Models", 2024. Zlib: Carlini et al., "Extracting Training Data from Large Language Models",
2021.
"""

from dataclasses import dataclass
from zlib import compress

import numpy as np
import torch

from parallax.framing.subjects import Subject
from parallax.stats.items import Floats

# Positions whose distributions are widened to float64 at once.
POSITIONS = 64


@dataclass(frozen=True)
class TokenScores:
    """What a model gives each token of a text, given those before it.

    `logprobs` are log p(x_t), nats; `standardised` is (log p(x_t) - mu) / sigma, where mu and sigma
    are mean and standard deviation of log p(z), z drawn from the same distribution. Shapes (T,).
    """

    logprobs: Floats
    standardised: Floats


def read_text(subject: Subject, text: str) -> TokenScores:
    """Score a text's tokens; the first one only if the tokenizer puts a special token before it."""
    tokens, lead = encode_plain(subject, text)
    start = max(lead, 1)
    with torch.inference_mode():
        ids = torch.tensor([tokens], device=subject.model.device)
        logits = subject.model(input_ids=ids).logits[0]  # (T, V)
        return standardise_tokens(logits[start - 1 : -1], ids[0, start:])


def standardise_tokens(logits: torch.Tensor, tokens: torch.Tensor) -> TokenScores:
    """Score `tokens` (T,) by the distributions that `logits` (T, V) give them.

    The standardised score is NaN where all tokens of the vocabulary are equally likely.
    """
    logprobs, standardised = [], []
    for rows, chosen in zip(logits.split(POSITIONS), tokens.split(POSITIONS), strict=True):
        # Logits differ from log-probabilities by a constant, which a standardised score loses.
        # With the highest at 0 equal ones stay equal, and a token of probability 1 has mean 0.
        wide = rows.double() - rows.double().amax(-1, keepdim=True)  # (T, V)
        weights = wide.softmax(-1)
        mean = (weights * wide).sum(-1)  # (T,)
        spread = (weights * (wide - mean[:, None]) ** 2).sum(-1).sqrt()
        own = wide.gather(1, chosen[:, None])[:, 0]
        logprobs.append(own - wide.logsumexp(-1))
        standardised.append((own - mean) / spread)
    return TokenScores(torch.cat(logprobs).cpu().numpy(), torch.cat(standardised).cpu().numpy())


def encode_plain(subject: Subject, text: str) -> tuple[tuple[int, ...], int]:
    """Return a plain text's tokens, and how many special ones the tokenizer put before it.

    Special tokens behind the text are left out.
    """
    coded = subject.tokenizer(text, return_special_tokens_mask=True)
    own = [place for place, special in enumerate(coded["special_tokens_mask"]) if not special]
    return tuple(coded["input_ids"][: own[-1] + 1]), own[0]


def min_k_pp(standardised: Floats, least_likely: float) -> float:
    """Min-K%++: the mean of the lowest standardised token scores (Zhang et al. 2024).

    Of T scores the lowest floor(`least_likely` T) count, as in the paper's code, but at least one.
    NaN without scores, or where one is undefined.
    """
    if not standardised.size or np.isnan(standardised).any():
        return float("nan")
    count = max(1, int(least_likely * standardised.size))
    return float(np.sort(standardised)[:count].mean())


def zlib_ratio(logprobs: Floats, text: str) -> float:
    """Return -(bits that the model needs) / (bits that zlib needs) for a text.

    Bits are -sum log2 p(x_t) and 8 times the compressed length in bytes. Carlini et al. (2021)
    divide the mean over tokens, for texts of equal length; of bodies that differ in length it would
    call the long ones familiar, so the sum is taken. NaN without tokens.
    """
    if not logprobs.size:
        return float("nan")
    return float(logprobs.sum() / np.log(2) / (8 * len(compress(text.encode()))))
