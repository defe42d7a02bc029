"""The tensors of one participant's migration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from etc.observers import Observers
from etc.plans import TensorSpec
from etc.state import Key

if TYPE_CHECKING:
    import torch

    from etc.state import State

Allocate = Callable[[str, str, TensorSpec], "torch.Tensor"]


class Memory:
    """What was handed over, what is new, and staging. ETC calls this object, which does
    not refer to the migration: one that nobody refers to any more ends at once."""

    def __init__(
        self,
        specs: Mapping[Key, TensorSpec],
        state: State,
        observers: Observers,
        *,
        device: torch.device,
        allocate: Allocate | None,
        free_storage: bool,
    ) -> None:
        self.specs = specs
        self.state = state
        self.old: dict[Key, torch.Tensor] = {}
        self.new: dict[Key, torch.Tensor] = {}
        self.staging: dict[int, torch.Tensor] = {}
        self.unfreed_bytes = 0
        self._observers = observers
        self._device = device
        self._allocate = allocate
        self._free_storage = free_storage

    def allocate(self, kind: str | None, name: str | None, size: int) -> int:
        """Allocates memory for a current tensor, or for staging."""
        import torch

        if kind is None or name is None:
            staging = torch.empty(size, dtype=torch.uint8, device=self._device)
            self.staging[staging.data_ptr()] = staging
            return staging.data_ptr()
        tensor = self._make(kind, name, self.specs[kind, name])
        self.new[kind, name] = tensor
        return tensor.data_ptr()

    def _make(self, kind: str, name: str, spec: TensorSpec) -> torch.Tensor:
        import torch

        from etc.checks import check_tensor
        from etc.tensors import DTYPES

        if self._allocate is None:
            dtype = DTYPES[spec.dtype]
            return torch.empty(spec.shape, dtype=dtype, device=self._device)
        tensor = self._allocate(kind, name, spec)
        check_tensor(f"allocate({kind!r}, {name!r})", tensor, spec, self._device)
        return tensor

    def release(
        self, kind: str | None, name: str | None, address: int, is_new: bool
    ) -> None:
        """Called when staging memory or a previous tensor is no longer needed, or, after
        an error, a new one."""
        from etc.tensors import free_storage

        if kind is None or name is None:
            self.staging.pop(address, None)
            return
        if is_new:
            self.new.pop((kind, name), None)
            return
        tensor = self.old.pop((kind, name))
        self.state.get(kind, {}).pop(name, None)
        try:
            self._observers.release(kind, name, tensor)
        finally:
            if self._free_storage and not free_storage(tensor):
                self.unfreed_bytes += tensor.numel() * tensor.element_size()

    def forget(self, *_: object) -> None:
        """Something else has taken over what is needed of it."""
        self.state = {}
        for tensors in (self.old, self.new, self.staging):
            tensors.clear()
