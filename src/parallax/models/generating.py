"""Greedy answers and option log-probabilities, in batches."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parallax.models import plain, shared
from parallax.models.batches import Progress
from parallax.models.dialogue import UserAssistant
from parallax.models.encoding import Encoder, Sample
from parallax.processes import ALONE, Processes

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def generate(
    model: "PreTrainedModel",
    encoder: Encoder,
    prompts: Sequence[Sample],
    batch_size: int,
    max_new_tokens: int,
    progress: Progress = lambda count: None,
    processes: Processes = ALONE,
) -> list[str]:
    """Return the greedy answer to each prompt; it does not depend on the others.

    Each process answers a part of the prompts, and returns the answers to all.
    """
    way = shared.generate if _can_share(model, encoder) else plain.generate
    return way(model, encoder, prompts, batch_size, max_new_tokens, progress, processes)


def score_answers(
    model: "PreTrainedModel",
    encoder: Encoder,
    samples: Sequence[Sample],
    batch_size: int,
    progress: Progress = lambda count: None,
    processes: Processes = ALONE,
) -> list[tuple[float, int]]:
    """Return for each sample its answer's log-probability (nats, end token included) and tokens.

    The last bits of a log-probability depend on its batch. Batches are therefore the same however
    many processes there are; each process takes whole ones, and returns what all found.
    """
    way = shared.score_answers if _can_share(model, encoder) else plain.score_answers
    return way(model, encoder, samples, batch_size, progress, processes)


def _can_share(model: "PreTrainedModel", encoder: Encoder) -> bool:
    """Whether like beginnings may be read once: by tower, prompt, and an attention with masks."""
    tower = getattr(model.config, "vision_config", None)
    pixels_alone = tower is not None and tower.model_type in encoder.family.shared_towers
    masked = model.config._attn_implementation in ("eager", "sdpa")
    return pixels_alone and masked and isinstance(encoder.dialogue, UserAssistant)
