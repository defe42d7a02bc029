"""A live job's parameters move, and the states of its optimizer follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from etc.migration import Migration
from etc.report import Report
from etc.state import Tensors
from etc.torch import carried, optimizers, proof
from etc.torch import ranks as job
from etc.torch.entries import Entry
from etc.torch.layout import UNFINISHED, Layout, read_entries
from etc.torch.move import (
    PLANNED,
    by_key,
    device_of,
    drop_gradients,
    fill,
    layout_of,
    prepare_move,
    uncollected,
)
from etc.torch.planning import plan


def begin(
    before: Any,
    after: Any,
    *,
    was: int | None = None,
    verify: bool = True,
    **options: Any,
) -> Tail:
    """The part of `move` that training has to wait for; `finish` is the rest.

    Takes the arguments of `move`, and raises what it does. With defer="optimizer" the
    parameters and buffers of `after` are there when this returns, and the first forward
    and backward pass may run while a thread of ETC's moves the states of the optimizer.
    `Tail.finish` is called by the new optimizer before its step and its state dict, and
    by the module before its state dict.
    """
    with uncollected():
        given = {name: options.pop(name) for name in PLANNED if name in options}
        prev = layout_of(before, None, was)
        curr = layout_of(after, prev, None)
        put = carried.collect(prev, curr)
        planned = plan(prev, curr, **given)
        expected = proof.sums(prev.entries.values) if verify else None
        drop_gradients(prev.source[0])
        migration, found = None, {}
        if job.rank() in planned.participants:
            migration = prepare_move(planned, prev, curr, options)
            found = _attempt(migration, migration.run)
        tail = Tail(migration, curr, expected)
        with torch.no_grad():
            tail._fill(found, lambda entry: entry.kind == "param")
            model, optimizer = curr.source
            if optimizer is not None:
                optimizers.finish(model, optimizer, prev.optimizer)
            put(device_of(curr.entries.values()))
        tail._expect(*curr.source)
        return tail


class Tail:
    """What is left of a change whose parameters are there; made by `begin`."""

    def __init__(
        self, migration: Migration | None, curr: Layout, expected: Any
    ) -> None:
        self._migration = migration
        self._curr: Layout | None = curr
        self._expected = expected
        self._hooks: list[Any] = []

    def finish(self) -> Report | None:
        """Waits for the states of the optimizer, and compares what has come.

        Collective over all ranks: those that train need not call it, because their
        optimizer does; one that leaves has to. Returns, and raises, what `move` does;
        from the second call on there is nothing left to do.
        """
        curr, self._curr = self._curr, None
        if curr is not None:
            with uncollected():
                self._finish(curr)
        return None if self._migration is None else self._migration.report

    def _finish(self, curr: Layout) -> None:
        model, optimizer = curr.source
        for hook in self._hooks:
            hook.remove()
        if isinstance(model, torch.nn.Module):
            UNFINISHED.discard(model)
        found = {}
        if self._migration is not None:
            found = _attempt(self._migration, self._migration.finish)
        with torch.no_grad():
            for key, entry in curr.entries.items():
                if entry.kind != "param":
                    fill(entry, found.get(key))
            if self._expected is not None:
                sums = proof.sums(lambda: read_entries(model, optimizer)[1])
                proof.check(self._expected, sums)

    def _fill(
        self, found: dict[tuple[str, str], Any], wanted: Callable[[Entry], bool]
    ) -> None:
        assert self._curr is not None
        for key, entry in self._curr.entries.items():
            if wanted(entry):
                fill(entry, found.get(key))

    def _expect(self, model: Any, optimizer: Any) -> None:
        """What needs the rest of the state waits for it."""

        def wait(*_: Any) -> None:
            self.finish()

        if isinstance(model, torch.nn.Module):
            UNFINISHED.add(model)
            self._hooks.append(model.register_state_dict_pre_hook(wait))
        if optimizer is not None:
            self._hooks.append(optimizer.register_step_pre_hook(wait))
            self._hooks.append(optimizer.register_state_dict_pre_hook(wait))


def _attempt(
    migration: Migration, step: Callable[[], Tensors]
) -> dict[tuple[str, str], Any]:
    try:
        return by_key(step())
    except BaseException as error:
        error.migration = migration  # type: ignore[attr-defined]
        raise
