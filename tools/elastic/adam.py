"""Adam on fp32 master weights, of which the bf16 parameters are the cast."""

from __future__ import annotations

import torch

from .config import Training
from .iteration import Gradients
from .tensors import State

BETAS, EPSILON = (0.9, 0.95), 1e-8


@torch.no_grad()
def apply(state: State, gradients: Gradients, step: int, training: Training) -> None:
    """Step 0, 1, ...; in place, element by element, so no cut changes a bit of it."""
    corrections = [1 - beta ** (step + 1) for beta in BETAS]
    rate = training.learning_rate(step) / corrections[0]
    for name, gradient in gradients.items():
        mean, square = state["exp_avg"][name], state["exp_avg_sq"][name]
        mean.mul_(BETAS[0]).add_(gradient, alpha=1 - BETAS[0])
        square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        root = (square / corrections[1]).sqrt_().add_(EPSILON)
        state["master"][name].addcdiv_(mean, root, value=-rate)
        state["param"][name].copy_(state["master"][name])
