"""The process groups of one generation, and how to end what hangs in them."""

from __future__ import annotations

import contextlib
import datetime
import os
import socket
import threading
from typing import Any

import torch
import torch.distributed as dist

from etc.torch import world_private

Inode = str


class Union:
    """All processes that take part in a change, those that leave as well: the `Peers`
    of etc.torch.ranks."""

    def __init__(self, store: Any, rank: int, size: int, seconds: float) -> None:
        self.rank = rank
        self.size = size
        self.store = dist.PrefixStore("state", store)
        group_store = dist.PrefixStore("union", store)
        self._group = world_private.make_gloo(group_store, rank, size, seconds)

    def gather(self, packed: bytes) -> list[bytes]:
        sizes = self._all(torch.tensor([len(packed)]))
        longest = max(int(size) for size in sizes)
        room = bytearray(packed.ljust(max(longest, 1), b"\0"))
        padded = torch.frombuffer(room, dtype=torch.uint8)
        parts = self._all(padded)
        return [p[: int(n)].numpy().tobytes() for p, n in zip(parts, sizes)]

    def _all(self, mine: torch.Tensor) -> list[torch.Tensor]:
        parts = [torch.empty_like(mine) for _ in range(self.size)]
        self._group.allgather([parts], [mine]).wait()
        return parts

    def largest(self, value: int) -> int:
        """Of the values of all."""
        tensor = torch.tensor([value])
        options = dist.AllreduceOptions()
        options.reduceOp = dist.ReduceOp.MAX
        self._group.allreduce([tensor], options).wait()
        return int(tensor)


class Groups:
    """The default process group and the control group of those that stay; the union of
    all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._before: set[Inode] = set()
        self._sockets: set[Inode] | None = None
        self._is_cut = True
        """Also before there is anything to cut."""
        self.union: Union | None = None
        self.control: Union | None = None

    def make(
        self,
        backend: str,
        address: tuple[str, int],
        generation: int,
        place: tuple[int, int, int],
        seconds: float,
    ) -> None:
        """`place`: this process's number among all, how many stay, how many there are.

        Raises RuntimeError where another process fails meanwhile."""
        number, stays, size = place
        with self._lock:
            self._before, self._sockets = set(_connections()), None
            self._is_cut = False
        limit = datetime.timedelta(seconds=seconds)
        client = dist.TCPStore(*address, is_master=False, timeout=limit)
        store = dist.PrefixStore(f"etc/{generation}", client)
        self.union = Union(dist.PrefixStore("all", store), number, size, seconds)
        self.control = None
        if number >= stays:
            return
        if stays == size:
            self.control = self.union
        else:
            those = dist.PrefixStore("stay", store)
            self.control = Union(those, number, stays, seconds)
        world_private.forget_meshes()
        dist.init_process_group(
            backend,
            store=dist.PrefixStore("default", store),
            rank=number,
            world_size=stays,
            timeout=limit,
        )

    def made(self) -> None:
        """All groups are there: connections that come later are not torch's."""
        with self._lock:
            self._sockets = set(_connections()) - self._before

    def cut(self) -> None:
        """Ends what hangs in these groups, in any thread: a collective behind a process
        that was stopped, or whose network failed, would end at the group's time-out.

        torch can abort NCCL's groups; connections of Gloo's are shut down."""
        with self._lock:
            if self._is_cut:
                return
            self._is_cut = True
            theirs = self._sockets
            for inode, descriptor in _connections().items():
                is_theirs = inode in theirs if theirs is not None else True
                if is_theirs and inode not in self._before:
                    _shut_down(descriptor)
        if dist.is_initialized() and "nccl" in str(dist.get_backend()):
            with contextlib.suppress(Exception):
                world_private.abort_groups()

    def destroy(self) -> None:
        """After the last collective, or after a failure: whoever still waits for this
        process gets an error."""
        self.cut()
        self.union = self.control = None
        if dist.is_initialized():
            with contextlib.suppress(Exception):
                dist.destroy_process_group()


def _connections() -> dict[Inode, int]:
    """The TCP connections of this process: descriptors by inode."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            inode = os.readlink(f"/proc/self/fd/{name}")
            if inode.startswith("socket:"):
                with socket.socket(fileno=os.dup(int(name))) as copy:
                    if copy.family in (socket.AF_INET, socket.AF_INET6):
                        copy.getpeername()  # not of a socket that listens
                        found[inode] = int(name)
        except OSError:
            continue
    return found


def _shut_down(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        with socket.socket(fileno=os.dup(descriptor)) as copy:
            copy.shutdown(socket.SHUT_RDWR)
