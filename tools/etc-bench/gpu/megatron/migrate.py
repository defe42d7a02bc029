"""One of several processes that train a GPT with Megatron-Core, change its
configuration and train on, beside the same without a change:

    torchrun --nproc-per-node=2 migrate.py [--on-host] [--steps=5] [--results=FILE]

Every case says whether the state is the same, bit by bit, as Megatron-Core's
checkpoints see it, and how far the losses are apart. Exits with 1 where a case is not
as it should be.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist

ON_HOST = "--on-host" in sys.argv
if ON_HOST:
    import on_host

    on_host.stand_in()
    torch.set_num_threads(1)

import etc.megatron  # noqa: E402
from etc.megatron.grid import sizes_of  # noqa: E402
from job import Job, Settings  # noqa: E402
from megatron.core import num_microbatches_calculator as microbatches  # noqa: E402
from megatron.core import parallel_state  # noqa: E402
from oracle import differences, whole_state  # noqa: E402


@dataclass
class Case:
    """From one configuration to another; losses differ by `apart` at most."""

    name: str
    prev: str
    curr: Any
    apart: float
    settings: dict[str, Any] = field(default_factory=dict)


SWAPPED = {"pp": 2, "devices": [1, 0]}
DROPOUT = {"model": {"hidden_dropout": 0.1, "attention_dropout": 0.1}}
SHARDED = {"bf16": True, "distributed": True}
CASES = {
    2: [
        Case("stages to tensor ranks", "PP2", "TP2", 1e-4),
        Case("distributed optimizer", "DP2", "PP2", 1e-2, SHARDED),
        Case("generators of stages that swap devices", "PP2", SWAPPED, 1e-5, DROPOUT),
    ],
    4: [
        Case("stages to tensor ranks", "PP2DP2", "TP2DP2", 1e-4),
        Case("distributed optimizer", "PP2DP2", "TP2DP2", 1e-2, SHARDED),
        Case("master weights", "TP2DP2", "PP4", 1e-2, {"bf16": True}),
    ],
}


def take_gpu() -> None:
    """This process's GPU. NCCL refuses two ranks of a host on one: where there are more
    processes, each is a host of its own, over sockets."""
    rank, gpus = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if int(os.environ["LOCAL_WORLD_SIZE"]) > gpus:
        os.environ["NCCL_HOSTID"] = f"rank-{rank}"
        os.environ["NCCL_NET"] = "Socket"
        os.environ["NCCL_SOCKET_IFNAME"] = "lo"
    torch.cuda.set_device(rank % gpus)


def begin(case: Case) -> Job:
    """A new job in the first configuration, whatever there was before."""
    if parallel_state.model_parallel_is_initialized():
        parallel_state.destroy_model_parallel()
    microbatches.destroy_num_microbatches_calculator()
    job = Job(Settings(**case.settings))
    job.start(sizes_of(case.prev))
    return job


def run(case: Case, steps: int) -> dict[str, Any]:
    """The case's figures, on every process."""
    quiet = begin(case)
    quiet.train(2 * steps)
    job = begin(case)
    job.train(steps)
    before = whole_state(job.model, job.optimizer)
    build = etc.megatron.Build(
        job.provide,
        seed_rng=job.seed,
        parallel_state_options={"create_gloo_process_groups": False},
        optimizer_options={"use_gloo_process_groups": False},
    )
    change = etc.megatron.prepare(
        job.model,
        job.optimizer,
        job.scheduler,
        curr=case.curr,
        cluster=f"1x{dist.get_world_size()}",
        build=build,
        host="127.0.0.1",
        timeout=120.0,
    )
    start = time.monotonic()
    trainer = change.run(job.iteration, job.consumed)
    seconds = time.monotonic() - start
    job.take(trainer)
    wrong = differences(before, whole_state(job.model, job.optimizer))
    job.train(steps)
    apart = max(abs(a - b) for a, b in zip(job.losses, quiet.losses))
    return {
        "case": case.name,
        "prev": trainer.plan.prev,
        "curr": trainer.plan.curr,
        "received_bytes": trainer.report.received_bytes,
        "pause_seconds": round(seconds, 4),
        "move_seconds": round(trainer.report.seconds, 4),
        "state_differs": wrong,
        "losses_apart": apart,
        "good": not wrong and apart <= case.apart,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on-host", action="store_true")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--results")
    arguments = parser.parse_args()
    if not ON_HOST:
        take_gpu()
    dist.init_process_group("gloo" if ON_HOST else "nccl")
    good = True
    for case in CASES[dist.get_world_size()]:
        figures = run(case, arguments.steps)
        good = good and figures["good"]
        if dist.get_rank() == 0:
            print(json.dumps(figures), flush=True)
            if arguments.results:
                with open(arguments.results, "a") as file:
                    file.write(json.dumps(figures) + "\n")
    dist.barrier()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
