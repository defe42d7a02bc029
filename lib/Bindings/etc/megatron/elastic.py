"""Runs Megatron's own training loop through changes of its configuration.

    pretrain = etc.megatron.elastic(pretrain, ask, store=store, cluster="1x4")
    pretrain(datasets_provider, model_provider, model_type, forward_step)

At the end of a step for which `ask` wants another configuration, the state is moved,
the loop is left, and `pretrain` is entered again, with the state from memory in place of
a checkpoint's. All else (arguments, learning rate, writers, iterators, microbatches) is
therefore what Megatron itself makes of the new configuration.
"""

from __future__ import annotations

import functools
import gc
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Optional, Union

import torch.distributed as dist

from etc.megatron.arguments import (
    GLOBAL_BATCH,
    MICRO_BATCH,
    check_further,
    set_rank,
    size_of,
)
from etc.megatron.build import Build
from etc.megatron.grid import Layout, read_layout
from etc.megatron.meeting import Meeting, end
from etc.megatron.parsed import Parse, check_parsed, parser_of
from etc.megatron.reconfigure import invited, prepare_change
from etc.megatron.reentry import Reentry
from etc.megatron.schedule import check_schedule

HOOKS = (
    "setup_model_and_optimizer",
    "checkpoint_and_decide_exit",
    "destroy_global_state",
    "get_args",
)


@dataclass(frozen=True)
class Wanted:
    """A change that `ask` wants."""

    curr: Layout
    """The new sizes, as for `etc.megatron.prepare`."""
    arguments: tuple[str, ...] = ()
    """Further arguments of the command line from then on: ("--sequence-parallel",)."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request: draining, place, memory_budget, ..."""


Ask = Callable[[int], Union[None, Layout, Wanted]]


class _Unwinding(BaseException):
    """Leaves the training loop; no handler of Exception stops it."""


def elastic(
    pretrain: Callable[..., Any],
    ask: Ask,
    *,
    store: Any,
    cluster: Any,
    active: Optional[int] = None,
    device: Optional[int] = None,
    training: Any = None,
    mode: str = "eager",
    host: Optional[str] = None,
    timeout: float = 300.0,
    wait: float = 86400.0,
) -> Callable[..., Any]:
    """Wraps Megatron's `pretrain`, so that its job changes its configuration.

    Args:
        pretrain: megatron.training's, or a function that parses the arguments and
            calls it; with a parameter `store`.
        ask: called with the number of the step that was made, on the first rank; it
            returns the configuration to change to ("PP2TP2DP2", a dictionary of a
            request's "curr", or `Wanted`), or None.
        store: a torch.distributed store that all processes reach and that outlives
            process groups, such as a TCPStore client of torchrun's.
        cluster: as in `etc.plan`.
        active: how many processes train at first, those with the lowest ranks; None
            means WORLD_SIZE in the environment. All others wait until a change needs
            them.
        device: this process's number in the cluster; None means RANK.
        training: the module that has the training loop; None means `pretrain`'s.
        mode: as in `etc.prepare`. With "safe", a change that fails while all
            processes have their old state is a RuntimeWarning, and training goes on.
        host, timeout: as in `etc.prepare`.
        wait: how many seconds a process without a role waits for a change.

    Returns:
        A function with `pretrain`'s parameters. On processes without a role at the end
        of the job it returns None.

    Raises:
        ValueError: `pretrain`'s module is not Megatron's training loop.
    """
    plain = inspect.unwrap(pretrain)
    module = sys.modules[plain.__module__] if training is None else training
    missing = [name for name in HOOKS if not hasattr(module, name)]
    if missing:
        raise ValueError(
            f"{module.__name__}: has no {missing[0]}, so it is not Megatron's training "
            f"loop; pass the module that is as training="
        )
    options = _Options(cluster, mode, host, timeout, wait)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    number = rank if device is None else device
    job = _Job(module, ask, store, number, options)

    @functools.wraps(pretrain)  # what wraps `run` looks for parameters by their types
    def run(*args: Any, **kwargs: Any) -> Any:
        world = size if active is None else active
        return job.run(pretrain, rank, world, args, kwargs)

    return run


@dataclass(frozen=True)
class _Options:
    cluster: Any
    mode: str
    host: Optional[str]
    timeout: float
    wait: float


class _Job:
    """This process's part of a job, through all of its configurations."""

    def __init__(
        self, module: Any, ask: Ask, store: Any, device: int, options: _Options
    ) -> None:
        self.module, self.ask, self.store = module, ask, store
        self.device, self.options = device, options
        self.change: Optional[Reentry] = None
        self.parse: Optional[Parse] = None
        self.argv: list[str] = []
        self.arguments: tuple[str, ...] = ()  # that changes so far have added
        self.runs = 0

    def run(
        self,
        pretrain: Callable[..., Any],
        rank: int,
        world: int,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        self.runs += 1
        self.argv, self.arguments = sys.argv[1:], ()
        self.parse = parser_of(self.module, pretrain, args, kwargs)
        with _restored():
            if rank >= world:
                if not self._join():
                    return None
            else:
                set_rank(rank, world)
                first = dist.PrefixStore("etc-megatron/first", self.store)
                kwargs.setdefault("store", first)
            while True:
                result, unwound = self._enter(pretrain, args, kwargs)
                if not unwound:
                    self._end()
                    return result
                gc.collect()
                if self.change is None and not self._join():
                    return None

    def _enter(
        self,
        pretrain: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> tuple[Any, bool]:
        """What pretrain returned, or that it was left for a change."""
        if self.change is not None:
            kwargs = {**kwargs, "store": self.change.store()}
        with _replaced(self.module, self._hooks()):
            try:
                return pretrain(*args, **kwargs), False
            except _Unwinding:
                return None, True
            except SystemExit:
                self._end()
                raise

    def _hooks(self) -> dict[str, Callable[..., Any]]:
        set_up = self.module.setup_model_and_optimizer
        end_step = self.module.checkpoint_and_decide_exit

        def setup_model_and_optimizer(*args: Any, **kwargs: Any) -> Any:
            change, self.change = self.change, None
            if change is None:
                return set_up(*args, **kwargs)
            return change.set_up(self.module, lambda: set_up(*args, **kwargs))

        def checkpoint_and_decide_exit(
            model: Any,
            optimizer: Any,
            opt_param_scheduler: Any,
            iteration: int,
            num_floating_point_operations_so_far: float,
            *args: Any,
            **kwargs: Any,
        ) -> bool:
            is_over = end_step(
                model,
                optimizer,
                opt_param_scheduler,
                iteration,
                num_floating_point_operations_so_far,
                *args,
                **kwargs,
            )
            if not is_over:
                objects = (model, optimizer, opt_param_scheduler)
                self._end_step(objects, iteration, num_floating_point_operations_so_far)
            return is_over

        return {
            "setup_model_and_optimizer": setup_model_and_optimizer,
            "checkpoint_and_decide_exit": checkpoint_and_decide_exit,
        }

    def _end_step(
        self, objects: tuple[Any, Any, Any], iteration: int, operations: float
    ) -> None:
        """Leaves the loop if another configuration is wanted, and can be had."""
        args = self.module.get_args()
        wanted = self._ask(iteration) if iteration < args.train_iters else None
        if wanted is None:
            return
        finish = getattr(self.module, "maybe_finalize_async_save", None)
        if finish is not None:
            finish(blocking=True)
        change = self._prepare(objects, wanted)
        if change is None:
            return
        progress = {"num_floating_point_operations_so_far": operations}
        try:
            self._leave(change, args, iteration, progress)
        except Exception as error:
            if not change.intact:
                raise
            _warn(error)
            return
        raise _Unwinding

    def _leave(
        self, change: Reentry, args: Any, iteration: int, progress: Mapping[str, Any]
    ) -> None:
        change.leave(self.module, args, iteration, progress)
        self.arguments = change.arguments
        if change.rank is not None:
            sys.argv[1:] = change.command_line(self.argv)
            self.change = change

    def _ask(self, iteration: int) -> Optional[Wanted]:
        said: list[Any] = [None]
        if dist.get_rank() == 0:
            try:
                said = [self.ask(iteration)]
            except Exception as error:  # the others wait for an answer
                said = [RuntimeError(f"ask({iteration}) raised {error!r}")]
        dist.broadcast_object_list(said)
        if isinstance(said[0], Exception):
            raise said[0]
        if said[0] is None or isinstance(said[0], Wanted):
            return said[0]
        return Wanted(said[0])

    def _prepare(
        self, objects: tuple[Any, Any, Any], wanted: Wanted
    ) -> Optional[Reentry]:
        """None where it can't be done, and training may go on."""
        options, args = self.options, self.module.get_args()
        change, error = None, None
        try:
            global_batch = size_of(wanted.arguments, GLOBAL_BATCH)
            micro_batch = size_of(wanted.arguments, MICRO_BATCH)
            check_further(wanted.arguments, args)
            check_schedule(wanted.arguments, args)
            line = [*self.argv, *self.arguments]
            check_parsed(self.parse, line, wanted.arguments)
            change = prepare_change(
                Reentry,
                *objects,
                curr=read_layout(wanted.curr),
                cluster=options.cluster,
                build=_build_of(args),
                request=wanted.request,
                device=self.device,
                store=self.store,
                host=options.host,
                timeout=options.timeout,
                mode=options.mode,
                arguments=(*self.arguments, *wanted.arguments),
                global_batch=global_batch,
                micro_batch=micro_batch,
            )
        except Exception as raised:
            if options.mode != "safe":
                raise
            error = raised
        failed: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(failed, error is not None)
        if not any(failed):
            return change
        if change is not None:
            change.abandon()
        _warn(error or RuntimeError(f"rank {failed.index(True)} could not prepare"))
        return None

    def _join(self) -> bool:
        """Waits until a change needs this process; whether one does."""
        while self.change is None:
            over = f"{self.runs}"
            meeting = Meeting.awaited(
                self.store, self.device, self.options.timeout, self.options.wait, over
            )
            if meeting is None:
                return False
            try:
                change = invited(
                    Reentry, meeting, self.device, _NO_BUILD, None, self.options.host
                )
                self._leave(change, None, 0, {})
            except Exception as error:
                if self.options.mode != "safe":
                    raise
                _warn(error)
        return True

    def _end(self) -> None:
        """The job is over, also for those that wait for a role."""
        if os.environ["RANK"] == "0":
            end(self.store, f"{self.runs}")


def _no_provider(*_: Any, **__: Any) -> None:
    raise AssertionError("Megatron builds the model")


_NO_BUILD = Build(_no_provider)


def _build_of(args: Any) -> Build:
    return Build(
        _no_provider,
        data_parallel_random_init=getattr(args, "data_parallel_random_init", False),
    )


def _warn(error: BaseException) -> None:
    warnings.warn(
        f"the configuration did not change, training goes on: {error}",
        RuntimeWarning,
        stacklevel=2,
    )


@contextmanager
def _restored() -> Iterator[None]:
    """The command line and the environment are this process's again afterwards."""
    argv = list(sys.argv)
    names = ("RANK", "WORLD_SIZE")
    environment = {name: os.environ[name] for name in names}
    try:
        yield
    finally:
        sys.argv[:] = argv
        os.environ.update(environment)


@contextmanager
def _replaced(module: Any, hooks: Mapping[str, Any]) -> Iterator[None]:
    old = {name: getattr(module, name) for name in hooks}
    for name, hook in hooks.items():
        setattr(module, name, hook)
    try:
        yield
    finally:
        for name, hook in old.items():
            setattr(module, name, hook)
