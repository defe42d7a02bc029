"""The state that a recovery moves, of what a process has left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etc import _run
from etc.job import Held, Job
from etc.migration import Migration
from etc.plans import PREV, Plan
from etc.progress import Progress

if TYPE_CHECKING:
    import torch


def previous(
    handle: _run.Recovery, base: Held | None, next_plan: Plan, job: Job
) -> dict[str, dict[str, torch.Tensor]]:
    """What the next plan takes from this device: tensors as they are where it takes
    all of one, and copies of what is left of the others."""
    import torch

    from etc.tensors import DTYPES

    known = {tensor.data_ptr(): tensor for tensor in _tensors(base)}
    state: dict[str, dict[str, torch.Tensor]] = {}
    for (kind, name), spec in next_plan._specs(PREV, job.device).items():
        own = known.get(handle.find(next_plan._handle, kind, name))
        if own is None or own.numel() == 0:
            dtype = DTYPES[spec.dtype]
            own = torch.empty(spec.shape, dtype=dtype, device=job.memory)
            handle.fill(next_plan._handle, kind, name, own.data_ptr())
        if tuple(own.shape) != spec.shape:
            own = own.view(spec.shape)
        state.setdefault(kind, {})[name] = own
    return state


def forgets(base: Held | None) -> Progress | None:
    """From the first round on, what a failed migration left is in the state that moves,
    much of it as copies."""
    return Progress(base._memory.forget) if isinstance(base, Migration) else None


def _tensors(base: Held | None) -> list[torch.Tensor]:
    if base is None:
        return []
    states = [base.state]
    if isinstance(base, Migration):
        states.append(base.received)
    return [t for state in states for group in state.values() for t in group.values()]
