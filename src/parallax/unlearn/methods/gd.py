"""Gradient difference (Liu et al. 2022, arXiv 2203.12817; Maini et al. 2024, arXiv 2401.06121).

L_forget = -mean M on the forget set, L_retain = mean M on the retain set.
"""

from parallax.unlearn.methods.likelihood import ascend, descend
from parallax.unlearn.methods.method import METHODS, Method

METHODS.register("gd")(Method(forget=ascend, retain=descend))
