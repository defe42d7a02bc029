"""Engines of DeepSpeed's ZeRO: of each group of parameters a rank has a flat range of the
masters and of the optimizer's states, and in stage 3 of the parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from etc.torch import dtypes
from etc.torch.described import Described
from etc.torch.entries import Entry, buffer_entries, make_entry, plain_name, swapper
from etc.torch.optimizers import (
    check_group,
    check_groups,
    give_options,
    is_scalar,
    options_of,
    scalar,
)
from etc.torch.spans import planned_shape, range_boxes
from etc.torch.zero_ranges import (
    Range,
    gather_again,
    is_partitioned,
    masters,
    parameter_range,
    why_not,
)

# What an engine counts.
COUNTERS = ("global_steps", "global_samples", "skipped_steps")


class Partitions:
    """The optimizer of an engine. Its state dict is what the engine counts: the same
    on all ranks."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    @property
    def base(self) -> Any:
        """The torch optimizer of this rank's ranges."""
        return self.engine.optimizer.optimizer

    def masters(self) -> Iterator[Range]:
        """Raises ValueError where the engine has what is not moved."""
        if problem := why_not(self.engine):
            raise ValueError(f"engine: {problem}")
        return masters(self.engine)

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self.engine, name) for name in COUNTERS}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        engine = self.engine
        for name in COUNTERS:
            setattr(engine, name, state[name])
        # Its own number of passes makes a step.
        engine.micro_steps = engine.global_steps * engine.gradient_accumulation_steps()


def is_engine(model: Any) -> bool:
    """Whether it is an engine of DeepSpeed's."""
    return hasattr(model, "zero_optimization_stage") and hasattr(model, "module")


def model_entries(module: Any) -> Iterator[Entry]:
    """As `entries.model_entries`, of an engine's module."""
    for name, parameter in module.named_parameters():
        name = plain_name(name)
        if is_partitioned(parameter):
            place = parameter_range(name, parameter)
            if place.first != place.last:
                yield _entry("param", place, place.flat)
        else:
            yield make_entry("param", name, parameter, swapper(parameter))
    yield from buffer_entries(module)


def describe(_: Any, optimizer: Partitions) -> tuple[Described, list[Entry]]:
    """As `optimizers.describe`: what is kept on this rank, and its entries."""
    found, entries = Described(), []
    for place in optimizer.masters():
        states = optimizer.base.state.get(place.flat, {})
        parts = {k: v for k, v in states.items() if not is_scalar(k, v, place.flat)}
        parts["master"] = place.flat.detach()
        _check_shapes(place, parts)
        found.group_of[place.name] = place.number
        found.scalars[place.name] = {k: v for k, v in states.items() if k not in parts}
        found.states[place.name] = {k: dtypes.name_of(v.dtype) for k, v in parts.items()}
        if place.first != place.last:
            entries += [_entry(kind, place, part) for kind, part in parts.items()]
    found.options = options_of(optimizer.base)
    return found, entries


def _check_shapes(place: Range, parts: dict[str, Any]) -> None:
    for kind, part in parts.items():
        if part.shape != place.flat.shape:
            raise ValueError(
                f"{place.name} ({kind}): the optimizer keeps {list(part.shape)} of a "
                f"range of {list(place.flat.shape)}; states of other shapes are not "
                f"moved, so use another optimizer"
            )


def _entry(kind: str, place: Range, part: Any) -> Entry:
    """What lies of a parameter in a flat tensor of this rank."""
    local = part.narrow(0, place.start, place.last - place.first)
    shape = planned_shape(place.shape)  # a range may cut any axis
    boxes = range_boxes(shape, place.first, place.last)
    like = torch.empty(shape, dtype=part.dtype, device="meta")
    return Entry(
        kind, place.name, dtypes.name_of(part.dtype), like, boxes, local, _stays
    )


def _stays(_: Any) -> None:
    raise AssertionError("a range of a flat tensor has memory")


def expect(model: Any, optimizer: Partitions, before: Described) -> list[Entry]:
    """As `optimizers.expect`, of a new engine: it gets memory for the states that
    `before` has, which DeepSpeed would make in the first step."""
    check_groups(len(optimizer.base.param_groups), before)
    for place in optimizer.masters():
        check_group(place.name, place.number, before)
        state = optimizer.base.state[place.flat]
        wanted = before.states.get(place.name, {})
        for kind, value in state.items():
            if not is_scalar(kind, value, place.flat) and kind not in wanted:
                raise ValueError(
                    f"{place.name} ({kind}): the new engine has it, the one before has "
                    f"not, as if the new one had made a step; build a fresh one"
                )
        for kind, dtype in wanted.items():
            if kind != "master" and kind not in state:
                made = torch.zeros_like(place.flat, dtype=dtypes.named(dtype))
                state[kind] = made.detach()
    return describe(model, optimizer)[1]


def finish(_: Any, optimizer: Partitions, before: Described) -> None:
    """As `optimizers.finish`: gives a new engine the scalars and the options."""
    groups = optimizer.base.param_groups
    give_options(groups, before)
    for place in optimizer.masters():
        state, group = optimizer.base.state[place.flat], groups[place.number]
        for kind, value in before.scalars.get(place.name, {}).items():
            state[kind] = scalar(kind, value, place.flat, group)
    gather_again(optimizer.engine)
