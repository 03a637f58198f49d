"""One unlearning method a file: pure losses over per-sequence values, and what they need."""

from parallax.unlearn.methods import ga, gd, kl, npo, po
from parallax.unlearn.methods.method import METHODS, Method

__all__ = ["METHODS", "Method", "ga", "gd", "kl", "npo", "po"]
