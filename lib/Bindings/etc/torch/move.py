"""A live job's tensors move from one layout to another."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from etc.errors import PeerError
from etc.migration import Migration
from etc.prepare import prepare
from etc.plans import Plan, TensorSpec
from etc.report import Report
from etc.request_fields import RequestFields
from etc.state import Tensors
from etc.tensors import DTYPES
from etc.torch import dtypes, proof, zero
from etc.torch import ranks as job
from etc.torch.agreement import agree
from etc.torch.carried import Carried
from etc.torch.entries import Entry
from etc.torch.layout import Layout, layout, read_again, read_entries, reader_of
from etc.torch.placements import local_of
from etc.torch.retired import retire

# What `plan` takes, of the keywords of `move`.
PLANNED = ("cluster", *RequestFields.__annotations__)

# What `prepare` takes of them; `prepare_move` gives the rest.
PREPARED = inspect.signature(prepare).parameters.keys() - {
    *("plan", "state", "group", "store", "rank", "world_size", "allocate")
}


def move(
    before: Any,
    after: Any,
    *,
    was: int | None = None,
    verify: bool = True,
    **options: Any,
) -> Report | None:
    """Moves a job's state into new tensors, on every rank. Collective over all ranks.

    The tensors of `before` are taken over: they are freed as soon as their receivers
    have them, and nothing may use them afterwards; gradients are dropped. Those of
    `after` are written in place, or made where they are on the meta device, round by
    round. An optimizer gets the states, the steps and the options of the one before.

    Args:
        before: a module, a DeepSpeed engine, or a tuple of a module, its optimizer or a
            list of its optimizers, and objects with state_dict() and load_state_dict()
            that have the same state on all ranks, such as the scheduler of the learning
            rate; a state dict {name: tensor}, a Layout of one, or None on a rank that
            joins.
        after: the same in the new layout; None on a rank that leaves.
        was: the rank of this process when the meshes of `before` were made, if
            init_process_group has been called again since.
        verify: compares each whole tensor after the change with what it was, and
            replicas with each other.
        **options: `cluster` and the fields of a request are for the plan, all others
            for `etc.prepare`.

    Returns:
        What this rank did; None where it had nothing to do.

    Raises:
        ValueError: on every rank, where one can't say what it holds, or ranks
            contradict each other.
        etc.UnsatisfiableError: a tensor has no place in the new layout, or no rank has
            it any more.
        etc.VerificationError: on every rank, a tensor is not what it was.
        etc.MigrationError: what `etc.migrate` raises; the attribute `migration` of the
            error says what this rank holds then.
    """
    return move_and_tell(before, after, None, was=was, verify=verify, **options)


def move_and_tell(
    before: Any,
    after: Any,
    moved: Callable[[], None] | None,
    *,
    was: int | None = None,
    verify: bool = True,
    **options: Any,
) -> Report | None:
    """`move`, which calls `moved` as soon as `after` has all of its state on this rank:
    what it raises later is of other ranks. It goes on after an error that leaves the
    state new. Where `after` refuses its state, it raises that at once, and the others
    wait until this process ends its groups, so that only they blame another one."""
    with uncollected():
        return _move(before, after, moved, was, verify, options)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without Python's garbage collector: one collection goes through all objects that
    PyTorch has loaded, which took a third of a change. Tensors need none to be freed."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _move(
    before: Any,
    after: Any,
    moved: Callable[[], None] | None,
    was: int | None,
    verify: bool,
    options: dict[str, Any],
) -> Report | None:
    check_options(options)
    given = {name: options.pop(name) for name in PLANNED if name in options}
    prev = layout_of(before, None, was)
    curr = layout_of(after, prev, None)
    planned, kept, expected = agree(prev, curr, given, verify)
    migration = None
    if job.rank() in planned.participants:
        migration = prepare_move(planned, prev, curr, options)
    drop_gradients(prev.source[0])
    with naming(migration), torch.no_grad():
        found = {} if migration is None else _migrate(migration, moved is not None)
        failure = _take_over(prev, curr, found, kept)
        if failure is None and moved is not None:
            moved()
        if expected is not None and (failure is None or moved is None):
            _compare(expected, curr, failure)
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # its traceback has this frame, which has all tensors
    return None if migration is None else migration.report


def _take_over(
    prev: Layout, curr: Layout, found: dict[tuple[str, str], Any], kept: Carried
) -> Exception | None:
    """Puts all that has come into this rank's new objects. What they raise is returned:
    the others wait to compare."""
    try:
        retire(prev.source[0])
        for key, entry in curr.entries.items():
            fill(entry, found.get(key))
        model, optimizer = curr.source
        if optimizer is not None:
            reader_of(optimizer).finish(model, optimizer, prev.optimizer)
        kept.put(device_of(curr.entries.values()))
    except Exception as error:
        return error
    return None


def _compare(expected: proof.Sums, curr: Layout, failure: Exception | None) -> None:
    """The new state with what it was; or tells the others of this rank's failure."""

    def entries() -> list[Entry]:
        if failure is None:
            return read_entries(*curr.source)[1]
        raise RuntimeError(
            f"{type(failure).__name__} while its new objects took over their states: "
            f"{failure}; the state of this job is not to be used, so go back to a "
            f"checkpoint"
        )

    try:
        proof.check(expected, entries)
    except Exception:
        if failure is None:
            raise


def check_options(options: dict[str, Any]) -> None:
    """Whether all are known. Ranks where they are wait in the first collective of
    `layout`, and hear of it there."""
    unknown = sorted(options.keys() - PREPARED - {*PLANNED})

    def refuse() -> None:
        raise ValueError(
            f"{unknown[0]}: is an option neither of etc.plan nor of etc.prepare; see "
            f"their keywords"
        )

    if unknown:
        job.on_every_rank(refuse)


@contextmanager
def naming(migration: Migration | None) -> Iterator[None]:
    """Errors have the migration, which says what this rank holds."""
    try:
        yield
    except BaseException as error:
        if migration is not None:
            error.migration = migration  # type: ignore[attr-defined]
        raise


def layout_of(side: Any, like: Layout | None, was: int | None) -> Layout:
    """As it is now. Collective."""
    if isinstance(side, Layout):
        return read_again(side, like, was)
    sources = side if isinstance(side, (tuple, list)) else (side,)
    return layout(*sources, like=like, was=was)


def drop_gradients(model: Any) -> None:
    """They are of the step that is done, and would stay while the model does."""
    if isinstance(model, torch.nn.Module):
        model.zero_grad(set_to_none=True)


def _migrate(migration: Migration, goes_on: bool) -> dict[tuple[str, str], Any]:
    """The new local tensors by type and name."""
    try:
        migration.run()
        return by_key(migration.finish())
    except PeerError:
        if not (goes_on and _is_new(migration)):
            raise
        return by_key(migration.state)


def by_key(new: Tensors) -> dict[tuple[str, str], Any]:
    return {(kind, name): t for kind in new for name, t in new[kind].items()}


def prepare_move(
    planned: Plan, prev: Layout, curr: Layout, options: dict[str, Any]
) -> Migration:
    """The migration of this rank's tensors into those of the new layout."""

    def allocate(kind: str, name: str, spec: TensorSpec) -> torch.Tensor:
        local = curr.entries[kind, name].local
        if local is not None:
            return local
        return torch.empty(spec.shape, dtype=DTYPES[spec.dtype], device=device)

    state: dict[str, dict[str, torch.Tensor]] = {}
    for (kind, name), entry in prev.entries.items():
        if entry.boxes:
            state.setdefault(kind, {})[name] = entry.local
    device = options.pop("device", None) or device_of(
        [*prev.entries.values(), *curr.entries.values()]
    )
    if isinstance(prev.source[1], zero.Partitions):
        options = {"free": "references", **options}  # all are views of one buffer
    return prepare(
        planned,
        state,
        store=job.store(),
        rank=planned.participants.index(job.rank()),
        world_size=len(planned.participants),
        device=device,
        allocate=allocate,
        **options,
    )


def _is_new(migration: Migration) -> bool:
    return migration.outcome == "new"


def device_of(entries: Iterable[Entry]) -> torch.device:
    """Where the tensors are, or their meshes where all are on the meta device."""
    kinds = []
    for entry in entries:
        if entry.local is not None:
            return entry.local.device
        if entry.mesh is not None:
            kinds.append(entry.mesh.device_type)
    kind = kinds[0] if kinds else "cpu"
    if kind == "cuda":
        return torch.device(kind, torch.cuda.current_device())
    return torch.device(kind)


def fill(entry: Entry, new: torch.Tensor | None) -> None:
    """Puts a new local tensor into its place; where it has none, it has no elements."""
    local = entry.local
    if local is None:
        if new is None:
            like = local_of(entry.like)
            new = like.new_empty(
                like.shape, dtype=dtypes.named(entry.dtype), device=device_of([entry])
            )
        entry.place(entry.wrap(new))
    elif new is not None and new.data_ptr() != local.data_ptr():
        local.copy_(new.view(-1))  # what stays where it was
