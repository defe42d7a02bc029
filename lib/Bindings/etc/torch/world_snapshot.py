"""What a failed step has changed, besides parameters, is put back."""

from __future__ import annotations

import copy
import random
import sys
from typing import Any

import torch

from etc.torch.placements import local_of
from etc.torch_private.tensors import put_buffer


class Buffer:
    """One of a module, and its contents at the boundary of a step. A forward pass that
    fails may have changed it, and on GPUs have written what was in memory. (That torch
    counts a tensor's versions does not help: batch norm's statistics keep theirs.)"""

    def __init__(self, module: torch.nn.Module, name: str, tensor: torch.Tensor) -> None:
        self._module, self._name, self._tensor = module, name, tensor
        self._contents = local_of(tensor).clone()

    def restore(self) -> None:
        local = local_of(self._tensor)
        if local.untyped_storage().size() == 0 < local.numel():
            return  # released in a change
        with torch.inference_mode() if local.is_inference() else torch.no_grad():
            local.copy_(self._contents)
        put_buffer(self._module, self._name, self._tensor)


class Snapshot:
    """Random number generators, buffers, and objects with a state, at the boundary of a
    step. `objects`: what `build` returned; none where this process has no state."""

    def __init__(self, objects: tuple[Any, ...]) -> None:
        self._buffers = [
            Buffer(module, name, tensor)
            for root in objects[:1]
            for module in root.modules()
            for name, tensor in module.named_buffers(
                recurse=False, remove_duplicate=False
            )
            if not tensor.is_meta
        ]
        self._objects = [
            (each, copy.deepcopy(each.state_dict()))
            for each in objects[2:]  # behind the module and the optimizer
        ]
        self._torch = torch.get_rng_state()
        self._cuda = (
            torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None
        )
        self._python = random.getstate()
        numpy = sys.modules.get("numpy")
        self._numpy = numpy.random.get_state() if numpy else None

    def restore(self) -> None:
        for buffer in self._buffers:
            buffer.restore()
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
