"""Which configurations of the optimizer and of its wrappers a change can start from, and
which it can end in."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from etc.megatron.build import Build, Wrapping

INSTANCES = "num_distributed_optimizer_instances"
SHARDED = "use_distributed_optimizer"


def check_ddp_config(config: Any, where: str = "ddp_config") -> None:
    """Raises ValueError if the ranks' parts of the state are not those of a plan."""
    for name, value, wanted in (
        ("use_megatron_fsdp", False, SHARDED),
        ("pad_buckets_for_high_nccl_busbw", False, "the usual padding of buckets"),
        (INSTANCES, 1, "one instance"),
    ):
        if getattr(config, name, value) != value:
            raise ValueError(f"{where}: {name} is not migrated; use {wanted}")


def check_optimizer_config(config: Any, where: str = "optimizer") -> None:
    """Raises ValueError if the optimizer has another state than Adam in fp32."""
    if config.optimizer != "adam":
        raise ValueError(f"{where}: {config.optimizer} is not migrated; use adam")
    for name in ("optimizer_cpu_offload", "use_precision_aware_optimizer"):
        if getattr(config, name, False):
            raise ValueError(f"{where}: {name} is not migrated; switch it off")
    if getattr(config, "overlap_param_gather_with_optimizer_step", False):
        raise ValueError(
            f"{where}: overlap_param_gather_with_optimizer_step deals out ranges in "
            f"another way, which is not migrated; switch it off"
        )


def check_build(build: Build) -> None:
    """The same of a new configuration."""
    if build.ddp_config is not None:
        check_ddp_config(build.ddp_config, "build.ddp_config")
    if build.optimizer_config is not None:
        check_optimizer_config(build.optimizer_config, "build.optimizer_config")
    if build.parallel_state_options.get(INSTANCES, 1) != 1:
        raise ValueError(
            f"build.parallel_state_options: {INSTANCES} is not migrated; use one "
            f"instance"
        )


def check_wrapping(
    old: Wrapping, new: Wrapping, precision: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Raises ValueError if the new wrapping does not fit together, or does not fit the
    state. `rows` are those of the table of the model."""
    sharded = getattr(new.ddp_config, SHARDED), getattr(new.optimizer_config, SHARDED)
    if sharded[0] != sharded[1]:
        raise ValueError(
            f"{SHARDED}: is {sharded[0]} in ddp_config and {sharded[1]} in "
            f"optimizer_config; set it in both"
        )
    grouped = [row["name"] for row in rows if _is_grouped(row["name"])]
    if sharded[0] and grouped:
        raise ValueError(
            f"build.ddp_config: {SHARDED} with a GroupedMLP ({grouped[0]}) is not "
            f"migrated; leave it off, or train without moe_use_legacy_grouped_gemm"
        )
    had, has = _has_masters(old.optimizer_config), _has_masters(new.optimizer_config)
    if precision != "fp32" and had != has:
        raise ValueError(
            f"build.optimizer_config: keeps {'' if has else 'no '}masters of "
            f"{precision} parameters, the old one {'does' if had else 'does not'}; set "
            f"{precision} as there"
        )


def _is_grouped(name: str) -> bool:
    """Of a GroupedMLP, whose weight1 and weight2 are each those of several experts."""
    return name.endswith((".weight1.{expert}", ".weight2.{expert}"))


def _has_masters(config: Any) -> bool:
    return bool(config.bf16 or config.fp16 or getattr(config, SHARDED))
