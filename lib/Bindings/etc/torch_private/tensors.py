"""What DTensors, modules and optimizers do not tell by documented names."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch


def local_tensor(tensor: Any) -> torch.Tensor:
    """A DTensor's part on this rank: the tensor itself, not a view with a gradient."""
    local: torch.Tensor = tensor._local_tensor
    return local


@functools.cache
def cuts_uneven_strides() -> bool:
    """Whether distribute_tensor cuts a _StridedShard into parts that full_tensor puts
    together again where rows do not divide. In torch 2.8 neither is what fully_shard
    makes, and 2.6 refuses such rows."""
    from torch.distributed.tensor.placement_types import _StridedShard

    try:
        parts, _ = _StridedShard(0, split_factor=2)._split_tensor(
            torch.arange(5), 2, with_padding=False
        )
    except AssertionError:
        return False
    return bool(parts[0].tolist() == [0, 1, 3])


def has_scheduler(optimizer: Any) -> bool:
    """Whether a scheduler sets its learning rate: torch counts its steps then."""
    return hasattr(getattr(optimizer, "step", None), "_wrapped_by_lr_sched")


def saved_buffers(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """(name, buffer) of the module's own buffers that its state dict has."""
    for name, buffer in module._buffers.items():
        if buffer is not None and name not in module._non_persistent_buffers_set:
            yield name, buffer


def compiled_by(module: torch.nn.Module) -> torch.nn.Module | None:
    """What torch.compile made the module of; None where it did not."""
    if type(module).__name__ != "OptimizedModule":
        return None
    compiled: torch.nn.Module = module._orig_mod  # type: ignore[assignment]
    return compiled
