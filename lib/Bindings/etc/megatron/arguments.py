"""The command line of Megatron's training scripts, for another configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional

# By field of a configuration. Megatron takes the last of several values.
SIZED = {
    "tp": "--tensor-model-parallel-size",
    "pp": "--pipeline-model-parallel-size",
    "cp": "--context-parallel-size",
    "ep": "--expert-model-parallel-size",
    "etp": "--expert-tensor-parallel-size",
    "vpp": "--num-virtual-stages-per-pipeline-rank",
    "first_stage_layers": "--decoder-first-pipeline-num-layers",
    "last_stage_layers": "--decoder-last-pipeline-num-layers",
    "pipeline_layout": "--pipeline-model-parallel-layout",
}
FLAGS = {
    "account_for_embedding": "--account-for-embedding-in-pipeline-split",
    "account_for_loss": "--account-for-loss-in-pipeline-split",
}
PIPELINE_FIRST = "--use-tp-pp-dp-mapping"
VOCABULARY = "--padded-vocab-size"
# Other names of the same.
OLD = ("--num-layers-per-virtual-pipeline-stage",)
# What decides which state there is, and where. The first ones have a value.
VALUED = (
    "--optimizer",
    "--num-distributed-optimizer-instances",
    "--ddp-bucket-size",
    "--ddp-num-buckets",
)
STATE = (
    *VALUED,
    "--use-distributed-optimizer",
    "--overlap-grad-reduce",
    "--overlap-param-gather-with-optimizer-step",
    "--ddp-pad-buckets-for-high-nccl-busbw",
    "--optimizer-cpu-offload",
    "--use-precision-aware-optimizer",
    "--use-megatron-fsdp",
    "--use-custom-fsdp",
    "--use-torch-fsdp2",
    "--moe-use-legacy-grouped-gemm",
    "--bf16",
    "--fp16",
)


def rewritten(
    argv: Sequence[str],
    layout: Mapping[str, Any],
    vocabulary: Optional[int],
    further: Sequence[str],
) -> list[str]:
    """A command line whose job has the configuration `layout`.

    Args:
        argv: that of the old configuration.
        layout: as `grid.read_layout` returns it.
        vocabulary: the number of rows of the embedding, which Megatron would pad by
            the tensor-parallel size otherwise; None leaves it to Megatron.
        further: other arguments that take effect.
    """
    sized = {*SIZED.values(), VOCABULARY, *OLD}
    flags = {*FLAGS.values(), PIPELINE_FIRST}
    made = _without(argv, sized, flags)
    for name, option in SIZED.items():
        value = layout.get(name)
        if value is not None and (name != "vpp" or value > 1):
            made += [option, str(value)]
    made += [option for name, option in FLAGS.items() if layout.get(name)]
    if layout["order"] == "tp-cp-ep-pp-dp":
        made.append(PIPELINE_FIRST)
    if vocabulary is not None:
        made += [VOCABULARY, str(vocabulary)]
    return made + list(further)


def check_further(further: Sequence[str], args: Any) -> None:
    """Raises ValueError if arguments that a change adds give the optimizer other state
    than the job's `args`: no plan of an elastic job follows that."""
    for place, argument in enumerate(further):
        option = argument.partition("=")[0]
        if option not in STATE:
            continue
        now = getattr(args, option.lstrip("-").replace("-", "_"), None)
        is_same = now
        if option in VALUED:
            is_same = str(now) == _value_at(further, place)
        if not is_same:
            raise ValueError(
                f"arguments: {option} changes the optimizer's state or where it is, "
                f"which is not migrated; leave it as it is"
            )


def value_of(arguments: Sequence[str], option: str) -> Optional[str]:
    """The last value of an option, "--option value" or "--option=value". Raises
    ValueError if it has none."""
    found = None
    for place, argument in enumerate(arguments):
        if argument.partition("=")[0] == option:
            found = _value_at(arguments, place)
    return found


def size_of(arguments: Sequence[str], option: str) -> Optional[int]:
    """The same, of an option that is a number of samples. Raises ValueError unless it
    is positive."""
    value = value_of(arguments, option)
    if value is None:
        return None
    if not value.isdecimal() or int(value) == 0:
        raise ValueError(
            f"arguments: {option}: expected a positive number, got {value!r}"
        )
    return int(value)


def set_rank(rank: int, world: int) -> None:
    """In the environment, where Megatron reads both."""
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), str(world)


def _value_at(arguments: Sequence[str], place: int) -> str:
    option, equals, value = arguments[place].partition("=")
    if equals:
        return value
    if place + 1 == len(arguments):
        raise ValueError(f"arguments: {option} has no value")
    return arguments[place + 1]


def _without(argv: Sequence[str], sized: set[str], flags: set[str]) -> list[str]:
    left: list[str] = []
    is_value = False
    for argument in argv:
        name, equals, _ = argument.partition("=")
        if is_value:
            is_value = False
        elif name in sized:
            is_value = not equals
        elif argument not in flags:
            left.append(argument)
    return left
