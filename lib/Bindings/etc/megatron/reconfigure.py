"""Changes the configuration of a Megatron-Core trainer in its own processes."""

from __future__ import annotations

import pickle
from typing import Any, Mapping, Optional, TypeVar, Union

import torch
import torch.distributed as dist

from etc.megatron import rng
from etc.megatron.batch import Batches
from etc.megatron.build import Build, Wrapping
from etc.megatron.change import Agreement, Change, Reconfiguration
from etc.megatron.configs import check_build, check_wrapping
from etc.megatron.describe import describe_live, shards_of
from etc.megatron.grid import Layout, read_layout
from etc.megatron.handover import without_optimizer
from etc.megatron.meeting import Meeting
from etc.megatron.plan_check import check_plan, check_stages
from etc.megatron.trainer import Trainer
from etc.plans import Plan


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
            With {"defer": "optimizer"} the optimizer follows in `Trainer.finish`,
            unless mode is "safe".
        global_batch, micro_batch: in samples; None takes them from Megatron-Core's
            micro-batch calculator. A ramp goes on, and ends in global_batch.
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
    return prepare_change(
        Reconfiguration,
        model,
        optimizer,
        opt_param_scheduler,
        curr=read_layout(curr),
        cluster=cluster,
        build=build,
        plan=plan,
        request=request,
        global_batch=global_batch,
        micro_batch=micro_batch,
        vocab_size=vocab_size,
        vocab_multiple=vocab_multiple,
        device=device,
        store=store,
        host=host,
        timeout=timeout,
        mode=mode,
    )


Kind = TypeVar("Kind", bound=Change)


def prepare_change(
    kind: type[Kind],
    model: Any,
    optimizer: Any,
    opt_param_scheduler: Any,
    *,
    curr: dict[str, Any],
    cluster: Any,
    build: Build,
    device: Optional[int],
    store: Any,
    host: Optional[str],
    timeout: float,
    mode: str,
    plan: Optional[Plan] = None,
    request: Optional[Mapping[str, Any]] = None,
    global_batch: Optional[int] = None,
    micro_batch: Optional[int] = None,
    vocab_size: Optional[int] = None,
    vocab_multiple: int = 128,
    arguments: tuple[str, ...] = (),
) -> Kind:
    """`prepare`, for any kind of change."""
    from megatron.core import parallel_state

    if optimizer is None:
        raise ValueError("optimizer: None; call finish of the last change's trainer")
    chunks = list(model) if isinstance(model, (list, tuple)) else [model]
    batches = Batches.of_trainer(global_batch, micro_batch)
    batches.check(curr["dp"])
    rng.check_tracker()
    check_build(build)
    wrapping = Wrapping.of(chunks[0], optimizer)
    new = wrapping.changed_by(build)
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
    precision, rows = described.fields["precision"], described.model["tensors"]
    check_wrapping(wrapping, new, precision, rows)
    curr.update(shards_of(new.ddp_config))
    passed = plan
    if plan is None:
        plan = described.plan(curr=curr, cluster=cluster, **dict(request or {}))
    check_plan(plan, described.layout, curr)
    if passed is not None:
        check_stages(passed, described, curr)
    meeting = Meeting.called(store, timeout, plan)
    memory = next(iter(described.tensors["param"].values())).device
    agreement = Agreement(
        plan.to_bytes(),
        described.layout,
        curr,
        batches,
        dist.get_backend(),
        mode,
        arguments,
        memory.type,
    )
    meeting.publish(pickle.dumps(agreement))
    change = kind(agreement, meeting, device, memory, build, described.tensors, host)
    change._trains(chunks, optimizer, opt_param_scheduler)
    return change


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
            GPU, or the host if the others train there.

    Raises:
        PeerError: no change needed it within `timeout` seconds.
        ValueError: `build` has a configuration that cannot be migrated.
    """
    check_build(build)
    meeting = Meeting.invited(store, timeout, device)
    return invited(Reconfiguration, meeting, device, build, memory, host)


def invited(
    kind: type[Kind],
    meeting: Meeting,
    device: int,
    build: Build,
    memory: Union[str, torch.device, None],
    host: Optional[str],
) -> Kind:
    """The change that a process was invited to."""
    agreement = pickle.loads(meeting.get("agreement"))
    where = torch.device(agreement.memory if memory is None else memory)
    return kind(agreement, meeting, device, where, build, {}, host)


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
