"""A training loop in the form of megatron.training's, which megatron-core 0.16 leaves
out: the names and the order of its calls are those of Megatron-LM's core_v0.16.0, its
work is done by Megatron-Core.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from typing import Any

import torch.distributed as dist
from megatron_jobs import Job, Settings
from megatron.core import num_microbatches_calculator as microbatches
from megatron.core import parallel_state
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler

_ARGS: Any = None
WRITERS: list[Any] = []


class Writer:
    """As TensorBoard's: the last rank has one."""

    def __init__(self, rank: int) -> None:
        self.rank, self.rates, self.is_closed = rank, [], False
        WRITERS.append(self)

    def close(self) -> None:
        self.is_closed = True


def get_args() -> Any:
    assert _ARGS is not None, "args is not initialized."
    return _ARGS


def get_tensorboard_writer() -> Any:
    return get_args().writer


def parse_args(extra_args_provider: Any = None) -> Any:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in (
        "tensor-model-parallel-size",
        "pipeline-model-parallel-size",
        "context-parallel-size",
        "expert-model-parallel-size",
        "expert-tensor-parallel-size",
        "num-virtual-stages-per-pipeline-rank",
        "padded-vocab-size",
        "global-batch-size",
        "micro-batch-size",
        "ddp-bucket-size",
        "train-iters",
        "train-samples",
    ):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--rampup-batch-size", nargs=3)
    parser.add_argument("--log-interval", type=int, default=1)
    parser.add_argument("--load")
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--min-lr", type=float, default=1e-3)
    for name in ("override", "use-checkpoint"):
        parser.add_argument(f"--{name}-opt_param-scheduler", action="store_true")
    parser.add_argument("--sequence-parallel", action="store_true")
    if extra_args_provider is not None:
        parser = extra_args_provider(parser)
    args = parser.parse_args()
    args.rank, args.world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    for name in ("tensor", "pipeline"):
        name += "_model_parallel_size"
        setattr(args, name, getattr(args, name) or 1)
    args.context_parallel_size = args.context_parallel_size or 1
    model = args.tensor_model_parallel_size * args.pipeline_model_parallel_size
    args.data_parallel_size = args.world_size // (model * args.context_parallel_size)
    args.consumed_train_samples = args.skipped_train_samples = 0
    return args


class Trained(Job):
    """Counts samples as the arguments do, and has the batches of the calculator."""

    def start(self, sizes: dict[str, int]) -> None:
        super().start(sizes)
        args, settings = get_args(), self.settings
        self.optimizer.config.lr = args.lr
        self.optimizer.config.min_lr = args.min_lr
        for group in self.optimizer.param_groups:
            group.update(max_lr=args.lr, min_lr=args.min_lr)
        self.scheduler = OptimizerParamScheduler(
            self.optimizer,
            init_lr=0.0,
            max_lr=args.lr,
            min_lr=args.min_lr,
            lr_warmup_steps=3,
            lr_decay_steps=20,
            lr_decay_style="cosine",
            start_wd=0.01,
            end_wd=0.01,
            wd_incr_steps=(args.train_iters or 0) * settings.global_batch or 20,
            wd_incr_style="constant",
            use_checkpoint_opt_param_scheduler=args.use_checkpoint_opt_param_scheduler,
            override_opt_param_scheduler=args.override_opt_param_scheduler,
        )
        microbatches.reconfigure_num_microbatches_calculator(
            args.rank,
            args.rampup_batch_size,
            settings.global_batch,
            settings.micro_batch,
            args.data_parallel_size,
        )

    def ddp_config(self) -> Any:
        """Buckets grow with the number of replicas, as Megatron's large ones do."""
        args, config = get_args(), super().ddp_config()
        if config.overlap_grad_reduce:
            config.bucket_size = args.ddp_bucket_size or 3000 * args.data_parallel_size
        return config

    def step(self) -> None:
        args = get_args()
        microbatches.update_num_microbatches(args.consumed_train_samples)
        batch = microbatches.get_current_global_batch_size()
        self.settings = dataclasses.replace(self.settings, global_batch=batch)
        super().step()

    def increment(self) -> int:
        args = get_args()
        count = microbatches.get_num_microbatches()
        return count * self.settings.micro_batch * args.data_parallel_size


def initialize_megatron(
    settings: Settings, store: Any, extra_args_provider: Any = None
) -> Settings:
    """The settings that the arguments turn these into."""
    global _ARGS
    assert _ARGS is None, "args is already initialized."
    _ARGS = args = parse_args(extra_args_provider)
    args.writer = Writer(args.rank) if args.rank == args.world_size - 1 else None
    if args.train_iters:
        assert args.train_samples is None, "expected iteration-based training"
        assert args.rampup_batch_size is None, "expected no batch-size rampup"
    args.micro_batch_size = args.micro_batch_size or settings.micro_batch
    if args.global_batch_size is None:
        args.global_batch_size = args.micro_batch_size * args.data_parallel_size
    model = dict(settings.model)
    if args.sequence_parallel:
        model["sequence_parallel"] = True
    dist.init_process_group(
        "gloo", store=store, rank=args.rank, world_size=args.world_size
    )
    return dataclasses.replace(
        settings,
        micro_batch=args.micro_batch_size,
        global_batch=args.global_batch_size,
        model=model,
    )


def update_train_iters(args: Any) -> None:
    """As Megatron counts them: from the first sample."""
    if args.train_iters:
        return
    iterations = consumed = 0
    ramp = args.rampup_batch_size
    while ramp and consumed <= int(ramp[2]) and consumed <= args.train_samples:
        microbatches.update_num_microbatches(consumed, consistency_check=False)
        consumed += microbatches.get_current_global_batch_size()
        iterations += 1
    microbatches.update_num_microbatches(0, consistency_check=False)
    if args.train_samples > consumed:
        iterations += (args.train_samples - consumed) // args.global_batch_size
    args.train_iters = iterations


def destroy_global_state() -> None:
    global _ARGS
    _ARGS = None
    microbatches.destroy_num_microbatches_calculator()
    parallel_state.destroy_model_parallel()


def setup_model_and_optimizer(job: Job) -> tuple[Any, Any, Any]:
    args = get_args()
    job.start(
        {
            "tp": args.tensor_model_parallel_size,
            "pp": args.pipeline_model_parallel_size,
            "cp": args.context_parallel_size,
            "ep": args.expert_model_parallel_size or 1,
            "etp": args.expert_tensor_parallel_size,
            "vpp": args.num_virtual_stages_per_pipeline_rank or 1,
        }
    )
    update_train_iters(args)
    assert args.load is None or not args.load, "there is no checkpoint to be loaded"
    args.iteration = args.num_floating_point_operations_so_far = 0
    return job.model, job.optimizer, job.scheduler


def train(job: Job, objects: tuple[Any, Any, Any], log: dict[int, Any]) -> int:
    args = get_args()
    job.model, job.optimizer, job.scheduler = objects
    iteration = args.iteration
    operations = args.num_floating_point_operations_so_far
    job.consumed = args.consumed_train_samples
    while iteration < args.train_iters:
        rate = job.optimizer.param_groups[0]["lr"]
        job.step()
        iteration += 1
        operations += 1
        args.consumed_train_samples += job.increment()
        if iteration % args.log_interval == 0:
            log[iteration] = (job.losses[-1], rate, job.settings.global_batch)
        if args.writer is not None:
            args.writer.rates.append(rate)
        if checkpoint_and_decide_exit(*objects, iteration, operations, {}, None):
            sys.exit()
    assert operations == iteration
    return iteration


def checkpoint_and_decide_exit(
    model: Any,
    optimizer: Any,
    opt_param_scheduler: Any,
    iteration: int,
    num_floating_point_operations_so_far: float,
    checkpointing_context: Any,
    train_data_iterator: Any,
) -> bool:
    return False


def pretrain(
    settings: Settings,
    log: dict[int, Any],
    extra_args_provider: Any = None,
    store: Any = None,
) -> int:
    """`log` gets the loss, the learning rate and the global batch of every step of
    this process."""
    job = Trained(initialize_megatron(settings, store, extra_args_provider))
    objects = setup_model_and_optimizer(job)
    return train(job, objects, log)
