"""Whether the arguments of a change give a schedule of the learning rate that Megatron's
training loop can go on with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


def check_schedule(further: Sequence[str], args: Any) -> None:
    """Raises ValueError if arguments that a change adds give the job's `args` another
    schedule, and none says whose is taken: Megatron asserts that they are equal. Also if
    they say both."""
    taken = [argument for argument in further if argument in TAKEN]
    if len({TAKEN[option] for option in taken}) > 1:
        raise ValueError(
            f"arguments: {taken[0]} and {taken[-1]} exclude each other; pass the one "
            f"that takes effect"
        )
    if taken or any(getattr(args, name, False) for name in TAKEN.values()):
        return
    options = list(SCHEDULE)
    if not getattr(args, "train_samples", None):
        options.append(GLOBAL_BATCH)  # steps of the schedule are samples
    for option in options:
        value = value_of(further, option)
        now = getattr(args, option.lstrip("-").replace("-", "_"), None)
        if value is not None and not _is_same(now, value):
            raise ValueError(
                f"arguments: {option} changes the schedule of the learning rate; add "
                f"--override-opt_param-scheduler for the schedule of the new "
                f"arguments, or --use-checkpoint-opt_param-scheduler for the old one"
            )


def _is_same(now: Any, value: str) -> bool:
    try:
        return float(now) == float(value)
    except (TypeError, ValueError):
        return str(now) == value
