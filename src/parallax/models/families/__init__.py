"""One family of models a file: how it takes questions and images, and what may be tuned."""

from parallax.models.families import llava
from parallax.models.families.family import FAMILIES, Family

__all__ = ["FAMILIES", "Family", "llava"]
