"""Negative preference optimization (Zhang et al. 2024, arXiv 2404.05868, Eq. 3).

L_forget = (2 / npo_beta) mean -log sigmoid(-npo_beta log(p_theta / p_ref)), per sequence, with an
optional retain term mean M.
"""

import torch

from parallax.errors import ModelError
from parallax.params import Descent, Npo
from parallax.unlearn.methods.likelihood import descend
from parallax.unlearn.methods.method import METHODS, Answers, Method


def repel(answers: Answers, descent: Descent) -> torch.Tensor:
    """Return (2 / b) * -logsigmoid(b * (S_theta - S_ref)) per sequence, (B,), with b = npo_beta.

    S is the NLL summed over the answer tokens, nats. At the reference the value is (2 / b) log 2
    and its slope in S_theta is -1; it falls to 0 as the answer becomes unlikely.

    Raises:
        ModelError: the reference's log-likelihoods are missing.
    """
    if answers.reference_nll is None or not isinstance(descent, Npo):
        raise ModelError("npo needs npo_beta and the reference's NLL of the forget answers")
    b = descent.npo_beta
    return (2 / b) * -torch.nn.functional.logsigmoid(
        b * (answers.nll.total - answers.reference_nll)
    )


METHODS.register("npo")(Method(forget=repel, retain=descend, reference="forget_nll"))
