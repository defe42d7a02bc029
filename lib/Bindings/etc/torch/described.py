"""What ranks know of an optimizer, and whether they say the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

SEQUENCES = (list, tuple, deque)


@dataclass
class Described:
    """What all ranks together know of an optimizer, by the names of parameters."""

    states: dict[str, dict[str, str]] = field(default_factory=dict)
    """{parameter: {state: dtype}}."""
    scalars: dict[str, dict[str, Any]] = field(default_factory=dict)
    """{parameter: {state: value}}: `step`, which every holder has alike."""
    group_of: dict[str, int] = field(default_factory=dict)
    """The number of each parameter's group."""
    options: list[dict[str, Any]] = field(default_factory=list)
    """Of every group: the learning rate, ..."""
    classes: list[list[str]] = field(default_factory=list)
    """Of every group: its optimizer's class, and those that it is made of."""

    rank: int = field(default=-1, compare=False)
    """The first rank whose options these are."""

    def add(self, rank: int, other: Described) -> None:
        """Adds what another rank knows. Raises ValueError where they contradict."""
        for name, scalars in other.scalars.items():
            for kind, value in scalars.items():
                known = self.scalars.setdefault(name, {}).setdefault(kind, value)
                if not is_equal(known, value):
                    raise ValueError(
                        f"{name} ({kind}): is {_number(value)} on rank {rank}, "
                        f"{_number(known)} on another rank, as if one had skipped a "
                        f"step; make both equal"
                    )
        for name, states in other.states.items():
            self.states.setdefault(name, {}).update(states)
        for name, number in other.group_of.items():
            before = self.group_of.setdefault(name, number)
            if before != number:
                raise ValueError(
                    f"{name}: is in group {number} of the optimizer on rank {rank}, in "
                    f"group {before} on another rank; make the same groups"
                )
        if not other.options:
            return
        if not self.options:
            self.options, self.rank = other.options, rank
            self.classes = other.classes
        for number, (known, option) in enumerate(zip(self.options, other.options)):
            different = [n for n in known if not is_equal(known[n], option.get(n))]
            if different:
                raise ValueError(
                    f"optimizer: {different[0]} of group {number} is "
                    f"{_number(option.get(different[0]))} on rank {rank}, "
                    f"{_number(known[different[0]])} on rank {self.rank}; make both "
                    f"equal"
                )


def is_equal(a: Any, b: Any) -> bool:
    """Of values that may have tensors in them; what is not a number equals itself."""
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        is_alike = type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape
        return is_alike and (torch.equal(a, b) or _is_same(a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(is_equal(a[k], b[k]) for k in a)
    if isinstance(a, SEQUENCES) and isinstance(b, SEQUENCES):
        return len(a) == len(b) and all(map(is_equal, a, b))
    if hasattr(a, "shape") and hasattr(b, "shape"):  # of numpy
        return bool(a.shape == b.shape and _is_same(a, b))
    try:
        return bool(a == b) or (a != a and b != b)
    except Exception:  # tensors inside, as in a dataclass, have no truth
        attributes = [getattr(each, "__dict__", None) for each in (a, b)]
        return None not in attributes and is_equal(*attributes)


def _is_same(a: Any, b: Any) -> bool:
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, torch.Tensor) else value
