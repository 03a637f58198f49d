"""Likelihood terms that several methods share."""

import torch

from parallax.params import Descent
from parallax.unlearn.methods.method import Answers


def descend(answers: Answers, descent: Descent) -> torch.Tensor:
    """Raise the answers' likelihood: M = S / T per sequence, nats, (B,)."""
    return answers.nll.mean


def ascend(answers: Answers, descent: Descent) -> torch.Tensor:
    """Lower the answers' likelihood: -M per sequence, nats, (B,).

    Unbounded below: enough steps wreck any model (Zhang et al. 2024, arXiv 2404.05868, section 3).
    """
    return -answers.nll.mean
