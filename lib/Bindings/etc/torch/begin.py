"""A live job's parameters move, and the states of its optimizer follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from etc.migration import Migration
from etc.report import Report
from etc.torch import proof, zero
from etc.torch import ranks as job
from etc.torch.agreement import agree
from etc.torch.entries import Entry, layers_of
from etc.torch.layout import UNFINISHED, Layout, read_entries, reader_of
from etc.torch.move import (
    PLANNED,
    by_key,
    check_options,
    device_of,
    drop_gradients,
    fill,
    layout_of,
    naming,
    prepare_move,
    uncollected,
)
from etc.torch.optimizers import members, named
from etc.torch.retired import retire


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
    `Tail.finish` is called by the new optimizer and the module before their state dicts
    and before they load one, and by the optimizer before its step.
    """
    with uncollected():
        check_options(options)
        given = {name: options.pop(name) for name in PLANNED if name in options}
        prev = layout_of(before, None, was)
        curr = layout_of(after, prev, None)
        if any(isinstance(side.source[1], zero.Partitions) for side in (prev, curr)):
            raise ValueError("begin: a DeepSpeed engine can't wait in its step; use move")
        planned, kept, expected = agree(prev, curr, given, verify)
        migration = None
        if job.rank() in planned.participants:
            migration = prepare_move(planned, prev, curr, options)
        drop_gradients(prev.source[0])
        tail = Tail(migration, curr, expected)
        with naming(migration), torch.no_grad():
            found = {} if migration is None else by_key(migration.run())
            retire(prev.source[0])
            tail._fill(found, lambda entry: entry.kind == "param")
            model, optimizer = curr.source
            if optimizer is not None:
                reader_of(optimizer).finish(model, optimizer, prev.optimizer)
            kept.put(device_of(curr.entries.values()))
        tail._keep_buffers()
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
        self._buffers: proof.Parts = {}
        self._failure: Exception | None = None
        self._hooks: list[_Hook] = []

    def finish(self) -> Report | None:
        """Waits for the states of the optimizer, and compares what has come.

        Collective over all ranks: those that train need not call it, because their
        optimizer does; one that leaves has to. Returns, and raises, what `move` does;
        from the second call on there is nothing left to do, or it raises the same again.
        """
        if self._failure is not None:
            raise self._failure
        curr, self._curr = self._curr, None  # what this calls may call it
        if curr is not None:
            try:
                with uncollected():
                    self._finish(curr)
            except BaseException as error:
                self._curr = curr
                UNFINISHED.update(_marked(*curr.source))
                self._failure = error if isinstance(error, Exception) else None
                raise
            self._let_go()
        return None if self._migration is None else self._migration.report

    def _let_go(self) -> None:
        for hook in self._hooks:
            hook.call = None

    def _finish(self, curr: Layout) -> None:
        model, optimizer = curr.source
        UNFINISHED.difference_update(_marked(model, optimizer))
        with naming(self._migration), torch.no_grad():
            found = {} if self._migration is None else by_key(self._migration.finish())
            for key, entry in curr.entries.items():
                if entry.kind != "param":
                    fill(entry, found.get(key))
            if self._expected is not None:
                proof.check(
                    self._expected,
                    lambda: read_entries(model, optimizer)[1],
                    self._buffers,
                )

    def _fill(
        self, found: dict[tuple[str, str], Any], wanted: Callable[[Entry], bool]
    ) -> None:
        assert self._curr is not None
        for key, entry in self._curr.entries.items():
            if wanted(entry):
                fill(entry, found.get(key))

    def _keep_buffers(self) -> None:
        """Their sums are of before the first step, whose forward pass may write to them:
        running means do."""
        assert self._curr is not None
        if self._expected is not None and isinstance(
            self._curr.source[0], torch.nn.Module
        ):
            self._buffers = proof.parts_of(
                entry
                for entry in self._curr.entries.values()
                if entry.kind == "param"
                and not isinstance(entry.tensor, torch.nn.Parameter)
            )

    def _expect(self, model: Any, optimizer: Any) -> None:
        """What needs the rest of the state waits for it."""

        def wait_unless_failed() -> None:
            if self._failure is None:
                self.finish()

        def replace() -> None:
            wait_unless_failed()
            self._let_go()  # a checkpoint takes the place of what did not come
            UNFINISHED.difference_update(_marked(model, optimizer))

        # A compiled step calls them as they are.
        calls = map(torch.compiler.disable, (self.finish, wait_unless_failed, replace))
        wait, load, replaced = map(_Hook, calls)
        self._hooks = [wait, load, replaced]
        UNFINISHED.update(_marked(model, optimizer))
        for layer in layers_of(model) if isinstance(model, torch.nn.Module) else ():
            layer.register_state_dict_pre_hook(wait)
            layer.register_load_state_dict_pre_hook(load)
        if optimizer is not None:
            assert self._curr is not None
            entries = self._curr.entries.values()
            kept = {entry.name for entry in entries if entry.kind != "param"}
            for trained in named(model, optimizer):
                if trained.name in kept:  # PyTorch takes steps to fill an empty one
                    trained.states.setdefault(trained.parameter, {})
        for each in members(optimizer):
            each.register_step_pre_hook(wait)
            each.register_state_dict_pre_hook(wait)
            each.register_load_state_dict_pre_hook(replaced)


class _Hook:
    """Does nothing from the end on. It stays where it is registered, because PyTorch goes
    through its hooks while it calls them."""

    __slots__ = ("call",)  # PyTorch copies what is in a __dict__

    def __init__(self, call: Callable[[], object] | None = None) -> None:
        self.call = call

    def __call__(self, *_: Any) -> None:
        if self.call is not None:
            self.call()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Hook, ()  # that of a copy, whose states are its own


def _marked(model: Any, optimizer: Any) -> list[Any]:
    """By what `layout` knows that they are not finished."""
    modules = list(layers_of(model)) if isinstance(model, torch.nn.Module) else []
    return [*modules, *members(optimizer)]
