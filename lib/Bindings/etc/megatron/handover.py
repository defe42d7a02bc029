"""Hands the state that is equal on all ranks from the previous to the new ranks."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence

import torch

from etc.megatron.build import Wrapping
from etc.megatron.param_groups import Rates
from etc.megatron.states import parts_of


@dataclass
class Handover:
    """Progress, the optimizer's scalars, and how the model was wrapped."""

    iteration: int
    consumed_samples: int
    optimizer_step: Optional[int]
    scheduler: Any
    """The opt_param_scheduler without its optimizer, or None."""
    scaler: Any
    """The state of the loss scaler, or None."""
    rates: Rates
    """Of the optimizer's groups of parameters."""
    wrapping: Wrapping
    buffers: Mapping[str, torch.Tensor]
    """State of the model that is no parameter, under global names."""
    progress: Mapping[str, Any]
    """What else the training loop counts."""

    def to_bytes(self) -> bytes:
        return pickle.dumps(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Handover:
        return pickle.loads(data)


def without_optimizer(scheduler: Any, optimizer: Any) -> Any:
    """A copy of a scheduler that can be sent.

    Raises ValueError if it is not a scheduler of Megatron-Core's, or if there is none
    although a learning rate was changed.
    """
    if scheduler is None:
        _check_learning_rates(optimizer)
        return None
    if not hasattr(scheduler, "num_steps") or not hasattr(scheduler, "optimizer"):
        raise ValueError(
            f"opt_param_scheduler: {type(scheduler).__name__} is none of "
            f"Megatron-Core's; hand over None and make a new one"
        )
    travelling = copy.copy(scheduler)
    travelling.optimizer = None
    return travelling


def _check_learning_rates(optimizer: Any) -> None:
    for group in optimizer.param_groups:
        if group["lr"] != optimizer.config.lr:
            raise ValueError(
                f"opt_param_scheduler: None, and a learning rate is {group['lr']} "
                f"where the configuration has {optimizer.config.lr}; pass a scheduler"
            )


def attach(scheduler: Any, optimizer: Any) -> Any:
    """The scheduler attached to a new optimizer, with its learning rates set."""
    if scheduler is not None:
        scheduler.optimizer = optimizer
        scheduler.step(0)
    return scheduler


def scaler_state(optimizer: Any) -> Any:
    """That of the first part; all parts have the same."""
    for part in parts_of(optimizer):
        scaler = getattr(part, "grad_scaler", None)
        if scaler is not None:
            state = scaler.state_dict()
            return {
                name: value.cpu() if isinstance(value, torch.Tensor) else value
                for name, value in state.items()
            }
    return None


def load_scaler(optimizer: Any, state: Any) -> None:
    """Restores the loss scale."""
    for part in parts_of(optimizer):
        scaler = getattr(part, "grad_scaler", None)
        if scaler is not None and state:
            scaler.load_state_dict(state)


def common_step(steps: Sequence[Optional[int]]) -> Optional[int]:
    """The value of all ranks that have one; ValueError if they differ."""
    known = sorted({step for step in steps if step is not None})
    if len(known) > 1:
        raise ValueError(
            f"optimizer: ranks have made {known} steps; expected one count"
        )
    return known[0] if known else None
