"""Optimizers: AdamW for published models, Muon for what is trained from scratch."""

from typing import TYPE_CHECKING

import torch

from parallax.params import Optimization

if TYPE_CHECKING:
    from transformers import PreTrainedModel

BETAS = (0.9, 0.98)
MOMENTUM = 0.95


def build_optimizers(
    model: "PreTrainedModel", optimization: Optimization, learning_rate: float
) -> list[torch.optim.Optimizer]:
    """Return the optimizers of the trainable weights.

    `adamw` (Loshchilov and Hutter 2019, arXiv 1711.05101) moves them all. `muon` (Jordan et al.
    2024; update scaled to AdamW's size by Liu et al. 2025, arXiv 2502.16982) moves the matrices
    inside the layers, along the nearest orthogonal matrix to their momentum; embeddings, biases
    and norms stay with AdamW. Both have the same learning rate and weight decay.
    """
    trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    embeddings = {id(model.get_input_embeddings().weight), id(model.get_output_embeddings().weight)}
    matrices = [
        weight
        for name, weight in trained.items()
        if weight.ndim == 2 and id(weight) not in embeddings and "position_embedding" not in name
    ]
    decay = optimization.weight_decay
    if optimization.optimizer == "adamw" or not matrices:
        return [torch.optim.AdamW(trained.values(), learning_rate, betas=BETAS, weight_decay=decay)]
    chosen = {id(weight) for weight in matrices}
    others = [weight for weight in trained.values() if id(weight) not in chosen]
    muon = torch.optim.Muon(
        matrices,
        learning_rate,
        momentum=MOMENTUM,
        weight_decay=decay,
        adjust_lr_fn="match_rms_adamw",
    )
    if not others:  # adapters are matrices alone
        return [muon]
    return [muon, torch.optim.AdamW(others, learning_rate, betas=BETAS, weight_decay=decay)]
