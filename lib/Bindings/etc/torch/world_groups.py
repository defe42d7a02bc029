"""The process groups of one generation, and how to end what hangs in them."""

from __future__ import annotations

import contextlib
import datetime
import errno
import functools
import os
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from etc.torch_private import groups as torch_groups
from etc.torch_private import nccl
from etc.torch_private.stores import join_store

T = TypeVar("T")
Inode = int
Address = tuple[str, int]

QUIET = 0.05
"""Seconds in which messages arrive that were under way when a member was lost."""

NO_MORE = errno.EMFILE, errno.ENFILE


class Union:
    """All processes that take part in a change, those that leave as well: the `Peers`
    of etc.torch.ranks."""

    def __init__(self, store: Any, rank: int, size: int, seconds: float) -> None:
        self.rank = rank
        self.size = size
        self.store = dist.PrefixStore("state", store)
        group_store = dist.PrefixStore("union", store)
        self._group = torch_groups.make_gloo(group_store, rank, size, seconds)

    def gather(self, packed: bytes) -> list[bytes]:
        return torch_groups.gather(self._group, packed)

    def share(self, packed: bytes) -> bytes:
        return torch_groups.share(self._group, packed)

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
        self._void = 0
        """The last generation in which a member failed."""
        self._generation = 0
        """Of these groups, also while they are made; 0 where there are none."""
        self._ended = 0
        """The last generation whose collectives `void` has ended."""
        self._before: set[Inode] = set()
        """Connections that were there before them."""
        self._seconds = 0.0
        """Their time-out."""
        self._connected: list[Any] = []
        """Those of NCCL that are."""
        self._sockets: set[Inode] | None = None
        """Those of these groups, once all are there."""
        self._held: list[socket.socket] = []
        """Copies of those that were cut. Gloo closes a connection that it can't read,
        and loses a send that fails before it has noticed: the collective at the other
        end would end at its time-out only. So these stay open until all have ended,
        as long as this process may open others."""
        self.union: Union | None = None
        self.control: Union | None = None

    def make(
        self,
        backend: str,
        address: Address,
        generation: int,
        place: tuple[int, int, int],
        seconds: float,
    ) -> None:
        """`place`: this process's number among all, how many stay, how many there are.

        Raises RuntimeError where another process fails meanwhile, or has failed. So
        does torch where it makes groups of Gloo later, for meshes say."""
        number, stays, size = place
        with self._lock:
            while self._held:
                self._held.pop().close()
            self._generation, self._seconds = generation, seconds
            self._before, self._sockets = set(_connections()), None
            self._connected = []
        torch_groups.create_gloo_by(self._wait_for)
        limit = datetime.timedelta(seconds=seconds)
        torch_groups.limit_groups(limit)
        client = self._wait_for(lambda: join_store(*address, limit))
        store = dist.PrefixStore(f"etc/{generation}", client)

        def unite(name: str, size: int) -> Union:
            those = dist.PrefixStore(name, store)
            return self._wait_for(lambda: Union(those, number, size, seconds))

        self.union = unite("all", size)
        self.control = None
        if number >= stays:
            return
        self.control = self.union if stays == size else unite("stay", stays)
        torch_groups.forget_meshes()
        torch_groups.forget_names()
        dist.init_process_group(
            backend,
            store=dist.PrefixStore("default", store),
            rank=number,
            world_size=stays,
            timeout=limit,
        )
        self.connect()

    def connect(self) -> None:
        """Groups of NCCL that are new. NCCL's wait for a peer has no end, so it is not
        the trainer's thread that waits."""
        for group in nccl.backends():
            if group not in self._connected:
                device, check = torch.cuda.current_device(), self._check_of()
                self._wait_for(functools.partial(nccl.connect, group, device, check))
                self._connected.append(group)

    def _wait_for(self, make: Callable[[], T]) -> T:
        """make(), in a thread that is left behind where a member of this generation has
        failed: nothing but its time-out ends the wait for a peer that never connects, or
        for the store of an agent that is gone."""
        made: list[T] = []
        failed: list[BaseException] = []

        def work() -> None:
            try:
                made.append(make())
            except BaseException as error:
                failed.append(error)

        self.check()
        thread = threading.Thread(target=work, daemon=True, name="etc-groups")
        thread.start()
        while thread.is_alive():
            thread.join(0.05)
            self.check()
        self.check()
        if failed:
            raise failed[0]
        return made[0]

    def made(self) -> None:
        """The groups are there. Connections that come later are left alone, be it the
        trainer's own, or those of groups that it makes in its loop. Those that `build`
        opened count as Gloo's: no process knows the ports of the others."""
        self.connect()
        with self._lock:
            self._sockets = set(_connections()) - self._before

    def check(self) -> None:
        """Raises RuntimeError if another member of this generation has failed."""
        self._check_of()()

    def _check_of(self) -> Callable[[], None]:
        """`check`, and that of this generation after another one has begun."""
        generation = self._generation

        def check() -> None:
            if generation and self._void >= generation:
                raise RuntimeError(f"a member of generation {generation} has failed")

        return check

    def settle(self) -> None:
        """Waits until the collectives of this step have ended. Raises RuntimeError if one
        was ended, or if another member has failed."""
        nccl.settle()
        self.check()

    def void(self, generation: int) -> None:
        """A member of `generation` failed: what hangs in its groups ends, in any thread,
        and no more are made of Gloo. Otherwise a collective behind a process that was
        stopped, or whose network failed, would end at the group's time-out.

        torch can abort NCCL's groups. Gloo's can't receive any more, on connections
        that were there when `made` was called, or now if it was not."""
        with self._lock:
            self._void = max(self._void, generation)
            ours = self._generation
            if not ours or generation < ours or self._ended == ours:
                return
        time.sleep(QUIET)
        self._end(ours)

    def end(self) -> None:
        """What this process still waits for ends, after an error of its own. Its groups
        stay, to be destroyed."""
        if self._generation:
            self._end(self._generation)

    def _end(self, generation: int) -> None:
        with self._lock:  # so that no others can be made, and ended with them
            if self._generation != generation or self._ended == generation:
                return
            self._cut()
            self._ended = generation
            groups = nccl.backends()  # torch's registry stays the trainer's thread's
        nccl.abort(groups, self._seconds)

    def _cut(self) -> None:
        if not self._generation:
            return
        held = {_inode(copy) for copy in self._held}
        for inode, descriptor in _connections().items():
            is_theirs = self._sockets is None or inode in self._sockets
            if is_theirs and inode not in self._before | held:
                self._hold(inode, descriptor)

    def _hold(self, inode: Inode, descriptor: int) -> None:
        """Unless its owner has closed it, and the number is another one's now."""
        with contextlib.suppress(OSError), contextlib.ExitStack() as unless_cut:
            copy = self._copied(descriptor)
            if copy is None:  # to end what hangs is worth more than to hold
                with _borrowed(descriptor) as theirs:
                    _shut(theirs, inode)
                return
            unless_cut.enter_context(copy)
            if _shut(copy, inode):
                self._held.append(copy)
                unless_cut.pop_all()

    def _copied(self, descriptor: int) -> socket.socket | None:
        """In the place of the oldest copy if this process may open no more; None where
        there is none."""
        while True:
            try:
                return _copied(descriptor)
            except OSError as error:
                if error.errno not in NO_MORE:
                    raise
                if not self._held:
                    return None
                self._held.pop(0).close()

    def destroy(self) -> None:
        """After the last collective has ended on all members, or after a failure: what
        this process still waits for ends. The others hear of a failure by `void`."""
        with self._lock:
            self._cut()
            self._generation = 0
        # From now on, `void` leaves these groups alone.
        self.union = self.control = None
        self._connected = []
        if not dist.is_initialized():
            return
        # Otherwise the end of NCCL's would wait for other members to end theirs.
        nccl.abort(nccl.backends(), self._seconds)
        with contextlib.suppress(Exception):
            dist.destroy_process_group()
        if dist.is_initialized():
            torch_groups.forget_groups()


def _connections() -> dict[Inode, int]:
    """The TCP connections of this process: descriptors by inode. Opens none if this
    process may not."""
    found = {}
    for number in _descriptors():
        try:
            if os.readlink(f"/proc/self/fd/{number}").startswith("socket:"):
                with _borrowed(number) as theirs:
                    if theirs.family in (socket.AF_INET, socket.AF_INET6):
                        theirs.getpeername()  # not of a socket that listens
                        found[_inode(theirs)] = number
        except OSError:
            continue
    return found


def _descriptors() -> Iterable[int]:
    """Or the numbers that they may have."""
    try:
        return map(int, os.listdir("/proc/self/fd"))
    except OSError as error:
        if error.errno not in NO_MORE:
            raise
        return range(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


@contextlib.contextmanager
def _borrowed(descriptor: int) -> Iterator[socket.socket]:
    """Without a copy: its owner may close it at any time."""
    theirs = socket.socket(fileno=descriptor)
    try:
        yield theirs
    finally:
        theirs.detach()


def _shut(connection: socket.socket, inode: Inode) -> bool:
    """Whether it is the one that was meant."""
    is_meant = _inode(connection) == inode
    if is_meant:
        connection.shutdown(socket.SHUT_RD)
    return is_meant


def _copied(descriptor: int) -> socket.socket:
    number = os.dup(descriptor)
    try:
        return socket.socket(fileno=number)
    except OSError:
        os.close(number)
        raise


def _inode(of: socket.socket) -> Inode:
    return os.fstat(of.fileno()).st_ino
