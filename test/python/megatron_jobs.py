"""Processes that train with Megatron-Core and change their configuration."""

from __future__ import annotations

import os
import sys
import traceback
import unittest
from typing import Any, Callable

import ranks

SOURCE = os.environ.get(
    "ETC_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "../..")
)
sys.path.insert(0, os.path.join(SOURCE, "tools/etc-bench/gpu/megatron"))

try:
    import torch
    import torch.distributed as dist
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None
try:
    import megatron.core  # noqa: F401
except ImportError:
    raise unittest.SkipTest("megatron-core is not installed") from None

import on_host

on_host.stand_in()
torch.set_num_threads(1)

from job import Job, Settings  # noqa: E402
from oracle import differences, whole_state  # noqa: E402

import etc.megatron  # noqa: E402
from etc.megatron.grid import sizes_of  # noqa: E402

STEPS = 3  # before the change, and after it
EXPERTS = dict(num_moe_experts=4, moe_ffn_hidden_size=64)
ON_HOST = {"parallel_state_options": {"create_gloo_process_groups": False}}
ON_HOST["optimizer_options"] = {"use_gloo_process_groups": False}


def begin(rank: int, store: Any, prev: str, settings: Settings) -> Job:
    """A job on the first processes, as many as `prev` has."""
    sizes = sizes_of(prev)
    world = sizes["pp"] * sizes["tp"] * sizes["dp"] * sizes["cp"]
    if rank < world:
        store = dist.PrefixStore("first", store)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    job = Job(settings)
    if rank < world:
        job.start(sizes)
    return job


def change_of(
    job: Job, rank: int, store: Any, curr: Any, devices: int, build=None, **options: Any
) -> Any:
    """An etc.megatron.Reconfiguration of this process."""
    build = etc.megatron.Build(job.provide, **{**ON_HOST, **(build or {})})
    where: dict[str, Any] = {"host": "127.0.0.1", "timeout": 60.0}
    store = dist.PrefixStore("changes", store)
    if not job.model:
        return etc.megatron.join(store, rank, build, memory="cpu", **where)
    return etc.megatron.prepare(
        job.model,
        job.optimizer,
        job.scheduler,
        curr=curr,
        cluster=f"1x{devices}",
        build=build,
        store=store,
        **where,
        **options,
    )


def run(count: int, body: Callable[..., Any], *arguments: Any) -> list:
    """body(rank, store, *arguments) in processes; raises what one of them raised."""
    results = ranks.run(count, _traced, body, *arguments, timeout=300)
    errors = [r[1] for r in results if isinstance(r, tuple) and r[:1] == ("raised",)]
    errors += [repr(r) for r in results if isinstance(r, Exception)]
    if errors:  # those of peers that it left alone say less
        raise AssertionError(min(errors, key=lambda text: "closed by peer" in text))
    return results


def _traced(rank: int, store: Any, body: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return body(rank, store, *arguments)
    except Exception:
        return "raised", traceback.format_exc()


def losses_without_change(rank, store, prev, settings):
    """Of a job that goes on as it began."""
    job = begin(rank, store, prev, settings)
    if job.model:
        job.train(2 * STEPS)
    return job.losses


def migrated(
    rank, store, prev, curr, count, settings, build=None, request=None, **options
):
    """(losses, what differs between the states before and after, trainer's figures);
    where a process did not see both states, None differs."""
    job = begin(rank, store, prev, settings)
    before = wrong = None
    if job.model:
        job.train(STEPS)
        before = whole_state(job.model, job.optimizer)
        assert any("exp_avg_sq" in key for key in before)
    rows = options.get("vocab_size")
    build = {"seed_rng": job.seed, **(build or {})}
    change = change_of(
        job, rank, store, curr, count, build, request=request, **options
    )
    trainer = change.run(job.iteration, job.consumed)
    job.take(trainer)
    if trainer.role is not None:
        defers = bool(request) and options.get("mode") != "safe"
        assert (trainer.optimizer is None) == defers, trainer
        after = {}

        def look():
            after.update(whole_state(job.model, job.optimizer))
            for chunk in job.model:  # which has gathered parameters
                for group in chunk.bucket_groups + chunk.expert_parallel_bucket_groups:
                    group.param_gather_dispatched = False

        if trainer.optimizer is None:
            job.on_finish = look
        else:
            look()
        job.train(STEPS)
        if before is not None:
            wrong = differences(before, after, rows)
    return (
        job.losses,
        wrong,
        (trainer.role, trainer.iteration, trainer.consumed_samples),
    )
