"""What every rank tells every other one."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import torch
import torch.distributed as dist

from etc.torch_private import groups
from etc.torch_private.stores import store_of

T = TypeVar("T")


class Peers(Protocol):
    """Processes that change state together, where these are not those of the default
    process group."""

    rank: int
    size: int
    store: Any

    def gather(self, packed: bytes) -> list[bytes]:
        """What each passes, in order. Collective."""

    def share(self, packed: bytes) -> bytes:
        """What the first one passes. Collective."""


_peers: Peers | None = None


@contextmanager
def among(peers: Peers) -> Iterator[None]:
    """Ranks are those of `peers` meanwhile."""
    global _peers
    before, _peers = _peers, peers
    try:
        yield
    finally:
        _peers = before


def rank() -> int:
    """This process's."""
    return _peers.rank if _peers is not None else dist.get_rank()


def size() -> int:
    """How many there are."""
    return _peers.size if _peers is not None else dist.get_world_size()


def store() -> Any:
    """A store that all ranks have."""
    return _peers.store if _peers is not None else store_of()


def on_every_rank(make: Callable[[], T]) -> list[T]:
    """make() of each rank, in order. Collective over all ranks.

    Raises a ValueError on all ranks where make() raised on one; the message names it.
    """
    if _peers is None and not (dist.is_available() and dist.is_initialized()):
        raise ValueError(
            "torch.distributed is not initialized, so ranks can't tell each other what "
            "they have; call init_process_group first"
        )
    try:
        packed = pack(("", make()))
    except Exception as error:  # the others wait for this rank
        packed = pack((str(error) or repr(error), None))
    gathered = [unpack(said) for said in _gather(packed)]
    for rank, (problem, _) in enumerate(gathered):
        if problem:
            raise ValueError(f"rank {rank}: {problem}")
    return [value for _, value in gathered]


def _gather(packed: bytes) -> list[bytes]:
    if _peers is not None:
        return _peers.gather(packed)
    if _has_gloo():
        return groups.gather(dist.group.WORLD, packed)
    said: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(said, packed)
    return said


def from_first(packed: bytes) -> bytes:
    """What rank 0 passes. Collective over all ranks."""
    if _peers is not None:
        return _peers.share(packed)
    if _has_gloo():
        return groups.share(dist.group.WORLD, packed)
    said = [packed]
    dist.broadcast_object_list(said)
    return said[0]


def _has_gloo() -> bool:
    """Whether tensors in host memory go over Gloo."""
    return "cpu:gloo" in dist.get_backend_config().split(",")


class _Pickler(pickle.Pickler):
    """Numbers that are tensors, such as the steps of an optimizer, are packed as numbers:
    PyTorch packs each as an archive. One on an accelerator is unpacked on the receiver's
    own device."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is not torch.Tensor or value.dim() or value.requires_grad:
            return NotImplemented
        return _number, (value.item(), value.dtype, value.device.type)


def pack(value: Any) -> bytes:
    """As ranks tell it to each other."""
    packed = io.BytesIO()
    _Pickler(packed).dump(value)
    return packed.getvalue()


def unpack(packed: bytes) -> Any:
    """What another rank packed."""
    return pickle.loads(packed)


def _number(value: Any, dtype: torch.dtype, device: str) -> torch.Tensor:
    return torch.tensor(value, dtype=dtype, device=device)
