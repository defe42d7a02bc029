"""Schedulers of learning rates, which go on with the optimizer that they were made of."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler

from etc.torch import zero
from etc.torch.layout import Layout
from etc.torch.optimizers import members, name_of
from etc.torch_private.tensors import has_scheduler

# Objects with a state that are no part of a scheduler's own.
OF_OTHERS = (torch.nn.Module, torch.optim.Optimizer)


def check(prev: Layout, curr: Layout) -> None:
    """Whether all are passed, and those after are the new optimizer's: one that stays
    with the optimizer before would change its learning rate only."""
    groups = _groups(prev.source[1])
    # Some leave a mark on the optimizer, which outlives them; ReduceLROnPlateau does not.
    is_marked = any(has_scheduler(each) for each in _bases(prev.source[1]))
    parts = [each for other in prev.others for each in _within(other)]
    has_none = is_marked and not any(hasattr(each, "get_last_lr") for each in parts)
    passed = set(map(id, parts))
    left = _others(groups, passed)
    if left:  # one that nobody refers to may not have been collected yet
        left = []
        gc.collect()
        left = _others(groups, passed)
    if has_none or left:
        mark = ", and its mark: del optimizer.step" if has_none else ""
        raise ValueError(
            f"optimizer: a {name_of(left[0]) if left else 'scheduler'} sets its learning "
            f"rate, and would go on with the optimizer before; pass it on both sides, as "
            f"in move((model, optimizer, scheduler), (new_model, new_optimizer, "
            f"new_scheduler)), or del one that is done{mark}"
        )
    groups = _groups(curr.source[1])
    for other in curr.others:
        for each in _within(other):
            optimizer = getattr(each, "optimizer", None)
            is_of_one = groups and hasattr(optimizer, "param_groups")
            if is_of_one and not groups & _groups(optimizer):
                raise ValueError(
                    f"{name_of(each)}: is one of another optimizer than the new one, whose "
                    f"learning rate it would not set; make one of the new optimizer"
                )


def _bases(optimizer: Any) -> list[Any]:
    """The torch optimizers: an engine has one inside."""
    is_engine = isinstance(optimizer, zero.Partitions)
    return [optimizer.base] if is_engine else list(members(optimizer))


def _groups(optimizer: Any) -> set[int]:
    """Which groups of parameters these are: wrappers of an optimizer have the same."""
    return {id(group) for each in _bases(optimizer) for group in each.param_groups}


def _within(other: Any) -> Iterator[Any]:
    """An object, and those with a state of which it is made, such as the schedulers of
    a sequence."""
    found, seen = [other], {id(other)}
    for each in found:
        yield each
        for value in getattr(each, "__dict__", {}).values():
            if isinstance(value, dict):
                value = list(value.values())
            for part in value if isinstance(value, (list, tuple)) else [value]:
                is_one = hasattr(type(part), "state_dict")
                if is_one and not isinstance(part, OF_OTHERS) and id(part) not in seen:
                    seen.add(id(part))
                    found.append(part)


def _others(groups: set[int], passed: set[int]) -> list[Any]:
    """The living schedulers of groups of parameters that were not passed: an optimizer
    does not refer to them."""
    if not groups:
        return []
    kinds = [LRScheduler]
    for kind in kinds:
        kinds += kind.__subclasses__()
    wanted = set(kinds)
    # Objects refer to their classes. A list of all objects would take twice as long, and
    # count each: processes that were forked would get copies of all that they share.
    found = [each for each in gc.get_referrers(*kinds) if type(each) in wanted]
    found = [each for each in found if id(each) not in passed]
    return [o for o in found if groups & _groups(getattr(o, "optimizer", None))]
