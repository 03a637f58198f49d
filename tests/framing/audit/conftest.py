from pathlib import Path

import numpy as np
import pytest

from parallax.framing.items import read_pairs

LABELLED = Path(__file__).parents[3] / "data/raw/framing/equivalence_pairs.jsonl"


class Made:
    """An encoder whose vectors are given; an unknown text is orthogonal to the given ones."""

    def __init__(self, vectors):
        self.vectors = {text: np.array([*vector, 0.0]) for text, vector in vectors.items()}

    def encode(self, texts):
        return np.stack([self.vectors.get(text, np.array([0.0, 0.0, 1.0])) for text in texts])


@pytest.fixture(scope="session")
def made():
    """`made({text: (x, y)})` gives an encoder."""
    return Made


@pytest.fixture(scope="session")
def encoder():
    from parallax.framing.embedding import SentenceEncoder

    return SentenceEncoder()


@pytest.fixture(scope="session")
def labelled():
    return read_pairs(LABELLED)


@pytest.fixture(scope="session")
def calibration(labelled, encoder):
    from parallax.framing.audit import calibrate

    return calibrate(labelled, encoder, 0.9, 0.8)
