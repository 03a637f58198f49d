"""Gradient ascent (Jang et al. 2023, arXiv 2210.01504; Yao et al. 2023, arXiv 2310.10683).

L_forget = -mean M; no retain term.
"""

from parallax.unlearn.methods.likelihood import ascend
from parallax.unlearn.methods.method import METHODS, Method

METHODS.register("ga")(Method(forget=ascend))
