"""The command line of Megatron's training scripts, for another configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from etc.megatron.batch import Batches

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
CONFIGURATION = (*SIZED.values(), *FLAGS.values(), PIPELINE_FIRST, VOCABULARY, *OLD)
GLOBAL_BATCH = "--global-batch-size"
MICRO_BATCH = "--micro-batch-size"
BUCKET = "--ddp-bucket-size"
BUCKETS = "--ddp-num-buckets"
# With the number of their values. The second one is of later versions.
RAMPS = {"--rampup-batch-size": 3, "--step-batch-size-schedule": 1}
# What decides which state the optimizer has, in which number format, and which rank has
# it. These have a value; they are fields of the arguments under the names behind them.
VALUED = {
    "--optimizer": "optimizer",
    "--optimizer-offload-fraction": "optimizer_offload_fraction",
    "--fp8-format": "fp8",
    "--fp8-recipe": "fp8_recipe",
    "--fp4-format": "fp4",
    "--fp4-recipe": "fp4_recipe",
    "--te-precision-config-file": "te_precision_config_file",
    "--main-grads-dtype": "main_grads_dtype",
    "--main-params-dtype": "main_params_dtype",
    "--exp-avg-dtype": "exp_avg_dtype",
    "--exp-avg-sq-dtype": "exp_avg_sq_dtype",
    "--num-distributed-optimizer-instances": "num_distributed_optimizer_instances",
    BUCKET: "ddp_bucket_size",
    BUCKETS: "ddp_num_buckets",
    "--data-parallel-sharding-strategy": "data_parallel_sharding_strategy",
    "--outer-dp-sharding-strategy": "outer_dp_sharding_strategy",
    "--yaml-cfg": "yaml_cfg",
}
# These have none.
SWITCHES = {
    "--bf16": "bf16",
    "--fp16": "fp16",
    "--fp8-param-gather": "fp8_param_gather",
    "--fp4-param-gather": "fp4_param",
    "--first-last-layers-bf16": "first_last_layers_bf16",
    "--use-precision-aware-optimizer": "use_precision_aware_optimizer",
    "--optimizer-cpu-offload": "optimizer_cpu_offload",
    "--use-torch-optimizer-for-cpu-offload": "use_torch_optimizer_for_cpu_offload",
    "--use-distributed-optimizer": "use_distributed_optimizer",
    "--overlap-grad-reduce": "overlap_grad_reduce",
    "--overlap-param-gather-with-optimizer-step": (
        "overlap_param_gather_with_optimizer_step"
    ),
    "--ddp-pad-buckets-for-high-nccl-busbw": "ddp_pad_buckets_for_high_nccl_busbw",
    "--use-megatron-fsdp": "use_megatron_fsdp",
    "--use-custom-fsdp": "use_custom_fsdp",
    "--use-torch-fsdp2": "use_torch_fsdp2",
    "--enable-full-sharding-in-hsdp": "enable_full_sharding_in_hsdp",
    "--moe-use-legacy-grouped-gemm": "moe_use_legacy_grouped_gemm",
}
# Whose schedule is taken, the command line's or the state's; each has two spellings, and
# Megatron takes one of the two.
TAKEN = {
    "--override-opt_param-scheduler": "override_opt_param_scheduler",
    "--override-opt-param-scheduler": "override_opt_param_scheduler",
    "--use-checkpoint-opt_param-scheduler": "use_checkpoint_opt_param_scheduler",
    "--use-checkpoint-opt-param-scheduler": "use_checkpoint_opt_param_scheduler",
}
# Arguments parsed by Megatron have torch's types in the place of these names.
DTYPES = {
    "torch.float32": "fp32",
    "torch.float16": "fp16",
    "torch.bfloat16": "bf16",
    "torch.uint8": "fp8",
}


def rewritten(
    argv: Sequence[str],
    layout: Mapping[str, Any],
    vocabulary: Optional[int],
    further: Sequence[str],
    batches: Batches,
) -> list[str]:
    """A command line whose job has the configuration `layout`.

    Args:
        argv: that of the job's first configuration.
        layout: as `grid.read_layout` returns it, with the size of gradient buckets,
            which otherwise depends on the number of replicas or of parameters.
        vocabulary: the number of rows of the embedding, which Megatron would pad by
            the tensor-parallel size otherwise; None leaves it to Megatron.
        further: other arguments that take effect.
        batches: the sizes that were checked. Without a ramp, as when it is over, the
            command line has none: Megatron would check it against the new size.
    """
    replaced = dict.fromkeys((*SIZED.values(), VOCABULARY, *OLD), 1)
    replaced.update(dict.fromkeys((*FLAGS.values(), PIPELINE_FIRST), 0))
    if not batches.ramp:
        replaced.update(RAMPS)
    bucket = layout.get("bucket_size", "default")
    if bucket != "default":
        replaced.update({BUCKET: 1, BUCKETS: 1})
    line = [*argv, *further]
    replaced.update(dict.fromkeys(_overruled(line), 0))
    made = _without(line, replaced)
    for name, option in SIZED.items():
        value = layout.get(name)
        if value is not None and (name != "vpp" or value > 1):
            made += [option, str(value)]
    made += [option for name, option in FLAGS.items() if layout.get(name)]
    if layout["order"] == "tp-cp-ep-pp-dp":
        made.append(PIPELINE_FIRST)
    if vocabulary is not None:
        made += [VOCABULARY, str(vocabulary)]
    if bucket != "default":
        made += [BUCKET, str(bucket)]
    made += [GLOBAL_BATCH, str(batches.global_batch)]
    return made + [MICRO_BATCH, str(batches.micro_batch)]


def check_further(further: Sequence[str], args: Any) -> None:
    """Raises ValueError if arguments that a change adds set its configuration, which
    has to be the plan's, or give the optimizer other state than the job's `args`: no
    plan of an elastic job follows that."""
    for place, argument in enumerate(further):
        option = argument.partition("=")[0]
        if option in CONFIGURATION:
            raise ValueError(
                f"arguments: {option} is set by the change itself; pass it in curr, or "
                f"leave it out"
            )
        if option in RAMPS:
            raise ValueError(
                f"arguments: {option} cannot change; the ramp of the job goes on, to "
                f"{GLOBAL_BATCH}"
            )
        if option in VALUED:
            now = str(getattr(args, VALUED[option], None))
            is_same = DTYPES.get(now, now) == _value_at(further, place)
        else:
            is_same = option not in SWITCHES or getattr(args, SWITCHES[option], False)
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


def _overruled(line: Sequence[str]) -> list[str]:
    """The options whose opposite a later change has added."""
    taken = [TAKEN[argument] for argument in line if argument in TAKEN]
    return [option for option in TAKEN if taken and TAKEN[option] != taken[-1]]


def _value_at(arguments: Sequence[str], place: int) -> str:
    option, equals, value = arguments[place].partition("=")
    if equals:
        return value
    if place + 1 == len(arguments):
        raise ValueError(f"arguments: {option} has no value")
    return arguments[place + 1]


def _without(argv: Sequence[str], options: Mapping[str, int]) -> list[str]:
    """What is left without these options, each with as many values."""
    left: list[str] = []
    values = 0
    for argument in argv:
        name, equals, _ = argument.partition("=")
        if values:
            values -= 1
        elif name in options:
            values = 0 if equals else options[name]
        else:
            left.append(argument)
    return left
