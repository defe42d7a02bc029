"""Starting migrations of PyTorch tensors."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any

from etc.migration import Migration
from etc.plans import Plan, TensorSpec
from etc.progress import make_progress
from etc.rendezvous import Store, check_member, from_group

if TYPE_CHECKING:
    import torch

    from etc.state import State


def prepare(
    plan: Plan,
    state: State,
    *,
    group: Any = None,
    store: Store | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    host: str | None = None,
    timeout: float = 300.0,
    silence: float | None = 5.0,
    encrypt: bool = False,
    tail_rate: float | None = None,
    device: str | torch.device = "cpu",
    mode: str = "eager",
    free: str = "storage",
    tag: str = "etc",
    allocate: Callable[[str, str, TensorSpec], torch.Tensor] | None = None,
    on_release: Callable[[str, str, torch.Tensor], None] | None = None,
    progress: bool | Callable[[int, int, int], None] | None = None,
) -> Migration:
    """Prepares a migration: makes connections, allocates staging, compares plans.

    Collective over the participants of the plan. The trainer may continue training
    meanwhile, and until `Migration.run`, as long as it updates tensors in place.

    Args:
        plan: the same on all participants.
        state: {type: {name: tensor}}, this device's shards under global names, as
            `plan.prev_tensors(device)` lists them: contiguous, with that dtype, and
            with that shape or flat. {} on a device without previous state. The
            migration takes ownership of the tensors.
        group: a torch.distributed group whose rank r runs participant r; None means
            the default group. Only its store is used.
        store, rank, world_size: instead of a group, any torch.distributed store (or
            an object with `set` and `get`), this process's position in
            `plan.participants`, and the number of processes.
        host: the name or address at which others reach this host; by default
            ETC_HOST in the environment, or otherwise the host's own name.
        timeout: the longest wait for a peer, in seconds.
        silence: a participant that gives no sign of life for this many seconds is
            given up, also between `prepare` and `run`; None means never, for example
            for debugging. A thread of ETC's sends the signs, independently of Python.
        encrypt: whether state is encrypted on its way over TCP, the same on all
            participants; control connections always are.
        tail_rate: bytes a second that this process sends at most of deferred state,
            until `finish` is called; None means as fast as it can. What the lowest
            rate of any participant takes comes on top of `timeout`. In either case
            these messages are marked as bulk, so that a network or a queueing
            discipline that knows classes of traffic puts training's first.
        device: where new tensors are allocated: "cpu", or "cuda:0" with NCCL.
        mode: "eager" releases tensors as soon as they have arrived; "safe" keeps all
            of the previous state until all participants have all of the new state.
        free: "storage" frees a released tensor's memory at once, even if modules or
            optimizers still refer to it, which must not access it again; "references"
            only drops ETC's references and those in `state`.
        tag: must be new for every migration over a store without `add`, also after
            one that failed.
        allocate: called as allocate(type, name, spec), returns a new tensor; by default
            PyTorch's allocator is used.
        on_release: called as on_release(type, name, tensor) before a tensor is
            released.
        progress: True shows a bar if tqdm is installed; or a callable, called as
            progress(round, rounds, received_bytes). Exceptions of `progress` and
            `on_release` are kept in `Migration.observer_errors`.

    Raises:
        KeyError: a tensor is missing, or does not belong to the plan.
        TypeError: a dtype is wrong, or a value is not a tensor.
        ValueError: a shape, strides, a device or the size of the group is wrong.
        UsageError: participants have different plans, or something is missing.
        PeerError: another participant fails or does not arrive.
        Excluded: the others gave this process up.
    """
    from etc.tensors import device_of

    if mode not in ("eager", "safe"):
        raise ValueError(f'mode: expected "eager" or "safe", got {mode!r}')
    if free not in ("storage", "references"):
        raise ValueError(f'free: expected "storage" or "references", got {free!r}')
    if store is None:
        if rank is not None or world_size is not None:
            raise ValueError("rank and world_size go with store")
        store, rank = from_group(plan, group)
    else:
        rank = check_member(plan, rank, world_size)
    if tail_rate is not None and not (
        isinstance(tail_rate, Real) and 0 < tail_rate < 1e15
    ):
        raise ValueError(
            f"tail_rate: expected bytes a second, below 1e15, or None for no limit, got "
            f"{tail_rate!r}"
        )
    migration = Migration(
        plan,
        state,
        rank=rank,
        store=store,
        tag=tag,
        host=host,
        timeout=timeout,
        silence=silence,
        encrypt=encrypt,
        tail_rate=tail_rate,
        device=device_of(device),
        safe=mode == "safe",
        free=free,
        allocate=allocate,
        on_release=on_release,
        progress=make_progress(progress, plan, rank),
    )
    migration._prepare()
    return migration


def migrate(
    plan: Plan, state: State, **options: Any
) -> dict[str, dict[str, torch.Tensor]]:
    """`prepare`, `run` and `finish` in one: returns this device's new state.

    Takes the arguments of `prepare`. An exception of `run` has the migration as its
    attribute `migration`, with the outcome and what this process holds.
    """
    migration = prepare(plan, state, **options)
    try:
        migration.run()
        return migration.finish()
    except BaseException as error:
        error.migration = migration  # type: ignore[attr-defined]
        raise
