"""What DTensors, modules and optimizers do not tell by documented names."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator
from typing import Any

import torch

# What wrappers put into the names of what they wrap.
WRAPPERS = ("_orig_mod.", "_checkpoint_wrapped_module.", "_fsdp_wrapped_module.")


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


def put_buffer(module: torch.nn.Module, name: str, buffer: torch.Tensor) -> None:
    """Makes it the module's again, also where a forward pass has deleted it."""
    module._buffers[name] = buffer


def compiled_by(module: torch.nn.Module) -> torch.nn.Module | None:
    """What torch.compile made the module of; None where it did not."""
    if type(module).__name__ != "OptimizedModule":
        return None
    compiled: torch.nn.Module = module._orig_mod  # type: ignore[assignment]
    return compiled


def why_not_swapped(tensor: torch.Tensor) -> str:
    """A reason why torch would not swap a tensor's contents with those of another one."""
    if weakref.getweakrefs(tensor):
        return "something has a weak reference to it"
    if tensor._use_count() > 1:
        return "autograd refers to it, in a graph or for a hook"
    return ""


def swap(old: torch.Tensor, new: torch.Tensor) -> None:
    """torch's, but hooks on the gradient stay with the object `old`: torch leaves them in
    its attributes, and calls those of the contents."""
    torch.utils.swap_tensors(old, new)
    for hooks in ("_backward_hooks", "_post_accumulate_grad_hooks"):
        if getattr(old, hooks, None):
            setattr(old, hooks, getattr(old, hooks))


def forget_weights(module: torch.nn.Module) -> None:
    """LSTMs and their like have weak references to their parameters, with which torch
    swaps none."""
    if isinstance(module, torch.nn.RNNBase):
        module._flat_weight_refs = [
            None if _is_meta_weight(module, name, ref) else ref
            for name, ref in zip(module._flat_weights_names, module._flat_weight_refs)
        ]


def _is_meta_weight(module: torch.nn.Module, name: str, ref: Any) -> bool:
    """Whether it is the module's own still: fully_shard gives a module others."""
    weight = getattr(module, name, None)
    return weight is not None and weight.is_meta and ref and ref() is weight


def refer_to_weights(module: torch.nn.Module) -> None:
    """Has the module find again what `forget_weights` made it forget."""
    if isinstance(module, torch.nn.RNNBase):
        found = zip(module._flat_weight_refs, module._flat_weights)
        if any(ref is None and weight is not None for ref, weight in found):
            module._init_flat_weights()
