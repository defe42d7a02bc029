"""What a failed step has changed, besides parameters, is put back."""

from __future__ import annotations

import copy
import random
import sys
from typing import Any

import torch


class Snapshot:
    """Random number generators, and objects with a state, at the boundary of a step."""

    def __init__(self, objects: tuple[Any, ...]) -> None:
        self._objects = [(each, copy.deepcopy(each.state_dict())) for each in objects]
        self._torch = torch.get_rng_state()
        self._cuda = (
            torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None
        )
        self._python = random.getstate()
        numpy = sys.modules.get("numpy")
        self._numpy = numpy.random.get_state() if numpy else None

    def restore(self) -> None:
        for each, state in self._objects:
            each.load_state_dict(copy.deepcopy(state))
        self.restore_random()

    def restore_random(self) -> None:
        torch.set_rng_state(self._torch)
        if self._cuda is not None:
            torch.cuda.set_rng_state(self._cuda)
        random.setstate(self._python)
        if self._numpy is not None:
            sys.modules["numpy"].random.set_state(self._numpy)
