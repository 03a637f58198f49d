"""Where a model runs."""


def best_device() -> str:
    """Return "cuda" where torch sees one, else "cpu"."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
