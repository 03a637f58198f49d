"""One family of models a file: how it takes questions and images, and what may be tuned."""

from parallax.models.families import idefics3, llava, llava_next, llava_onevision, qwen2_vl
from parallax.models.families.family import FAMILIES, Family

__all__ = [
    "FAMILIES",
    "Family",
    "idefics3",
    "llava",
    "llava_next",
    "llava_onevision",
    "qwen2_vl",
]
