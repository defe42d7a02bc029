"""One process's part of a change of configuration."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Mapping, Optional

import torch
import torch.distributed as dist

from etc.errors import PeerError
from etc.megatron import buffers, ddp, param_groups, rng
from etc.megatron.batch import Batches
from etc.megatron.build import Build, Wrapping, build_chunks, build_optimizer
from etc.megatron.describe import read_tensors
from etc.megatron.grid import read_grid
from etc.megatron.groups import enter_groups, leave_groups
from etc.megatron.handover import (
    Handover,
    attach,
    common_step,
    load_scaler,
    scaler_state,
    without_optimizer,
)
from etc.megatron.meeting import Meeting
from etc.megatron.modules import parameters_of
from etc.megatron.states import State, step_of
from etc.megatron.trainer import Trainer
from etc.plans import Plan
from etc.prepare import prepare as prepare_migration


@dataclass(frozen=True)
class Agreement:
    """The data that all processes share before anything moves."""

    plan: bytes
    prev: Mapping[str, Any]
    curr: Mapping[str, Any]
    batches: Batches
    backend: str
    mode: str
    arguments: tuple[str, ...]
    """Of the command line, where there is one."""
    memory: str
    """"cpu" or "cuda": where the trainers' tensors are."""


class Change:
    """Moves one process's state to the new configuration."""

    def __init__(
        self,
        agreement: Agreement,
        meeting: Meeting,
        device: int,
        memory: torch.device,
        build: Build,
        state: dict[str, dict[str, torch.Tensor]],
        host: Optional[str],
    ) -> None:
        self.plan = Plan.from_bytes(agreement.plan)
        self.device = device
        self.intact: Optional[bool] = None
        """After an error of `run`, with mode="safe": whether all processes that train
        still have the whole state of before, and can go on as before. None in a process
        that did not train, which is not told."""
        self._agreement, self._meeting, self._build = agreement, meeting, build
        self._state = state
        self._model: list[Any] = []
        self._optimizer: Any = None
        self._scheduler: Any = None
        placement = self.plan.placement
        self._prev = rng.roles_of(placement["prev"], agreement.prev)
        self._curr = rng.roles_of(placement["curr"], agreement.curr)
        self._migration = prepare_migration(
            self.plan,
            state,
            store=meeting.store("move"),
            rank=self.plan.rank_of(device),
            world_size=len(self.plan.participants),
            host=host,
            timeout=meeting.timeout,
            device=memory,
            mode=agreement.mode,
        )

    def _trains(self, model: list[Any], optimizer: Any, scheduler: Any) -> None:
        self._model, self._optimizer, self._scheduler = model, optimizer, scheduler

    def _move(
        self, iteration: int, consumed_samples: int, progress: Mapping[str, Any]
    ) -> tuple[Handover, State]:
        """Moves the state and leaves the old groups. Collective. Of a plan that defers
        state, the parameters alone, unless the mode is safe."""
        rank = self._rank("prev")
        handed = iteration, consumed_samples, progress
        state: State
        if self._agreement.mode == "eager":
            self._hand_over(rank, *handed)
            self._let_go()
            state = self._migration.run()
        else:
            state = self._run_safely(rank, *handed)
            self._let_go()
        self._state = {}
        leave_groups()
        return Handover.from_bytes(self._meeting.get("handover")), state

    def _run_safely(self, rank: Optional[int], *handed: Any) -> State:
        """Either all processes that train have the new state, or it raises. Nothing is
        deferred: once the old model is gone there is no way back to it."""
        error: Optional[BaseException] = None
        state: State = {}
        try:
            self._hand_over(rank, *handed)
            self._migration.run()
            state = self._migration.finish()
        except Exception as raised:
            error = raised
        outcomes = self._outcomes(rank)
        if error is not None:
            if rank is not None:
                self.intact = all(o in ("not begun", "old") for o in outcomes)
            raise error
        lost = [r for r, outcome in enumerate(outcomes) if outcome != "new"]
        if lost:
            raise PeerError(
                f"the process of rank {lost[0]} does not have the new state; the "
                f"others do, so go back to a checkpoint"
            )
        return state

    def _outcomes(self, rank: Optional[int]) -> list[str]:
        """Of all processes that train; "lost" where one doesn't say."""
        if rank is None:
            return []
        self._meeting.set(f"outcome/{rank}", self._migration.outcome.encode())
        return [
            (self._meeting.find(f"outcome/{other}", 30.0) or b"lost").decode()
            for other in self._prev
        ]

    def _rank(self, side: str) -> Optional[int]:
        placement = self.plan.placement[side]
        return placement.index(self.device) if self.device in placement else None

    def _hand_over(
        self,
        rank: Optional[int],
        iteration: int,
        consumed_samples: int,
        progress: Mapping[str, Any],
    ) -> None:
        """What is equal on all ranks, by those that train. After an error here no other
        process waits for this one in the move."""
        if rank is None:
            return
        with ExitStack() as on_error:
            on_error.push(self._migration)
            for chunk in self._model:
                if chunk.ddp_config.overlap_param_gather:
                    chunk.start_param_sync(force_sync=True)  # the last step's results
            step = self._common_step()
            carried = buffers.gather(self._model)
            rates = param_groups.gather(self._optimizer)
            if rank == 0:
                handover = Handover(
                    iteration,
                    consumed_samples,
                    step,
                    without_optimizer(self._scheduler, self._optimizer),
                    scaler_state(self._optimizer),
                    rates,
                    Wrapping.of(self._model[0], self._optimizer),
                    carried,
                    dict(progress),
                )
                self._meeting.set("handover", handover.to_bytes())
            self._meeting.set(f"rng/{rank}", rng.capture())
            on_error.pop_all()

    def _common_step(self) -> Optional[int]:
        """That of all optimizers; raises on all ranks if the state of one is not what
        was prepared. Collective over the default group."""
        step: Optional[int] = None
        error: Optional[Exception] = None
        try:
            self._check_state()
            step = step_of(self._optimizer)
        except Exception as raised:
            error = raised
        said: list[Any] = [None] * len(self._prev)
        dist.all_gather_object(said, (step, None if error is None else str(error)))
        if error is not None:
            raise error
        for rank, (_, text) in enumerate(said):
            if text is not None:
                raise PeerError(f"rank {rank}: {text}")
        return common_step([step for step, _ in said])

    def _let_go(self) -> None:
        """The old model is not trained any more."""
        for chunk in self._model:
            ddp.drop_gradients(chunk)
        self._trains([], None, None)

    def _check_state(self) -> None:
        from megatron.core import parallel_state

        parameters = parameters_of(self._model, read_grid(parallel_state))
        now = read_tensors(parameters, self._optimizer)
        for kind in now:
            if kind not in self._state:
                raise ValueError(
                    f"optimizer: {kind} came after prepare(); prepare once the "
                    f"optimizer has made a step"
                )

    def _restore_generators(self, rank: int) -> bool:
        """Whether the new rank's role existed before; it has its generators then."""
        by_replica = self._build.data_parallel_random_init
        source = rng.source_of(self._curr[rank], self._prev, by_replica)
        if source is not None:
            rng.restore(self._meeting.get(f"rng/{source}"))
        return source is not None


class Reconfiguration(Change):
    """A change that builds the new objects itself; from `prepare` or `join`."""

    def run(self, iteration: int = 0, consumed_samples: int = 0) -> Trainer:
        """Changes the configuration, between two steps. Collective.

        The old model and optimizer must not be used again; drop them. After an error
        they can be used if `intact` is true, with mode="safe". Processes that join get
        both numbers from the others.

        If the plan defers state (request={"defer": "optimizer"}) and the mode is
        eager, the trainer has no optimizer and no scheduler before `Trainer.finish`;
        processes without a role return when the others have called it.

        Raises ValueError if the new model differs from the plan, and the exceptions
        of `etc.Migration.run`.
        """
        handover, state = self._move(iteration, consumed_samples, {})
        trainer = self._trainer(handover, state)
        self._meeting.arrive(trainer.role is None, len(self._curr))
        if trainer.role is None:
            trainer.finish()
        return trainer

    def _trainer(self, handover: Handover, state: Any) -> Trainer:
        trainer = Trainer(
            role=None,
            rank=None,
            model=[],
            optimizer=None,
            opt_param_scheduler=None,
            iteration=handover.iteration,
            consumed_samples=handover.consumed_samples,
            plan=self.plan,
            report=self._migration.report,
            unseeded=self._unseeded(),
            must_seed=False,
        )
        rank = self._rank("curr")
        wrapping = handover.wrapping.changed_by(self._build)
        if rank is not None:
            self._take_role(trainer, rank, handover, wrapping, state)

        def complete(state: Any) -> None:
            trainer.report = self._migration.report
            if rank is not None:
                self._take_optimizer(trainer, handover, wrapping, state)

        if self._migration.outcome == "new":
            complete(state)
        else:
            ddp.skip_gather(trainer.model)
            trainer._rest = lambda: complete(self._migration.finish())
        return trainer

    def _take_role(
        self,
        trainer: Trainer,
        rank: int,
        handover: Handover,
        wrapping: Wrapping,
        state: Any,
    ) -> None:
        agreement, build = self._agreement, self._build
        trainer.rank, trainer.role = rank, self._curr[rank]
        enter_groups(
            self._meeting.store("world"),
            rank,
            len(self._curr),
            agreement.curr,
            agreement.backend,
            build.process_group_options,
            build.parallel_state_options,
        )
        rng.scratch()
        trainer.model = build_chunks(build, wrapping, state)
        state.pop("param")
        buffers.write(trainer.model, handover.buffers)
        agreement.batches.configure(
            rank, agreement.curr["dp"], handover.consumed_samples
        )
        trainer.must_seed = not self._take_generators(rank)

    def _take_optimizer(
        self, trainer: Trainer, handover: Handover, wrapping: Wrapping, state: Any
    ) -> None:
        state.pop("param", None)  # the model has them
        trainer.optimizer = build_optimizer(
            self._build, wrapping, trainer.model, state, handover.optimizer_step
        )
        load_scaler(trainer.optimizer, handover.scaler)
        old, new = handover.wrapping.optimizer_config, wrapping.optimizer_config
        if param_groups.same_sources(old, new):
            param_groups.give(handover.rates, trainer.optimizer)
        trainer.opt_param_scheduler = attach(handover.scheduler, trainer.optimizer)

    def _take_generators(self, rank: int) -> bool:
        """Whether the role's generators were restored or seeded."""
        if self._restore_generators(rank):
            return True
        rng.forget()
        if self._build.seed_rng is None:
            return False
        self._build.seed_rng(self._curr[rank])
        return True

    def _unseeded(self) -> list[str]:
        by_replica = self._build.data_parallel_random_init
        layout = self._agreement.curr
        return rng.unseeded_roles(self._prev, self._curr, layout, by_replica)
