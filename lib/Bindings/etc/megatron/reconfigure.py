"""Changes the configuration of a Megatron-Core trainer in its own processes."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Union

import torch
import torch.distributed as dist

from etc.megatron import rng
from etc.megatron.batch import Batches
from etc.megatron.build import Build, Wrapping, build_chunks, build_optimizer
from etc.megatron.describe import describe_live, read_tensors, shards_of
from etc.megatron.grid import SIZES, Layout, read_grid, read_layout
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
from etc.megatron.states import step_of
from etc.plans import Plan
from etc.prepare import prepare as prepare_migration
from etc.report import Report
from etc.roles import Role
from etc.tensors import free_storage


@dataclass
class Trainer:
    """The objects that a process trains with from now on; None without a role."""

    role: Optional[Role]
    """{"tp": 0, "cp": 0, "dp": 1, "pp": 0, "ep": 0}, or None: this process is free."""
    rank: Optional[int]
    """In the new default group."""
    model: list[Any]
    """Chunks, wrapped in DistributedDataParallel."""
    optimizer: Any
    opt_param_scheduler: Any
    iteration: int
    consumed_samples: int
    plan: Plan
    report: Report
    unseeded: list[str]
    """The roles of all processes whose generators the trainer has to seed: "P0T1"."""
    must_seed: bool
    """Whether this process's is one of them, and nobody seeded it yet."""


@dataclass(frozen=True)
class Agreement:
    """The data that all processes share before anything moves."""

    plan: bytes
    prev: Mapping[str, Any]
    curr: Mapping[str, Any]
    batches: Batches
    backend: str
    mode: str


class Reconfiguration:
    """One process's part of a change; created by `prepare` or `join`."""

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

    def run(self, iteration: int = 0, consumed_samples: int = 0) -> Trainer:
        """Changes the configuration, between two steps. Collective.

        The old model and optimizer must not be used again, even after an error; drop
        them. Processes that join get both numbers from the others.

        Raises ValueError if the new model differs from the plan, and the exceptions
        of `etc.Migration.run`.
        """
        rank = self._rank("prev")
        if rank is not None:
            self._hand_over(rank, iteration, consumed_samples)
        state = self._migration.run()
        self._state = {}
        leave_groups()
        handover = Handover.from_bytes(self._meeting.get("handover"))
        trainer = self._trainer(handover, state)
        self._meeting.arrive(trainer.role is None, len(self._curr))
        return trainer

    def _rank(self, side: str) -> Optional[int]:
        placement = self.plan.placement[side]
        return placement.index(self.device) if self.device in placement else None

    def _hand_over(self, rank: int, iteration: int, consumed_samples: int) -> None:
        for chunk in self._model:
            if chunk.ddp_config.overlap_param_gather:
                chunk.start_param_sync(force_sync=True)  # the last step's results
        self._check_state()
        steps: list[Any] = [None] * len(self._prev)
        dist.all_gather_object(steps, step_of(self._optimizer))
        if rank == 0:
            handover = Handover(
                iteration,
                consumed_samples,
                common_step(steps),
                without_optimizer(self._scheduler, self._optimizer),
                scaler_state(self._optimizer),
                Wrapping.of(self._model[0], self._optimizer),
            )
            self._meeting.set("handover", handover.to_bytes())
        self._meeting.set(f"rng/{rank}", rng.capture())
        for chunk in self._model:
            _drop_gradients(chunk)
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
        if rank is not None:
            self._take_role(trainer, rank, handover, state)
        return trainer

    def _take_role(
        self, trainer: Trainer, rank: int, handover: Handover, state: Any
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
        wrapping = dataclasses.replace(
            handover.wrapping,
            ddp_config=build.ddp_config or handover.wrapping.ddp_config,
            optimizer_config=build.optimizer_config
            or handover.wrapping.optimizer_config,
        )
        trainer.model = build_chunks(build, wrapping, state)
        state.pop("param")
        trainer.optimizer = build_optimizer(
            build, wrapping, trainer.model, state, handover.optimizer_step
        )
        load_scaler(trainer.optimizer, handover.scaler)
        trainer.opt_param_scheduler = attach(handover.scheduler, trainer.optimizer)
        agreement.batches.configure(
            rank, agreement.curr["dp"], handover.consumed_samples
        )
        trainer.must_seed = not self._take_generators(rank)

    def _take_generators(self, rank: int) -> bool:
        """Whether the role's generators were restored or seeded."""
        role, build = self._curr[rank], self._build
        source = rng.source_of(role, self._prev, build.data_parallel_random_init)
        if source is not None:
            rng.restore(self._meeting.get(f"rng/{source}"))
            return True
        rng.forget()
        if build.seed_rng is None:
            return False
        build.seed_rng(role)
        return True

    def _unseeded(self) -> list[str]:
        by_replica = self._build.data_parallel_random_init
        ranks = rng.unseeded_roles(self._prev, self._curr, by_replica)
        curr = self._agreement.curr
        return sorted({rng.label(self._curr[rank], curr) for rank in ranks})


def _drop_gradients(chunk: Any) -> None:
    """Frees the buffers in which the old configuration accumulated."""
    for name in ("buffers", "expert_parallel_buffers"):
        buffers = getattr(chunk, name, [])
        for buffer in buffers if isinstance(buffers, list) else []:
            free_storage(buffer.grad_data)


def prepare(
    model: Any,
    optimizer: Any,
    opt_param_scheduler: Any = None,
    *,
    curr: Layout,
    cluster: Any,
    build: Build,
    plan: Optional[Plan] = None,
    request: Optional[Mapping[str, Any]] = None,
    global_batch: Optional[int] = None,
    micro_batch: Optional[int] = None,
    vocab_size: Optional[int] = None,
    vocab_multiple: int = 128,
    device: Optional[int] = None,
    store: Any = None,
    host: Optional[str] = None,
    timeout: float = 300.0,
    mode: str = "eager",
) -> Reconfiguration:
    """Prepares a change of configuration, while training continues.

    Collective over the processes that train; those that are to join call `join`.
    Training may continue until `Reconfiguration.run`.

    Args:
        model, optimizer, opt_param_scheduler: the objects that Megatron's
            setup_model_and_optimizer returned.
        curr: the new sizes, "PP2TP2DP2", or a dictionary of a request's "curr".
        cluster: as in `etc.plan`.
        build: how to build the new model.
        plan: a plan that was made before; by default it is planned here.
        request: further fields of the request: place, draining, memory_budget, ...
        global_batch, micro_batch: in samples; None takes them from Megatron-Core's
            micro-batch calculator, with its ramp.
        vocab_size, vocab_multiple: the vocabulary without padding, if model_provider
            pads it to a multiple of vocab_multiple x TP.
        device: this process's number in the cluster; None means its rank.
        store: a torch.distributed store that outlives the default group, the same
            that is passed to `join`; None means that of the default group.
        host, timeout, mode: as in `etc.prepare`.

    Raises:
        UnsatisfiableError: the new configuration does not divide the batch or the
            model.
        ValueError: something cannot be moved; the message names it.
    """
    from megatron.core import parallel_state

    chunks = list(model) if isinstance(model, (list, tuple)) else [model]
    batches = Batches.of_trainer(global_batch, micro_batch)
    layout = read_layout(curr)
    batches.check(layout["dp"])
    rng.check_tracker()
    wrapping = Wrapping.of(chunks[0], optimizer)
    without_optimizer(opt_param_scheduler, optimizer)
    device = dist.get_rank() if device is None else device
    described = describe_live(
        chunks,
        optimizer,
        parallel_state,
        device=device,
        vocab_size=vocab_size,
        vocab_multiple=vocab_multiple,
    )
    layout.update(shards_of(build.ddp_config or wrapping.ddp_config))
    if plan is None:
        plan = described.plan(curr=layout, cluster=cluster, **dict(request or {}))
    _check_plan(plan, layout)
    meeting = Meeting.called(store, timeout, plan)
    agreement = Agreement(
        plan.to_bytes(), described.layout, layout, batches, dist.get_backend(), mode
    )
    meeting.publish(pickle.dumps(agreement))
    memory = next(iter(described.tensors["param"].values())).device
    change = Reconfiguration(
        agreement, meeting, device, memory, build, described.tensors, host
    )
    change._trains(chunks, optimizer, opt_param_scheduler)
    return change


def _check_plan(plan: Plan, layout: Mapping[str, Any]) -> None:
    planned = plan.configuration["curr"]
    wanted = {"etp": layout.get("tp", 1), **layout}
    for name in SIZES:
        if wanted.get(name, 1) != planned[name]:
            raise ValueError(
                f"plan: ends in {plan.curr}, curr has {name.upper()} "
                f"{wanted.get(name, 1)}"
            )


def join(
    store: Any,
    device: int,
    build: Build,
    *,
    memory: Union[str, torch.device, None] = None,
    host: Optional[str] = None,
    timeout: float = 300.0,
) -> Reconfiguration:
    """Waits until a change needs this process, which is not training yet.

    Args:
        store: the one that the others pass to `prepare`.
        device: this process's number in the cluster.
        memory: the device of its tensors: "cpu", "cuda:0"; None means the current
            GPU, or the host if there is none.

    Raises:
        PeerError: no change needed it within `timeout` seconds.
    """
    meeting, data = Meeting.invited(store, timeout, device)
    if memory is None:
        memory = "cuda" if torch.cuda.is_available() else "cpu"
    agreement = pickle.loads(data)
    return Reconfiguration(
        agreement, meeting, device, torch.device(memory), build, {}, host
    )


def reconfigure(
    model: Any,
    optimizer: Any,
    opt_param_scheduler: Any = None,
    *,
    iteration: int,
    consumed_samples: int,
    **options: Any,
) -> Trainer:
    """`prepare` and `run` in one call, with the arguments of `prepare`."""
    change = prepare(model, optimizer, opt_param_scheduler, **options)
    return change.run(iteration, consumed_samples)
