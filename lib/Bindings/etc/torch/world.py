"""Membership of a training process: who trains with it, and until when.

    with etc.torch.World() as world:
        while world.version < steps:
            if change := world.poll():          # at the start, and when members change
                model, optimizer = change.apply(build)
            with world.attempt():               # a peer that dies in here is survived
                loss = ...
                loss.backward()
                world.commit(optimizer.step)    # all ranks have their gradients

Under etcrun. See docs/etcrun.md.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from etc.errors import UsageError
from etc.torch.world_agent import AgentLink
from etc.torch.world_change import Change
from etc.torch.world_groups import Groups
from etc.torch.world_snapshot import Snapshot
from etc.torch_private import nccl


class Left(SystemExit):
    """This process has handed over its state, or nobody needs it: it ends with 0."""


@dataclass
class Held:
    """The state of this process."""

    objects: tuple[Any, ...]
    """What `build` returned."""
    layout: int
    """The generation whose meshes it has."""
    was: int
    """The rank of this process in that generation."""


class World:
    """The members of a job, as this process knows them.

    Args:
        device: the type of the meshes' device, "cpu" or "cuda".
        backend: of the default process group; by default "gloo", and for "cuda"
            "cpu:gloo,cuda:nccl".
        multiple_of: the number of members is a multiple of this; others wait as spares.
        timeout: of process groups, in seconds: the longest time that any collective may
            take.
        **options: of `etc.torch.move`, for every change. By default mode="safe": both
            states are in memory during a change, and a death in it loses nothing that
            another member holds. With mode="eager" such a death may lose state.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        backend: str | None = None,
        multiple_of: int = 1,
        timeout: float = 60.0,
        **options: Any,
    ) -> None:
        if multiple_of < 1:
            raise ValueError(f"multiple_of: expected 1 or more, got {multiple_of}")
        self.device = device
        self.version = 0
        """How many steps the state has seen."""
        self.generation = 0
        """The number of the last change."""
        self.rank = 0
        self.size = 0
        self.timeout = timeout
        self.options = {"mode": "safe", **options}
        self.backend = backend or ("cpu:gloo,cuda:nccl" if device == "cuda" else "gloo")
        if "nccl" in self.backend:
            nccl.outlive_peers()
        self._multiple = multiple_of
        self._held: Held | None = None
        self._groups = Groups()
        self._agreed = 0
        self._error: BaseException | None = None
        self._ready = False
        self._has_stepped = False
        self._updates: tuple[Callable[[], Any], ...] = ()
        self._snapshot: Snapshot | None = None
        self._is_torn = False
        """Whether a step has failed, and what it changed is neither completed nor undone."""
        self._apply: Callable[[Change], Any] | None = None
        self._link = AgentLink(self._voided)
        self._pid = os.getpid()
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._drain)

    # ---- The trainer's loop.

    def poll(self) -> Change | None:
        """A change, if one is due: at the start, after a failure, and where processes
        join or leave. Call it between steps and apply what it returns.

        Raises Left if this process is not needed, and Excluded if the others gave it
        up.
        """
        is_due = self._agreed >= self.generation or self._error is not None
        return Change(self, self._arrive()) if is_due else None

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Around a step. A RuntimeError in it, which is what torch raises where a peer
        is gone, ends the step; the next `poll` returns a change, after which the step
        is repeated. An error that returns without anybody's death is raised there."""
        try:
            yield
        except RuntimeError as error:
            if isinstance(error, UsageError):
                raise
            self._fail(error)

    def commit(self, *updates: Callable[[], Any]) -> None:
        """Ends a step: calls `updates`, such as optimizer.step and scheduler.step, when
        all members have their gradients, and counts the step.

        So no member is more than one step behind another, and who is behind has the
        gradients to catch up. `updates` must not communicate."""
        if self._groups.control is None:
            raise UsageError("commit: call poll and apply its change first")
        self._groups.settle()
        self._updates, self._ready = updates, True
        self._agreed = self._groups.control.largest(self._link.wanted)
        self._update()

    def close(self) -> None:
        """The job is done: every member calls it, after the same step."""
        while self._groups.control is not None:
            try:
                nccl.settle()
                self._groups.control.largest(0)
                break
            except RuntimeError as error:  # others may need what this process holds
                self._fail(error)
                change = self.poll()
                if change and self._apply:
                    self._apply(change)
        self._link.send({"t": "done"})
        self._groups.destroy()

    def __enter__(self) -> World:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.close()

    # ---- For Change.

    def _update(self) -> None:
        for update in self._updates:
            update()
        self.version += 1
        if not self._has_stepped:  # from now on, there is something to lose
            self._has_stepped = True
            self._link.send({"t": "stepped", "version": self.version})
        self._ready, self._updates = False, ()
        self._remember()

    def _remember(self) -> None:
        """The boundary of a step."""
        self._snapshot = Snapshot(self._held.objects if self._held else ())
        self._is_torn = False

    def _undo(self) -> None:
        """Leads back to that boundary, after a step that failed."""
        if self._is_torn and self._snapshot is not None:
            self._snapshot.restore()
        self._is_torn = False

    def _hold(self, held: Held | None) -> None:
        self._held = held

    def _fail(self, error: BaseException) -> None:
        self._error, self._is_torn = error, True
        self._groups.end()

    def _arrive(self) -> dict[str, Any]:
        """Waits for the next world."""
        error, self._error = self._error, None
        if error is None:
            with suppress(RuntimeError):  # of collectives after the step
                nccl.settle()
        else:
            self._groups.destroy()
        held = self._held
        self._link.send(
            {
                "t": "arrive",
                "generation": self.generation,
                "version": self.version,
                "layout": held.layout if held else -1,
                "was": held.was if held else 0,
                "ready": self._ready,
                "failed": error is not None,
                "multiple": self._multiple,
            }
        )
        message = self._link.wait()
        self._groups.destroy()
        if message is None:
            raise Left(0)
        world = message["world"]
        if error is not None and world["repeats"] > 1:
            if world["first_failed"] == message["you"]:
                raise error  # nobody died: it is this process's own
        self.generation = world["generation"]
        self._agreed = self.generation - 1
        return message

    def _entered(self) -> None:
        """The change is complete on this process."""
        held = self._held
        self._ready, self._updates = False, ()
        self._remember()
        self._link.send(
            {
                "t": "entered",
                "version": self.version,
                "layout": held.layout if held else -1,
                "was": held.was if held else 0,
            }
        )

    def _leave(self) -> None:
        self._link.send({"t": "done"})
        self._groups.destroy()
        raise Left(0)

    # ---- Elsewhere.

    def _voided(self, generation: int) -> None:
        """In the thread that reads: a member failed, and what waits for it has to end."""
        self._groups.void(generation)

    def _drain(self, number: int, frame: Any) -> None:
        """SIGTERM to this process alone. A child that it forked ends."""
        if os.getpid() != self._pid:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        self._link.send({"t": "drain"})
