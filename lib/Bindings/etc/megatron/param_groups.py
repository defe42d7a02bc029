"""The learning rates that groups of parameters have beside the scheduler's: Megatron
puts them there from its arguments, or from a checkpoint, and the scheduler takes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch.distributed as dist

RATES = ("max_lr", "min_lr", "start_wd", "end_wd")
# What tells groups apart; Megatron's load_state_dict takes all but the last.
KEYS = ("is_expert_parallel", "wd_mult", "lr_mult", "is_decoupled_lr", "default_config")
# Fields of an OptimizerConfig that groups get their rates from.
SOURCES = ("lr", "min_lr", "decoupled_lr", "decoupled_min_lr")

Key = tuple[Any, ...]
Rates = Mapping[Key, Mapping[str, Any]]


def gather(optimizer: Any) -> Rates:
    """Those of the groups of all ranks, by what the group is. Collective over the
    default group."""
    mine = {key: _rates(group) for key, group in _keyed(optimizer.param_groups)}
    said: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(said, mine)
    return {key: rates for each in reversed(said) for key, rates in each.items()}


def give(rates: Rates, optimizer: Any) -> None:
    """Gives them to the same groups of another optimizer. Experts have the group of
    the other parameters where they are sharded in one configuration alone."""
    for key, group in _keyed(optimizer.param_groups):
        is_expert, *others = key
        group.update(rates.get(key, rates.get((not is_expert, *others), {})))


def same_sources(one: Any, other: Any) -> bool:
    """Whether groups get the same rates from two configurations of optimizers."""
    return all(getattr(one, n, None) == getattr(other, n, None) for n in SOURCES)


def _rates(group: Mapping[str, Any]) -> dict[str, Any]:
    return {name: group[name] for name in RATES if name in group}


def _keyed(groups: Iterable[dict[str, Any]]) -> Iterator[tuple[Key, dict[str, Any]]]:
    """Groups that are alike are counted, in the order that all ranks have."""
    seen: dict[Key, int] = {}
    for group in groups:
        kind = tuple(group.get(name) for name in KEYS)
        seen[kind] = seen.get(kind, 0) + 1
        yield (bool(kind[0]), *kind[1:], seen[kind]), group
