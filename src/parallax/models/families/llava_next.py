"""LLaVA-NeXT: an image in tiles beside the whole of it.

Liu et al. 2024, "LLaVA-NeXT: Improved reasoning, OCR, and world knowledge".
"""

from parallax.models.families.family import FAMILIES, Family

FAMILIES.register("llava_next")(Family())
