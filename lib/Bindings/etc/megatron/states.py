"""Reads and writes the state that Megatron-Core's optimizers keep of a parameter.

Supported is Adam: by itself, as Float16OptimizerWithFloat16Params or as
DistributedOptimizer, one or several of them in a ChainedOptimizer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional

import torch

from etc.megatron.modules import Parameter

MOMENTS = ("exp_avg", "exp_avg_sq")
KNOWN = ("FP32Optimizer", "Float16OptimizerWithFloat16Params", "DistributedOptimizer")
State = Mapping[str, Mapping[str, torch.Tensor]]


@dataclass(frozen=True)
class Slot:
    """The position of a parameter in a torch optimizer."""

    inner: Any
    """The torch optimizer."""
    key: torch.Tensor
    """What it optimizes: the parameter, its fp32 master, or this rank's flat range
    of either."""
    is_master: bool


def check_optimizer(optimizer: Any) -> None:
    """Raises ValueError if the optimizer keeps state in an unsupported way."""
    for part in parts_of(optimizer):
        if type(part).__name__ not in KNOWN:
            raise ValueError(
                f"optimizer: {type(part).__name__} is not read; expected one of "
                f"{', '.join(KNOWN)}"
            )


def parts_of(optimizer: Any) -> list[Any]:
    """The optimizers of a chain, or the only one, except those without parameters."""
    parts = getattr(optimizer, "chained_optimizers", [optimizer])
    return [part for part in parts if not getattr(part, "is_stub_optimizer", False)]


def slots_of(optimizer: Any) -> dict[torch.nn.Parameter, Slot]:
    """The position of each parameter, except those that other data-parallel ranks
    optimize."""
    return {
        parameter: slot for part in parts_of(optimizer) for parameter, slot in _of(part)
    }


def _of(part: Any) -> Iterator[tuple[torch.nn.Parameter, Slot]]:
    inner = part.optimizer
    if type(part).__name__ == "DistributedOptimizer":
        for parameter, (group, order) in part.model_param_group_index_map.items():
            key = inner.param_groups[group]["params"][order]
            yield parameter, Slot(inner, key, parameter.dtype != torch.float32)
        return
    for models, masters in zip(
        getattr(part, "float16_groups", []),
        getattr(part, "fp32_from_float16_groups", []),
    ):
        for parameter, master in zip(models, masters):
            yield parameter, Slot(inner, master, True)
    groups = getattr(part, "fp32_from_fp32_groups", None)
    for group in (
        groups if groups is not None else [g["params"] for g in inner.param_groups]
    ):
        for parameter in group:
            yield parameter, Slot(inner, parameter, False)


def tensors_of(slot: Slot) -> dict[str, torch.Tensor]:
    """{type: tensor} of a parameter's state, flat if it is a range."""
    tensors = {"master": slot.key.data} if slot.is_master else {}
    state = slot.inner.state.get(slot.key, {})
    tensors.update((kind, state[kind]) for kind in MOMENTS if kind in state)
    return tensors


def step_of(optimizer: Any) -> Optional[int]:
    """The optimizer's number of steps; None if it does not count them here."""
    for part in parts_of(optimizer):
        for group in part.optimizer.param_groups:
            if "step" in group:  # Transformer Engine's and Apex's
                return int(group["step"])
        for state in part.optimizer.state.values():
            if "step" in state:  # torch's
                return int(state["step"])
    return None


def bind(
    slot: Slot, parameter: Parameter, state: State, step: Optional[int]
) -> None:
    """Writes the state of a parameter to a new optimizer."""
    moments = [kind for kind in MOMENTS if kind in state]
    if parameter.among is None:
        _replace(slot, parameter.name, state, moments)
    else:
        _copy(slot, parameter, state, moments)
    if moments and isinstance(slot.inner, (torch.optim.Adam, torch.optim.AdamW)):
        slot.inner.state[slot.key]["step"] = torch.tensor(float(step or 0))


def _replace(slot: Slot, name: str, state: State, moments: list[str]) -> None:
    shape = slot.key.shape
    if slot.is_master:
        slot.key.data = own(state["master"][name]).view(shape)
    for kind in moments:
        slot.inner.state[slot.key][kind] = own(state[kind][name]).view(shape)


def _copy(
    slot: Slot, parameter: Parameter, state: State, moments: list[str]
) -> None:
    """One of the experts that a tensor has."""
    whole = slot.inner.state[slot.key]
    for kind in moments:
        if kind not in whole:
            whole[kind] = torch.empty_like(slot.key)
    parts = {kind: whole[kind] for kind in moments}
    parts.update({"master": slot.key} if slot.is_master else {})
    for kind, tensor in parts.items():
        part = parameter.of(tensor)
        part.copy_(state[kind][parameter.name].view(part.shape))


def bind_step(optimizer: Any, step: Optional[int]) -> None:
    """Sets the step of optimizers that count it in their groups."""
    for part in parts_of(optimizer):
        if not isinstance(part.optimizer, (torch.optim.Adam, torch.optim.AdamW)):
            for group in part.optimizer.param_groups:
                if step is not None:
                    group["step"] = step


def own(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or a copy if it is part of a buffer that would be kept alive."""
    from etc.tensors import owns_storage

    return tensor if owns_storage(tensor) else tensor.clone()
