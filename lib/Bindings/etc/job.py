"""What a process holds of its job's state, at any time."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from etc.attendance import Attendance, AttendedStore, enroll
from etc.errors import UsageError
from etc.inventory import Inventory, empty
from etc.meeting import Attendee, Meeting, different_steps
from etc.migration import Migration
from etc.plans import CURR, PREV, Plan
from etc.prepare import prepare
from etc.rendezvous import Store, StoreAdapter
from etc.state import Tensors

if TYPE_CHECKING:
    import torch

    from etc.state import State


@dataclass
class Whole:
    """All of one side of a plan."""

    plan: Plan
    side: int
    state: State

    def tensors(
        self, device: int, where: torch.device
    ) -> dict[tuple[str, str], torch.Tensor]:
        """By (type, name): what the plan says that the device holds, after a check.

        Raises KeyError, TypeError or ValueError, with the name of a tensor."""
        from etc.checks import check_tensor

        specs = self.plan._specs(self.side, device)
        found = {(k, n): t for k, group in self.state.items() for n, t in group.items()}
        for kind, name in sorted(specs.keys() ^ found.keys()):
            what = "missing" if (kind, name) in specs else "not in the plan"
            raise KeyError(f"state: {name} ({kind}) is {what}")
        for key, tensor in found.items():
            label = f"{key[1]} ({key[0]})"
            check_tensor(label, tensor, specs[key], where)
        return found


Held = Union[Whole, Migration]


def _whole(plan: Plan, side: int, state: State) -> Whole | None:
    """None for a device without a role: it may be left out of all later plans."""
    return Whole(plan, side, state) if any(state.values()) else None


class Job:
    """One process's part of a job that survives failures: `etc.recover` uses it.

        job = etc.Job(store, device, plan=plan, state=state)
        with job.step():
            optimizer.step()
        migration = job.prepare(next_plan)
        migration.run()          # job.state is the new state
        etc.recover(job, ...)    # after an exception of any of these

    A process that joins a running job has no plan and no state: `etc.Job(store,
    device)`. Migrations and recoveries tell it the step of what it receives.

    Args:
        store: a torch.distributed store with `compare_set`. It has to outlive
            processes that fail.
        device: this process's device.
        plan, state: the plan that led to the state that this process holds, and that
            state: {type: {name: tensor}}, as `plan.curr_tensors(device)` lists it;
            with side="prev", as `plan.prev_tensors(device)`. Before any migration that
            is a plan of a configuration to itself.
        memory: where all tensors of this process are, now and later: "cpu", or a GPU
            (a torch device), whose state moves over NCCL; the same kind in all
            processes of the job.
        version: the trainer's step that the state is of.
        tag: the same in all processes of the job, and in no other job of the store.
        host: the name or address at which others reach this host.
    """

    def __init__(
        self,
        store: Store,
        device: int,
        *,
        plan: Plan | None = None,
        state: State | None = None,
        side: str = "curr",
        memory: str | torch.device = "cpu",
        version: int = 0,
        tag: str = "etc",
        host: str | None = None,
    ) -> None:
        if (plan is None) != (state is None):
            raise ValueError("plan and state go together")
        if side not in ("prev", "curr"):
            raise ValueError(f'side: expected "prev" or "curr", got {side!r}')
        if not callable(getattr(store, "compare_set", None)):
            raise TypeError(
                "store: expected a store with compare_set, such as "
                "torch.distributed's FileStore, TCPStore and HashStore"
            )
        from etc.tensors import device_of

        self.store = store
        self.device = device
        self.memory = device_of(memory)
        self.tag = tag
        self.host = host
        self.generation = 0
        """The number of the last recovery that this process was part of."""
        self._version: int | None = version
        self._base: Held | None = None
        self._migration: Migration | None = None
        self._incoming: int | None = None  # the migration's step, where it has its own
        self._is_aborted = False
        self._told: str | None = None
        """The key of the step at which others run the migration that this process
        receives state in."""
        self._check_kind()
        if plan is not None and state is not None:
            self._base = _whole(plan, CURR if side == "curr" else PREV, state)
            if self._base is not None:
                self._base.tensors(device, self.memory)
                enroll(store, tag, device)

    def _check_kind(self) -> None:
        """One process with other memory would make all of a change fail."""
        kind = self.memory.type
        first = StoreAdapter(self.store).set_first(f"{self.tag}/memory", kind.encode())
        if first.decode() != kind:
            raise ValueError(
                f"memory: is {kind} here, and {first.decode()} in the job's first process"
            )

    @property
    def version(self) -> int | None:
        """The step that the state is of; None if `step` has begun and not ended, so
        that tensors may be of different steps."""
        self._settle()
        if self._incoming is not None and self._has_begun():
            return self._incoming
        return self._version

    @contextmanager
    def step(self) -> Iterator[None]:
        """Around everything that changes the state: the version is one higher after
        it. If it raises, the state is of no step, and a recovery does not use it.

        Raises UsageError if the step before did not end, or if a migration has begun
        and is not complete: `finish` of one that defers state comes first.

        On a GPU, waits at both ends until the GPU has done its work. Raises RuntimeError
        if a collective of NCCL has failed, since its result is then what was in memory:
        at the beginning the state is still of the step before."""
        self._settled()
        if self._version is None:
            raise UsageError("the step before did not end; call etc.recover first")
        self._settle_gpu()
        version, self._version = self._version, None
        yield
        self._settle_gpu()
        self._version = version + 1

    @property
    def plan(self) -> Plan | None:
        """The plan that led to `state`; None while this process holds nothing, or
        what a failed migration left."""
        self._settle()
        return self._base.plan if isinstance(self._base, Whole) else None

    @property
    def state(self) -> Tensors:
        """{type: {name: tensor}}: what this process holds. Raises UsageError where a
        tensor of it may be freed at any time, as `Migration.state` does."""
        held = self._held()
        return {k: dict(v) for k, v in held[0].state.items()} if held else {}

    def inventory(self) -> Inventory:
        """Which boxes of which tensors this process holds, of the step `version`, in
        the format of `etc-run inventory` (docs/inventory-format.md): a request's
        `prev`, alone or in a list with those of other processes.

        Raises UsageError where `Migration.inventory` does, and if `step` has begun and
        not ended."""
        if self.version is None:
            raise UsageError("inventory: the step before did not end")
        migration = self._migration
        held: Held | None = self._base
        if migration is not None and self._has_begun():
            held = migration
        if held is None:
            return empty(self.device)
        if isinstance(held, Migration):
            return held.inventory()
        rank = held.plan.rank_of(self.device)
        return json.loads(held.plan._handle.inventory(held.side, rank))

    def prepare(
        self, plan: Plan, *, timeout: float = 300.0, **options: Any
    ) -> Migration:
        """`etc.prepare` from the state that this process holds. When the migration
        has run, `state` is its result; after an error, what it left. One that was
        prepared before and has not run is closed.

        Waits until all participants are there. Those that hold state have to hold it of
        one step, at `prepare` and at `run`; `version` of the others becomes the same.

        Raises what `etc.prepare` does; PeerError, too, about 2 s, and a quarter of a
        second for each participant, after one has called `etc.recover`, and within 10 s
        after one has left the store, if that is an `etc.JobStore`; and UsageError if
        participants hold state of different steps. After any of them it may be called
        again."""
        from etc.tensors import device_of

        where = options.pop("device", self.memory)
        if device_of(where) != self.memory:
            raise ValueError(f"device: is {where}, the job's memory is {self.memory}")
        base = self._settled()
        self._give_up("another one is prepared")
        self._migration = self._incoming = self._told = None
        rank = plan.rank_of(self.device)
        enroll(self.store, self.tag, self.device)
        adapter = StoreAdapter(self.store)
        attendance = Attendance(self.store, self.tag, plan, self.device)
        met = Meeting(
            adapter, attendance, tag=self.tag, plan=plan, timeout=timeout
        ).hold(Attendee(self.device, base is not None, self._version), self.generation)
        self.generation = met.generation
        store = AttendedStore(adapter, attendance, met.tag)
        migration = prepare(
            plan,
            base.state if base is not None else {},
            store=store,
            rank=rank,
            world_size=len(plan.participants),
            tag=met.tag,
            host=self.host,
            timeout=timeout,
            device=self.memory,
            **options,
        )
        store.is_over = True
        step = f"{met.tag}/step"
        if base is None:
            self._version, self._told = met.version, step
        else:
            migration._before_run = _BeforeRun(self, step)
        self._migration = migration
        return migration

    def abort_groups(self, seconds: float = 10.0) -> None:
        """Ends, within so many seconds, what all of PyTorch's groups of NCCL do in this
        process: a collective that waits for a process that has died does not end by
        itself. Any thread may call it; `etc.recover` does. What the GPU computes from
        such a collective is of no step: a `step` that is under way raises. The groups
        have to be made anew."""
        from etc.gpu import abort_groups

        self._is_aborted = True
        abort_groups(seconds)

    def _settle_gpu(self) -> None:
        """Before what the GPU does counts as a step."""
        from etc.gpu import settle

        settle(self.memory)
        if self._is_aborted:
            raise UsageError("collectives were aborted; call etc.recover")

    def _check_readable(self) -> None:
        """Raises UsageError if what this process holds on a GPU is lost to it."""
        held = (self._migration, self._base)
        if any(isinstance(h, Migration) and h.outcome == "unreadable" for h in held):
            raise UsageError(
                f"device {self.device}: operations on its GPU did not complete, so "
                f"nothing that it holds can be read: end this process, and let a new one "
                f"join"
            )

    def _let_go(self) -> None:
        """A recovery from another step that ended before its first round took nothing
        from here: what it had made goes before more is made."""
        if self._incoming not in (None, self._version) and not self._has_begun():
            self._migration = self._incoming = None

    def holdings(self) -> list[Held]:
        """What says what this process holds: the end of the last change, and the
        beginning of the next one; both as long as no round has begun."""
        return [] if self.version is None else self._held()

    def _held(self) -> list[Held]:
        self._settle()
        migration = self._migration
        if migration is not None and self._has_begun():
            return [] if migration.outcome == "unreadable" else [migration]
        if self._base is None:
            return []
        # A recovery from another step took nothing from here.
        if migration is None or self._incoming not in (None, self._version):
            return [self._base]
        return [self._base, migration]

    def _give_up(self, cause: str) -> None:
        """A migration that is not over goes no further: the others, which may wait for
        this process, learn the cause. Nor may it run later, from tensors that
        something else has moved. Raises UsageError while another thread runs it."""
        if self._migration is not None:
            self._migration._end(cause)

    def _has_begun(self) -> bool:
        migration = self._migration
        return migration is not None and (
            migration._is_apart or migration.outcome != "not begun"
        )

    def _settled(self) -> Whole | None:
        self._settle()
        if self._has_begun():
            raise UsageError(
                "the last migration is not complete: finish it, or, if it has failed, "
                "call etc.recover"
            )
        if isinstance(self._base, Migration):
            raise UsageError("the last recovery has failed; call etc.recover again")
        return self._base

    def _tell_step(self, key: str) -> None:
        """Before a migration runs: training may have gone on since `prepare`."""
        version = self.version
        first = StoreAdapter(self.store).set_first(key, str(version).encode()).decode()
        if first == "None" or version is None:
            raise UsageError("the step before did not end; call etc.recover")
        if first != str(version):
            raise different_steps(f"this one of step {version}", f"one of step {first}")

    def _hear_step(self) -> None:
        """Of what a process that held nothing receives: the others have told it before
        they sent anything. If it can't be read in the end, it is of no known step."""
        if self._told is None or not self._has_begun():
            return
        is_over = self._migration is not None and self._migration.outcome == "new"
        told = StoreAdapter(self.store).get(self._told, 10.0 if is_over else 0.001)
        if told is not None or is_over:
            self._version = int(told) if told not in (None, b"None") else None
            self._told = None

    def _settle(self) -> None:
        """A migration that is complete is the base of what follows."""
        self._hear_step()
        migration = self._migration
        if migration is not None and migration.outcome == "new":
            self._base = _whole(migration.plan, CURR, migration.state)
            self._migration = None
            if self._incoming is not None:
                self._version, self._incoming = self._incoming, None

    def _begin(self, base: Held | None, migration: Migration, version: int) -> None:
        """A recovery of step `version` is prepared; `base` is what this process held,
        which counts until the first round."""
        self._version = self.version
        self._base, self._migration, self._incoming = base, migration, version
        self._told = None
        self._is_aborted = False

    def _forget(self, version: int) -> None:
        """The others went on from a state that this process has no part in."""
        self._base = self._migration = self._incoming = self._told = None
        self._version = version
        self._is_aborted = False


class _BeforeRun:
    """Called by a migration that must not keep its job, which keeps it."""

    def __init__(self, job: Job, key: str) -> None:
        self._job = weakref.ref(job)
        self._key = key

    def __call__(self) -> None:
        job = self._job()
        if job is not None:
            job._tell_step(self._key)
