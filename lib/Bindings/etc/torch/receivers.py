"""A new model's tensors on the meta device, which get memory and stay the objects that
they are: an optimizer may refer to them already."""

from __future__ import annotations

from typing import Any

import torch

from etc.torch.entries import plain_name, unwrapped
from etc.torch_private import tensors


def ready(model: Any) -> None:
    """Raises ValueError where one of them can't get memory in its place. After the move
    that would be too late."""
    if not isinstance(model, torch.nn.Module):
        return
    model = unwrapped(model)
    for module in model.modules():
        tensors.forget_weights(module)
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if tensor.is_meta and (problem := tensors.why_not_swapped(tensor)):
            raise ValueError(
                f"{plain_name(name)}: is on the meta device, and {problem}; let go of "
                f"that, or build the model with memory, such as by to_empty"
            )


def settle(model: Any) -> None:
    """When all of them have memory."""
    if isinstance(model, torch.nn.Module):
        for module in model.modules():
            tensors.refer_to_weights(module)
