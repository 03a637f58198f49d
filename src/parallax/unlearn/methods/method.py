"""What a method is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch

from parallax.models.batches import AnswerNll
from parallax.params import Descent
from parallax.registry import Registry


@dataclass(frozen=True)
class Answers:
    """What a loss may look at in a batch of B answers with A tokens in all.

    `nll` are per-sequence values under the model, `reference_nll` (B,) is S under the reference;
    `logits` and `reference_logits` (A, V) predict the answer tokens, `rows` (A,) names each token's
    sequence. The reference's values are None where the method did not ask for them.
    """

    nll: AnswerNll
    logits: torch.Tensor
    rows: torch.Tensor
    reference_nll: torch.Tensor | None = None
    reference_logits: torch.Tensor | None = None


Loss = Callable[[Answers, Descent], torch.Tensor]


@dataclass(frozen=True)
class Method:
    """An unlearning method.

    `forget` and `retain` return one value per sequence, (B,); the objective takes their mean.
    `forget_answer` is the column that holds the answers shown to the forget term, `reference`
    names what is computed once, before the first step, with the model as it then is.
    """

    forget: Loss
    retain: Loss | None = None
    forget_answer: Literal["answer", "refusal"] = "answer"
    reference: Literal["none", "forget_nll", "retain_logits"] = "none"


METHODS: Registry[Method] = Registry("unlearning method")
