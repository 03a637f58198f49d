"""Gradient ascent with a KL anchor (Maini et al. 2024, arXiv 2401.06121, "KL minimization").

L_forget = -mean M on the forget set, L_retain = KL(p_ref || p_theta) on the retain set's answer
tokens, where p_ref is the model before unlearning.
"""

import torch

from parallax.errors import ModelError
from parallax.params import Descent
from parallax.unlearn.methods.likelihood import ascend
from parallax.unlearn.methods.method import METHODS, Answers, Method


def anchor(answers: Answers, descent: Descent) -> torch.Tensor:
    """Return the mean over each sequence's answer tokens of KL(p_ref || p_theta), nats, (B,).

    KL = sum_v p_ref(v) (log p_ref(v) - log p_theta(v)), over the whole vocabulary. Prompts and
    padding have no answer token, so they enter neither the sum nor the count.

    Raises:
        ModelError: the reference's logits are missing.
    """
    if answers.reference_logits is None:
        raise ModelError("kl needs the reference's logits of the retain answers")
    reference = torch.log_softmax(answers.reference_logits.float(), dim=-1)  # (A, V)
    current = torch.log_softmax(answers.logits.float(), dim=-1)
    divergence = (reference.exp() * (reference - current)).sum(-1)  # (A,)
    total = divergence.new_zeros(len(answers.nll.tokens)).index_add(0, answers.rows, divergence)
    return total / answers.nll.tokens


METHODS.register("kl")(Method(forget=ascend, retain=anchor, reference="retain_logits"))
