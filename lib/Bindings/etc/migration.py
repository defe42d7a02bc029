"""One participant's migration: what it holds, and how it runs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from etc import _run
from etc.errors import UsageError
from etc.holdings import Holdings
from etc.interrupts import delayed_interrupts
from etc.lifetime import close_at_exit, close_handle, warn_of_drop
from etc.memory import Allocate, Memory
from etc.observers import Observers
from etc.plans import CURR, Plan
from etc.progress import Progress
from etc.rendezvous import Store, StoreAdapter, attempt
from etc.state import Tensors

if TYPE_CHECKING:
    import torch

    from etc.state import State


class Migration(Holdings):
    """One participant's part of a migration; created by `prepare`. May be used by one
    thread at a time, except for `abort`.

    In a `with` statement it is closed at the end of the block. One that is dropped
    before it is over is aborted, with a ResourceWarning, or, while deferred state is
    under way, a RuntimeWarning."""

    def __init__(
        self,
        plan: Plan,
        state: State,
        *,
        rank: int,
        store: Store,
        tag: str,
        host: str | None,
        timeout: float,
        silence: float | None,
        encrypt: bool,
        tail_rate: float | None,
        device: torch.device,
        change: tuple[int, float] | None = None,
        safe: bool,
        free: str,
        allocate: Allocate | None,
        on_release: Callable[[str, str, torch.Tensor], None] | None,
        progress: Progress | None,
    ) -> None:
        from etc.checks import check_state
        from etc.tensors import register

        self.plan = plan
        self.rank = rank
        self.device = plan.participants[rank]
        self._torch_device = device
        self._timeout = timeout
        self._observers = Observers(progress, on_release)
        if change is None:
            # Counted first, so that all participants agree on the next attempt's tag
            # even if this one's tensors are rejected.
            tag, generation = attempt(store, tag, len(plan.participants))
            meeting = timeout
        else:  # its number is agreed upon, and all are about to come
            generation, meeting = change
        self._specs = plan._specs(CURR, self.device)
        self._positions = {key: i for i, key in enumerate(self._specs)}
        self._memory = Memory(
            self._specs,
            state,
            self._observers,
            device=device,
            allocate=allocate,
            free_storage=free == "storage",
        )
        self._use = threading.Lock()
        self._may_free = free == "storage" and not safe
        self._is_open = False  # prepared, and not over
        self._is_aborted = False  # while it was, and not closed since
        self._is_apart = False  # a thread of ETC's moves state, until finish is over
        self._has_run = False
        self._before_run: Callable[[], None] | None = None
        adapter = StoreAdapter(store)
        self._handle = _run.Migration(
            plan._handle,
            participant=rank,
            safe=safe,
            gpu=device.index if device.type == "cuda" else None,
            encrypt=encrypt,
            timeout=timeout,
            meeting=meeting,
            host=host or os.environ.get("ETC_HOST", ""),
            tag=tag,
            generation=generation,
            tail_rate=tail_rate or 0.0,
            silence=-1.0 if silence is None else silence,
            set=adapter.set,
            get=adapter.get,
            allocate=self._memory.allocate,
            release=self._memory.release,
            progress=self._observers.update if progress else None,
        )
        try:
            old = self._memory.old = check_state(plan, self.device, state, device)
            self._addresses = {key: t.data_ptr() for key, t in old.items()}
            register(self._handle, old)
        except Exception as error:
            self._refuse(error)
            raise
        close_at_exit(self)

    def __enter__(self) -> Migration:
        return self

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        self._end("closed" if error is None else f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Ends the migration, with an error at the other participants if it is not
        over; `outcome`, `state` and `report` can still be asked for."""
        self._end("closed")

    def _end(self, cause: str) -> None:
        if not self._is_open and not self._is_apart and not self._is_aborted:
            return
        self._handle.abort(f"the migration was not finished: {cause}")
        with self._alone("close"):
            self._is_open = self._is_aborted = False
            with suppress(Exception):  # that it was aborted
                if self._is_apart:
                    self._complete(self._handle.finish)
                else:
                    self._handle.check()  # which gives up connections and staging

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is None:
            return  # prepare has failed
        if self._is_open:
            handle.abort("the migration was dropped before it was over")
        close_handle(handle)  # before the memory that it uses is gone
        if self._is_open:
            warn_of_drop(self, self.plan, self._is_apart)

    def _close(self) -> None:
        """Ends its use by another thread, and closes the connections."""
        handle = getattr(self, "_handle", None)
        if handle is None:
            return  # prepare has failed
        self._is_open = False
        handle.abort("the process exits before the migration is over")
        if self._use.acquire(timeout=10):
            handle.close()  # unless `prepare` has, by another thread, as it failed
            self._use.release()

    @contextmanager
    def _alone(self, what: str) -> Iterator[None]:
        if not self._use.acquire(blocking=False):
            raise UsageError(
                f"cannot {what}: the migration is in use, by this or another thread"
            )
        try:
            yield
        finally:
            self._use.release()

    def run(self) -> Tensors:
        """Moves the state. Collective; the trainer must not run meanwhile.

        Returns {type: {name: tensor}}: tensors that stayed are the same objects, and
        new ones have the shapes of `plan.curr_tensors(device)`. Tensors that were
        handed over and do not stay are removed from `state`, and their memory is
        freed.

        Raises PeerError if another participant fails or times out, Excluded if the
        others went on without this process, RuntimeError if a tensor was freed or
        replaced since `prepare`, UsageError if it is running or has run already, and
        any exception of `allocate`. After any of them `outcome` and `state` describe
        what this process holds: in safe mode the previous state is complete; in eager
        mode (the default) `state` has what was not released yet.

        Exceptions of `progress` and `on_release` do not end the migration: they are
        kept in `observer_errors`, with a RuntimeWarning at the end. KeyboardInterrupt
        is raised after the migration is over, when `state` is the new state.

        If the plan defers state (`plan.summary.deferred_rounds`), returns
        what is not deferred, when all participants have it. The first forward and
        backward pass may begin, while a thread of ETC's moves the rest, and calls
        `allocate`, `on_release` and `progress`. Until `finish` the trainer may read the
        parameters, and in safe mode previous tensors, but write to none; in eager mode
        the thread frees them. KeyboardInterrupt is raised once parameters are there.
        """
        with delayed_interrupts(), self._alone("run"):
            return self._run()

    def start(self) -> None:
        """Instead of `run`, for tensors in host memory: returns at once, while a
        thread of ETC's moves everything. Others may call `run`. In eager mode previous
        tensors must not be used any more.

        Raises what `run` raises before it begins; `wait` and `finish` raise the rest.
        """
        with self._alone("start"):
            self._start()

    def wait(
        self, names: Iterable[str], type: str = "param"
    ) -> dict[str, torch.Tensor]:
        """Waits until these current tensors have arrived, and returns them by name.

        After `start` or `run`, for use layer by layer. Until `finish` they may be read
        only. Raises what `finish` does, and KeyError for what this device does not get.
        """
        if isinstance(names, str):
            raise TypeError(f"names: expected several, got {names!r}; pass [{names!r}]")
        with delayed_interrupts(), self._alone("wait"):
            return {name: self._await(type, name) for name in names}

    def finish(self) -> Tensors:
        """Waits for deferred state, commits, and returns the whole current state.

        Collective, at most `timeout` seconds apart: before `optimizer.step()`, before a
        checkpoint and before the next change. Raises what `run` does, and what the
        deferred part raised. A plan that defers nothing has finished with `run`.
        """
        with delayed_interrupts(), self._alone("finish"):
            return self._finish()

    @property
    def observer_errors(self) -> tuple[Exception, ...]:
        """The exceptions of `progress` and `on_release`, in order."""
        return tuple(self._observers.errors)

    def _begin(self, what: str) -> None:
        from etc.checks import check_unmoved
        from etc.gpu import wait_for

        if self._has_run:
            rest = "; call finish()"
            if not self._is_apart:
                rest = (
                    f", and its outcome is {self.outcome!r}; migration.state has what "
                    f"this process holds"
                )
            raise UsageError(f"cannot {what}: the migration has run{rest}")
        self._has_run = True
        try:
            check_unmoved(self._memory.old, self._addresses, self._memory.state)
            if self._before_run is not None:
                self._before_run()
            wait_for(self._torch_device, self._timeout, self._handle.check)
        except RuntimeError as error:
            self._is_open = False
            self._handle.abort(str(error))  # others need not wait for us
            with suppress(Exception):  # that it was aborted
                self._handle.check()  # which gives up connections and staging
            raise

    def _run(self) -> Tensors:
        self._begin("run")
        if not self.plan._deferred_rounds:
            return self._complete(self._handle.run)
        self._is_apart = True
        try:
            self._handle.run()
        except Exception:  # all others may come from an observer, and end nothing
            self._is_apart = self._is_open = False
            self._observers.close()
            raise
        return self._current(lambda spec: not spec.deferred)

    def _start(self) -> None:
        if self._torch_device.type == "cuda":
            raise UsageError(
                "cannot start: over NCCL parameters move in a pause, because a kernel "
                "that waits for a peer may be queued behind one of training; call run"
            )
        self._begin("start")
        self._is_apart = True
        self._handle.start()

    def _await(self, kind: str, name: str) -> torch.Tensor:
        if (kind, name) not in self._positions:
            raise KeyError(f"{name} ({kind}): this device has no such current tensor")
        self._check_begun("wait")
        position = self._positions[kind, name]
        try:
            self._handle.wait(position)
        except Exception:  # of `allocate`, too: the thread has ended
            self._is_apart = self._is_open = False
            raise
        return self._current_tensor(position, (kind, name))

    def _check_begun(self, what: str) -> None:
        if not self._has_run:
            raise UsageError(f"cannot {what}: the migration has not run; call run()")

    def _finish(self) -> Tensors:
        self._check_begun("finish")
        if self.outcome == "new":
            return self.state
        return self._complete(self._handle.finish)

    def _complete(self, call: Callable[[], None]) -> Tensors:
        try:
            call()
        finally:
            self._is_apart = self._is_open = False
            self._observers.close()
        result = self.state
        self._observers.warn()
        return result

    def abort(self) -> None:
        """Makes `prepare`, `run`, `wait` and `finish` fail, here and at the peers.

        May be called by any thread. `close`, or what the job does next, gives up
        connections and staging.
        """
        self._is_aborted = self._is_open
        self._is_open = False
        self._handle.abort("the migration was aborted")

    def _prepare(self) -> None:
        from etc.gpu import note_stuck

        is_main = threading.current_thread() is threading.main_thread()
        with self._alone("prepare"):
            try:
                self._handle.prepare(is_main)
            except BaseException as error:  # Ctrl-C, too
                if self.outcome == "unreadable":
                    note_stuck(self._torch_device)
                if isinstance(error, Exception):
                    self._refuse(error)
                raise
            self._is_open = True

    def _refuse(self, error: Exception) -> None:
        """Tells the others, which may wait in `prepare`."""
        kind = KeyError if isinstance(error, KeyError) else type(error)
        try:
            self._handle.refuse(f"{kind.__name__}: {error}")
        except UsageError:
            pass  # prepare has told them
        self._handle.close()
        del self._handle
