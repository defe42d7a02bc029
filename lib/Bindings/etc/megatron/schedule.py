"""Whether the arguments of a change give a schedule of the learning rate that Megatron's
training loop can go on with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from etc.megatron.arguments import GLOBAL_BATCH, TAKEN, value_of

# What the schedules of the learning rate and of weight decay are made from, but the batch.
SCHEDULE = (
    "--lr",
    "--min-lr",
    "--lr-decay-style",
    "--lr-decay-iters",
    "--lr-decay-samples",
    "--lr-warmup-fraction",
    "--lr-warmup-iters",
    "--lr-warmup-samples",
    "--weight-decay",
    "--start-weight-decay",
    "--end-weight-decay",
    "--weight-decay-incr-style",
    "--train-iters",
    "--train-samples",
)

# A job counts either in iterations or in samples.
COUNTS = {
    "train_iters": ("--train-samples", "--lr-decay-samples", "--lr-warmup-samples"),
    "train_samples": ("--train-iters", "--lr-decay-iters", "--lr-warmup-iters"),
}


def check_schedule(further: Sequence[str], args: Any) -> None:
    """Raises ValueError if arguments that a change adds give the job's `args` another
    schedule, and none says whose is taken: Megatron asserts that they are equal. Also if
    they say both, or what no scheduler can have."""
    taken = [argument for argument in further if argument in TAKEN]
    if len({TAKEN[option] for option in taken}) > 1:
        raise ValueError(
            f"arguments: {taken[0]} and {taken[-1]} exclude each other; pass the one "
            f"that takes effect"
        )
    unit = "train_samples" if getattr(args, "train_samples", None) else "train_iters"
    _check_count(further, unit)
    _check_bounds(further, args)
    _check_warmup(further, args, unit)
    if taken or any(getattr(args, name, False) for name in TAKEN.values()):
        return
    options = list(SCHEDULE)
    if not getattr(args, "train_samples", None):
        options.append(GLOBAL_BATCH)  # steps of the schedule are samples
    for option in options:
        value = value_of(further, option)
        now = getattr(args, _field(option), None)
        if value is not None and not _is_same(now, value):
            raise ValueError(
                f"arguments: {option} changes the schedule of the learning rate; add "
                f"--override-opt_param-scheduler for the schedule of the new "
                f"arguments, or --use-checkpoint-opt_param-scheduler for the old one"
            )


def _check_count(further: Sequence[str], unit: str) -> None:
    for option in COUNTS[unit]:
        if value_of(further, option) is not None:
            raise ValueError(
                f"arguments: {option} is not for a job with --{unit.replace('_', '-')}"
            )


def _check_bounds(further: Sequence[str], args: Any) -> None:
    rate = _number(further, args, "--lr")
    for option in ("--min-lr", "--lr-warmup-init"):
        low = _number(further, args, option)
        if rate is not None and low is not None and low > rate:
            raise ValueError(
                f"arguments: --lr {rate:g} is less than {option} {low:g}; pass both"
            )


def _check_warmup(further: Sequence[str], args: Any, unit: str) -> None:
    """As Megatron's get_optimizer_param_scheduler has the steps, without the batch."""
    what = unit.replace("train_", "")
    whole, decay = f"--train-{what}", f"--lr-decay-{what}"
    warmup = _number(further, args, f"--lr-warmup-{what}") or 0
    fraction = _number(further, args, "--lr-warmup-fraction")
    steps = _number(further, args, decay)
    by_default = getattr(args, _field(decay), None) in (None, getattr(args, unit, None))
    if by_default and value_of(further, decay) is None:
        steps = _number(further, args, whole)
    if fraction is not None and warmup:
        raise ValueError(
            f"arguments: --lr-warmup-fraction and --lr-warmup-{what} exclude each other"
        )
    if fraction is not None and steps is not None:
        warmup = fraction * steps
    if steps is not None and not warmup < steps:
        raise ValueError(
            f"arguments: the learning rate has {warmup:g} {what} of warm-up, and "
            f"{steps:g} until its end; expected fewer of warm-up"
        )


def _number(further: Sequence[str], args: Any, option: str) -> Optional[float]:
    """The value that an option will have; None where it has none, or no number, which
    Megatron's parser reports."""
    value: Any = value_of(further, option)
    if value is None:
        value = getattr(args, _field(option), None)
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _field(option: str) -> str:
    """Of the arguments."""
    return option.lstrip("-").replace("-", "_")


def _is_same(now: Any, value: str) -> bool:
    try:
        return float(now) == float(value)
    except (TypeError, ValueError):
        return str(now) == value
