"""A change after which Megatron's own `pretrain` builds the new objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Optional

import torch

from etc.megatron import buffers, param_groups
from etc.megatron.arguments import rewritten, set_rank
from etc.megatron.batch import iterations_of
from etc.megatron.build import Shapes, check_all_used, load_optimizer
from etc.megatron.change import Change
from etc.megatron.grid import read_grid
from etc.megatron.handover import Handover, load_scaler
from etc.megatron.modules import parameters_of

# What the training loop counts in its arguments.
COUNTED = (
    "consumed_train_samples",
    "skipped_train_samples",
    "consumed_valid_samples",
    "padded_vocab_size",
)
# What setup_model_and_optimizer would take a state from.
SOURCES = {"load": None, "pretrained_checkpoint": None, "moe_use_upcycling": False}


class Reentry(Change):
    """One process's part of such a change."""

    _handover: Optional[Handover] = None

    @property
    def rank(self) -> Optional[int]:
        """In the new configuration; None where this process has no role."""
        return self._rank("curr")

    @property
    def arguments(self) -> tuple[str, ...]:
        """All that this change and those before it add to the command line."""
        return self._agreement.arguments

    def store(self) -> Any:
        """For the new default group."""
        return self._meeting.store("world")

    def abandon(self) -> None:
        """The change is not to be."""
        self._migration.abort()

    def leave(
        self, module: Any, args: Any, iteration: int, progress: Mapping[str, Any]
    ) -> None:
        """Moves the state, and leaves all that the old configuration has in this
        process. `args` are the training loop's; None in a process that joins."""
        counted = {n: getattr(args, n) for n in COUNTED if hasattr(args, n)}
        samples = counted.get("consumed_train_samples", 0)
        self._handover, _ = self._move(iteration, samples, {**progress, **counted})
        if args is not None:
            _close_writers(module)
            module.destroy_global_state()
        _forget_start(module)
        rank = self.rank
        if rank is None:
            # The others finish before they arrive, and that takes all.
            self._migration.finish()
            self._meeting.arrive(True, len(self._curr))
            return
        set_rank(rank, len(self._curr))

    def command_line(self, argv: Sequence[str]) -> list[str]:
        """For Megatron's new parser; `argv` are the arguments that the job began with.
        After `leave`."""
        assert self._handover is not None
        vocabulary = self._handover.progress.get("padded_vocab_size")
        agreed = self._agreement
        return rewritten(
            argv, agreed.curr, vocabulary, agreed.arguments, agreed.batches
        )

    def set_up(self, module: Any, build: Callable[[], Any]) -> Any:
        """build() by Megatron, with the state that was moved. Deferred state follows
        meanwhile."""
        assert self._handover is not None
        args, handover = module.get_args(), self._handover
        with _without_checkpoint(args):
            model, optimizer, scheduler = build()
        self._load(model, optimizer, handover)
        if handover.scheduler is not None:
            if not _are_new(handover, optimizer, scheduler):
                param_groups.give(handover.rates, optimizer)
            scheduler.load_state_dict(handover.scheduler.state_dict())
        args.iteration = handover.iteration
        for name, value in handover.progress.items():
            setattr(args, name, value)
        samples = handover.consumed_samples
        if getattr(args, "train_samples", None):
            args.train_iters = iterations_of(args, args.iteration, samples)
        _update_microbatches(samples)
        assert self.rank is not None
        self._restore_generators(self.rank)
        self._handover = None
        self._meeting.arrive(False, len(self._curr))
        return model, optimizer, scheduler

    @torch.no_grad()
    def _load(self, model: Any, optimizer: Any, handover: Handover) -> None:
        from megatron.core import parallel_state

        state = self._migration.finish()
        shapes, seen = Shapes(state), set()
        for chunk in parameters_of(model, read_grid(parallel_state)):
            for parameter in chunk:
                part = parameter.of(parameter.tensor.data)
                data = shapes.find("param", parameter.name, part)
                part.copy_(data.view(part.shape))
                seen.add(parameter.name)
        check_all_used(state, seen)
        state.pop("param")
        buffers.write(model, handover.buffers)
        load_optimizer(optimizer, model, state, handover.optimizer_step)
        load_scaler(optimizer, handover.scaler)


def _are_new(handover: Handover, optimizer: Any, scheduler: Any) -> bool:
    """Whether the change asks for the learning rates of its arguments. Where the job
    has the option already, its first rates may be a checkpoint's."""
    if not getattr(scheduler, "override_opt_param_scheduler", False):
        return False
    old = handover.wrapping.optimizer_config
    is_new = not getattr(handover.scheduler, "override_opt_param_scheduler", False)
    return is_new or not param_groups.same_sources(old, optimizer.config)


@contextmanager
def _without_checkpoint(args: Any) -> Iterator[None]:
    old = {name: getattr(args, name) for name in SOURCES if hasattr(args, name)}
    for name in old:
        setattr(args, name, SOURCES[name])
    try:
        yield
    finally:
        for name, value in old.items():
            setattr(args, name, value)


def _update_microbatches(consumed_samples: int) -> None:
    from megatron.core import num_microbatches_calculator as calculator

    calculator.update_num_microbatches(consumed_samples, consistency_check=False)


def _forget_start(module: Any) -> None:
    """Megatron compares the times at which processes began, where it knows one of this
    process: all of the new configuration's or none have to know it."""
    times = getattr(module, "_STARTUP_TIMESTAMPS", {})
    for name in times:
        times[name] = None


def _close_writers(module: Any) -> None:
    """TensorBoard's and Weights & Biases': the new last rank opens its own."""
    for getter, close in (
        ("get_tensorboard_writer", "close"),
        ("get_wandb_writer", "finish"),
    ):
        writer = getattr(module, getter, lambda: None)()
        if writer is not None:
            getattr(writer, close)()
