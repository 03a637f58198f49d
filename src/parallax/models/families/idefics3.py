"""Idefics3 (Laurençon et al. 2024, arXiv 2408.12637) and SmolVLM (Marafioti et al. 2025, arXiv
2504.05299).

An image in tiles, each behind a token of its row and column, and the whole of it behind them. The
first SmolVLM checkpoints are of type idefics3, those of SmolVLM2 of type smolvlm.
"""

from typing import TYPE_CHECKING

from parallax.models.families.family import FAMILIES, PROJECTIONS, Family

if TYPE_CHECKING:
    from transformers import ProcessorMixin

LORA_TARGETS = rf".*text_model.*\.{PROJECTIONS}"


def images_only() -> "type[ProcessorMixin]":
    """Return SmolVLM's processor for images, which writes what that of Idefics3 writes.

    The library's own class reads videos too: it needs torchvision and num2words.
    """
    from transformers import Idefics3Processor

    # Under the library's name, which it writes beside a saved model.
    return type("SmolVLMProcessor", (Idefics3Processor,), {"__module__": __name__})


FAMILIES.register("idefics3")(Family(lora_targets=LORA_TARGETS))
FAMILIES.register("smolvlm")(Family(processor=images_only, lora_targets=LORA_TARGETS))
