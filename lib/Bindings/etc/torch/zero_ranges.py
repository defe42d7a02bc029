"""Where DeepSpeed's ZeRO keeps what a rank has of each parameter: a range of a flat
tensor. Its names stand here alone; they are those of 0.19."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from etc.torch.entries import plain_name


class Range(NamedTuple):
    """A parameter's elements [first, last), from `start` on in a flat tensor."""

    name: str
    shape: tuple[int, ...]
    number: int
    """Of its group of parameters."""
    flat: Any
    """This rank's masters of the group, or of a part of it."""
    start: int
    first: int
    last: int


def masters(engine: Any) -> Iterator[Range]:
    """Of all parameters that are trained, also those of which this rank has nothing."""
    module, zero = engine.module, engine.optimizer
    names = {id(p): plain_name(name) for name, p in module.named_parameters()}
    if engine.zero_optimization_stage() == 3:
        for part, parameters in enumerate(zero.fp16_groups):
            for parameter in parameters:
                _, start, _ = zero.grad_position[zero.get_param_id(parameter)]
                yield Range(
                    names[id(parameter)],
                    tuple(parameter.ds_shape),
                    zero.sub_group_to_group_id[part],
                    zero.fp32_partitioned_groups_flat[part],
                    start,
                    *_of_rank(parameter),
                )
        return
    for number, parameters in enumerate(zero.bit16_groups):
        flat = zero.single_partition_of_fp32_groups[number]
        for parameter in parameters:
            start = first = count = 0
            if parameter._hp_mapping is not None:
                start = parameter._hp_mapping.hp_fragment_address.start
                first = parameter._hp_mapping.lp_fragment_address.start
                count = parameter._hp_mapping.lp_fragment_address.numel
            yield Range(
                names[id(parameter)],
                tuple(parameter.shape),
                number,
                flat,
                start,
                first,
                first + count,
            )


def _of_rank(parameter: Any) -> tuple[int, int]:
    """What this rank has of a parameter of stage 3, without the padding."""
    count = parameter.partition_numel()
    rank = torch.distributed.get_rank(parameter.ds_process_group)
    first = min(rank * count, parameter.ds_numel)
    return first, min(first + count, parameter.ds_numel)


def is_partitioned(parameter: Any) -> bool:
    """Whether it has itself only a range on each rank: in stage 3."""
    return hasattr(parameter, "ds_id")


def parameter_range(name: str, parameter: Any) -> Range:
    """Of a parameter of stage 3 itself."""
    shape, flat = tuple(parameter.ds_shape), parameter.ds_tensor.detach()
    return Range(name, shape, 0, flat, 0, *_of_rank(parameter))


def gather_again(engine: Any) -> None:
    """Small parameters of stage 3 are whole between steps. Collective over its ranks."""
    if engine.zero_optimization_stage() == 3:
        kept = engine.optimizer.persistent_parameters
        if kept:
            kept[0].partition(kept, has_been_updated=False)
            kept[0].all_gather(kept)


def why_not(engine: Any) -> str:
    """What of an engine is not moved, and the remedy; or nothing."""
    zero, stage = engine.optimizer, engine.zero_optimization_stage()
    if stage and not hasattr(zero, "optimizer"):
        return "has no optimizer; pass one to initialize"
    if type(zero).__name__ == "BF16_Optimizer":
        return "has DeepSpeed's BF16_Optimizer; leave grad_accum_dtype out"
    known = "fp32_partitioned_groups_flat" if stage == 3 else "bit16_groups"
    if stage not in (1, 2, 3) or not hasattr(zero, known):
        return (
            f"has a {type(zero).__name__} of stage {stage}; use ZeRO of stage 1, 2 or 3, "
            f"or shard the model by fully_shard"
        )
    groups = zero.optimizer.param_groups
    for has, problem in (
        (_is_offloaded(zero), "keeps state on the host or on disks; switch it off"),
        (
            getattr(zero, "round_robin_gradients", False),
            "has round_robin_gradients, with which DeepSpeed does not say where it "
            "keeps what; switch it off",
        ),
        (
            getattr(zero, "zero_hpz_partition_size", 1) > 1
            or type(zero).__name__.lower().startswith("mics"),
            "partitions inside nodes (hpZ, MiCS); switch that off",
        ),
        (
            engine.fp16_enabled() or getattr(zero, "torch_autocast_gradscaler", None),
            "trains in fp16, whose loss scale is not moved; use bf16",
        ),
        (
            engine.micro_steps % engine.gradient_accumulation_steps()
            or getattr(engine, "_unmanaged_backward_count", 0),
            "has accumulated gradients, which are not moved; change after a step of the "
            "optimizer",
        ),
        (
            any(group.get("moe") for group in groups),
            "has experts, which are partitioned over other ranks; shard the model by "
            "fully_shard",
        ),
    ):
        if has:
            return problem
    return ""


def _is_offloaded(zero: Any) -> bool:
    names = ("cpu_offload", "offload_optimizer", "offload_param")
    return any(getattr(zero, name, False) for name in names)
