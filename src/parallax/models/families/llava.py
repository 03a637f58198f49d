"""LLaVA-1.5 (Liu et al. 2023, arXiv 2310.03744) and the embedded model: one image, one grid."""

from parallax.models.dialogue import UserAssistant
from parallax.models.families.family import FAMILIES, Family

FAMILIES.register("llava")(
    Family(dialogue=lambda processor: UserAssistant(processor.tokenizer), shared_reading=True)
)
