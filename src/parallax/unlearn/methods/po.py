"""Preference optimization by refusals (Maini et al. 2024, arXiv 2401.06121, "I don't know").

L_forget = mean M of a refusal in the place of the true answer, L_retain = mean M on the retain set.
"""

from parallax.unlearn.methods.likelihood import descend
from parallax.unlearn.methods.method import METHODS, Method

METHODS.register("po")(Method(forget=descend, retain=descend, forget_answer="refusal"))
