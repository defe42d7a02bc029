"""Recovery inside a job: survivors of a failure go on in the same processes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from etc import _run
from etc.attendance import AttendedStore, Attendance, enroll, withdraw
from etc.errors import PeerError, PlanError, UnsatisfiableError
from etc.interrupts import delayed_interrupts
from etc.job import Held, Job
from etc.job_store import JobStore
from etc.lifetime import ends_at_exit, guard, guard_wait
from etc.migration import Migration
from etc.planner import Layout, plan
from etc.plans import Plan
from etc.refill import forgets, previous
from etc.rendezvous import StoreAdapter
from etc.state import Tensors
from etc.torch_checkpoint import DistributedCheckpoint, is_distributed


@dataclass(frozen=True)
class Recovered:
    """What a recovery went on with."""

    plan: Plan
    state: Tensors
    """{type: {name: tensor}}: this device's new state; {} if it takes no role."""
    version: int
    """The trainer's step that the state is of."""
    devices: list[int]
    """Whose processes took part; others are excluded."""
    dropped_devices: int
    """Of these, how many held state of another step, which was not used."""
    restored_bytes: int
    """Of all devices, read from the checkpoint."""
    generation: int


@ends_at_exit
def recover(
    job: Job,
    curr: Layout | Sequence[Layout],
    *,
    devices: Iterable[int],
    request: Mapping[str, Any],
    patience: float = 10.0,
    timeout: float = 300.0,
    silence: float | None = 5.0,
    encrypt: bool = False,
    mode: str = "eager",
    restore_from: str | os.PathLike[str] | DistributedCheckpoint | None = None,
    restore_version: int = 0,
) -> Recovered:
    """Goes on after a failure, with the processes that are left, or with new ones.

    Collective over the processes that are left, which agree on who they are and on the
    newest step of which every element has a holder. What each holds moves to the first
    of the configurations that fits. If this fails too, because another process fails,
    call it again: what a process holds is never lost by that.

    A migration that is not over, prepared or with deferred state under way, stops where
    it is, on all processes, and counts like any migration that failed.

    A process that was stopped and comes back after the others agreed raises Excluded.
    It can join the next recovery with a new Job, which holds nothing.

    Args:
        job: what this process holds.
        curr: the configuration to go on with, or several: the first that fits.
        devices: whose processes may come. Those that are not there after `patience`
            seconds, and half of that after another one came, are given up, if the
            others hold enough to go on.
        request: the other fields of the request (`model`, `cluster`, ...), the same on
            all processes. Devices without a process count as failed.
        timeout: until when there has to be an agreement, and the longest wait for a
            peer in a round, in seconds.
        silence, encrypt, mode: as of `prepare`.
        restore_from: a directory that all processes can read, with the state of step
            `restore_version`: of safetensors, or of torch.distributed.checkpoint, of
            which a `DistributedCheckpoint` says how its keys are found. Only boxes that
            no process holds are read.

    On GPUs, it aborts PyTorch's groups of NCCL (`Job.abort_groups`), and gives memory
    that PyTorch caches back to the driver.

    Raises:
        UsageError: this process's GPU has failed, or is still at work after `timeout`
            seconds.
        PeerError: another process failed, or there is no agreement in time, because
            too few came or state is lost; the message says which.
        Excluded: the others went on without this process.
        UnsatisfiableError: none of the configurations fits; processes that hold nothing
            learn it from the others.
    """
    from etc.gpu import check_stuck, make_room, wait_for

    enroll(job.store, job.tag, job.device)
    adapter = StoreAdapter(job.store)
    directory, checkpoint = _open_checkpoint(restore_from)
    job._give_up("etc.recover was called")
    job._check_readable()
    job._let_go()
    if job.memory.type == "cuda":
        job.abort_groups(seconds=patience / 2)
    check_stuck(job.memory, patience / 2)
    held = job.holdings()
    asked = _Asked()
    handle = _run.Recovery(
        device=job.device,
        devices=sorted({*devices, job.device}),
        gpu=job.memory.index if job.memory.type == "cuda" else None,
        version=job.version or 0,
        generation=job.generation,
        patience=patience,
        timeout=timeout,
        tag=job.tag,
        restore_from=directory,
        restore_version=restore_version,
        set=guard(adapter.set),
        get=asked.before(guard_wait(adapter.get)),
        set_first=guard(adapter.set_first),
        check=checkpoint and asked.keep(guard(checkpoint._check)),
        read=checkpoint and guard(checkpoint._read),
    )
    for each in held:
        _hold(handle, each, job)
    try:
        handle.agree()
        job.generation = handle.generation()
        next_plan, figures = _agree_on_plan(
            handle, request, curr, patience, job.device
        )
    except BaseException as error:  # Ctrl-C, too
        if handle.generation():  # all are about to prepare
            job.generation = handle.generation()
            _refuse(handle, job.device, error)
        else:
            _leave(job, adapter, error)
        raise
    base = held[handle.base()] if handle.base() >= 0 else None
    version = figures["version"]
    if job.device not in next_plan.participants:
        job._forget(version)
        return _result(handle, job, next_plan, {}, figures)
    with delayed_interrupts():
        try:
            wait_for(job.memory, timeout)
            make_room(job.memory)
            state = previous(handle, base, next_plan, job)
        except Exception as error:
            _refuse(handle, job.device, error)
            raise
        tag = f"{job.tag}/recovery/{job.generation}"
        store, meeting = _meeting(job, next_plan, tag, patience, timeout)
        migration = Migration(
            next_plan,
            state,
            rank=next_plan.rank_of(job.device),
            store=store,
            tag=tag,
            host=job.host,
            timeout=timeout,
            silence=silence,
            encrypt=encrypt,
            tail_rate=None,
            device=job.memory,
            safe=mode == "safe",
            free="storage",
            allocate=None,
            on_release=None,
            progress=forgets(base),
            change=(job.generation, meeting),
        )
        migration._prepare()
        if isinstance(store, AttendedStore):
            store.is_over = True
        # From here on others may have begun.
        job._begin(base, migration, version)
        migration.run()
        state = migration.finish()  # what the request defers, too
    return _result(handle, job, next_plan, state, figures)


def _meeting(
    job: Job, next_plan: Plan, tag: str, patience: float, timeout: float
) -> tuple[Any, float]:
    """Where those who agreed meet again, when each has put its state together, and how
    long they wait: a job's own store tells who has died meanwhile."""
    if not isinstance(job.store, JobStore):
        return job.store, patience
    attendance = Attendance(job.store, job.tag, next_plan, job.device)
    adapter = StoreAdapter(job.store)
    return AttendedStore(adapter, attendance, tag, job.generation), timeout


class _Asked:
    """What the user's functions raise when a checkpoint is asked. For the agreement a
    box is then not there, and may come; so the next look at the store raises it."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def keep(self, check: Callable[..., Any]) -> Callable[..., Any]:
        def kept(*arguments: Any) -> Any:
            try:
                return check(*arguments)
            except BaseException as error:
                self.error = error
                raise

        return kept

    def before(self, get: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*arguments: Any) -> Any:
            if self.error is not None:
                raise self.error
            return get(*arguments)

        return checked


def _refuse(handle: _run.Recovery, device: int, error: BaseException) -> None:
    """Those who are about to prepare the migration wait for this process, and look for
    this where they meet."""
    with suppress(Exception):  # of the store: the first error counts
        handle.put("refused", _refusal(handle.generation(), device, error))


def _refusal(generation: int, device: int, error: BaseException) -> bytes:
    line = " ".join(f"device {device}: {type(error).__name__}: {error}".split())
    return f"{generation} -1 {line}".encode()


def _leave(job: Job, adapter: StoreAdapter, error: BaseException) -> None:
    """This process has learnt of no agreement, and takes no further part. Who prepares
    need not be told to recover, too; and if the others have agreed meanwhile, those
    wait for this process."""
    with suppress(Exception):  # of the store: the first error counts
        withdraw(adapter, job.tag, job.device, job.generation)
        at = f"{job.tag}/recovery/{job.generation + 1}"
        members = adapter.get(f"{at}/members", 0.001) or b""
        if any(line.split()[0] == b"%d" % job.device for line in members.splitlines()):
            job.generation += 1
            adapter.set(f"{at}/refused", _refusal(job.generation, job.device, error))


def _open_checkpoint(
    restore_from: str | os.PathLike[str] | DistributedCheckpoint | None,
) -> tuple[str | None, DistributedCheckpoint | None]:
    """(the directory of safetensors, or a checkpoint of PyTorch's)."""
    if restore_from is None or isinstance(restore_from, DistributedCheckpoint):
        return None, restore_from
    if is_distributed(restore_from):
        return None, DistributedCheckpoint(restore_from)
    return os.fspath(restore_from), None


def _hold(handle: _run.Recovery, held: Held, job: Job) -> None:
    if isinstance(held, Migration):
        handle.hold_migration(held._handle)
        return
    tensors = held.tensors(job.device, job.memory)
    handle.hold_plan(held.plan._handle, held.side)
    for (kind, name), tensor in tensors.items():
        handle.add(kind, name, tensor.data_ptr())


def _agree_on_plan(
    handle: _run.Recovery,
    request: Mapping[str, Any],
    curr: Layout | Sequence[Layout],
    patience: float,
    device: int,
) -> tuple[Plan, dict[str, int]]:
    """Every process plans for itself, except those that do not know what the others
    hold: these get the plan from all that do, who leave the same; or why there is
    none."""
    if handle.base() < 0:
        head, _, data = handle.get("plan", 2 * patience).partition(b"\n")
        figures = json.loads(head)
        _raise_as_told(figures)
        return Plan.from_bytes(data), figures
    figures = handle.state()
    try:
        next_plan = _plan(handle, request, curr)
    except BaseException as error:
        _tell(handle, device, error)
        raise
    handle.put("plan", json.dumps(figures).encode() + b"\n" + next_plan.to_bytes())
    return next_plan, figures


def _tell(handle: _run.Recovery, device: int, error: BaseException) -> None:
    """Those who wait for a plan learn why there is none of this process."""
    cause = {"error": type(error).__name__, "message": str(error), "device": device}
    with suppress(Exception):  # of the store: the first error counts
        handle.put("plan", json.dumps(cause).encode())


def _raise_as_told(figures: dict[str, Any]) -> None:
    if "error" not in figures:
        return
    kind, message = figures["error"], figures["message"]
    if kind == "UnsatisfiableError":
        raise UnsatisfiableError(message)
    raise PeerError(f"device {figures['device']}: {kind}: {message}")


def _plan(
    handle: _run.Recovery,
    request: Mapping[str, Any],
    curr: Layout | Sequence[Layout],
) -> Plan:
    """The first configuration that fits the devices that are left."""
    layouts = [curr] if isinstance(curr, (str, Mapping, Plan)) else list(curr)
    if not layouts:
        raise ValueError("curr: expected one configuration or more, got none")
    prev = {"inventory": json.loads(handle.inventory())}
    members = set(handle.devices())
    failed = [d for d in range(_device_count(request)) if d not in members]
    reasons = []
    for layout in layouts:
        try:
            return plan(request, prev=prev, curr=layout, failed=failed or None)
        except UnsatisfiableError as error:
            reasons.append(f"{layout}: {error}")
    raise UnsatisfiableError("; ".join(reasons))


def _device_count(request: Mapping[str, Any]) -> int:
    from etc.planner import _read_cluster

    if "cluster" not in request:
        raise PlanError("request: has no cluster")
    cluster = _read_cluster(request["cluster"])
    nodes = cluster["nodes"]
    return (
        sum(nodes) if isinstance(nodes, list) else nodes * cluster["devices_per_node"]
    )


def _result(
    handle: _run.Recovery,
    job: Job,
    next_plan: Plan,
    state: Tensors,
    figures: dict[str, int],
) -> Recovered:
    return Recovered(
        plan=next_plan,
        state=state,
        version=figures["version"],
        devices=handle.devices(),
        dropped_devices=figures["dropped_devices"],
        restored_bytes=figures["restored_bytes"],
        generation=job.generation,
    )
