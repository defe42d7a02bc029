"""Whether the arguments of a change give schedules of the learning rate and of weight
decay that Megatron's training loop can go on with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from etc.megatron.arguments import GLOBAL_BATCH, TAKEN, value_of

# What the schedules of the learning rate and of weight decay are made from, but steps.
SCHEDULE = (
    "--lr",
    "--min-lr",
    "--lr-decay-style",
    "--weight-decay",
    "--start-weight-decay",
    "--end-weight-decay",
    "--weight-decay-incr-style",
)
WEIGHT_STYLE = "--weight-decay-incr-style"
ENDS = ("--start-weight-decay", "--end-weight-decay")
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
    _check_rate(further, args)
    _check_decay(further, args, unit)
    _check_warmup(further, args, unit)
    _check_weight_decay(further, args)
    if taken or any(getattr(args, name, False) for name in TAKEN.values()):
        return
    changed = [option for option in SCHEDULE if not _is_kept(further, args, option)]
    if _samples(further, args, unit) != _samples((), args, unit):
        what = unit.replace("train_", "")
        options = [f"--{name}-{what}" for name in ("train", "lr-decay", "lr-warmup")]
        options += ["--lr-warmup-fraction", GLOBAL_BATCH]
        changed += [option for option in options if not _is_kept(further, args, option)]
    if changed:
        what = "weight decay" if "weight-decay" in changed[0] else "the learning rate"
        raise ValueError(
            f"arguments: {changed[0]} changes the schedule of {what}; add "
            f"--override-opt_param-scheduler for the schedule of the new arguments, or "
            f"--use-checkpoint-opt_param-scheduler for the old one"
        )


def _check_count(further: Sequence[str], unit: str) -> None:
    for option in COUNTS[unit]:
        if value_of(further, option) is not None:
            raise ValueError(
                f"arguments: {option} is not for a job with --{unit.replace('_', '-')}"
            )


def _check_rate(further: Sequence[str], args: Any) -> None:
    rate = _number(further, args, "--lr")
    for option in ("--min-lr", "--lr-warmup-init"):
        low = _number(further, args, option)
        if rate is not None and low is not None and not low <= rate:
            raise ValueError(
                f"arguments: --lr {rate:g} is less than {option} {low:g}; pass both"
            )
    _check_not_negative(further, args, "--min-lr")


def _check_decay(further: Sequence[str], args: Any, unit: str) -> None:
    what = unit.replace("train_", "")
    whole, decay, _ = _steps(further, args, unit)
    for option, count in ((f"--train-{what}", whole), (f"--lr-decay-{what}", decay)):
        if count is not None and not count > 0:
            raise ValueError(
                f"arguments: {option} {count:g} leaves no steps; pass a positive number"
            )
    annealing = f"--lr-wsd-decay-{what}"
    is_wsd = _value(further, args, "--lr-decay-style") == "WSD"
    if is_wsd and _value(further, args, annealing) is None:
        raise ValueError(
            f"arguments: --lr-decay-style WSD needs {annealing}; pass both"
        )


def _check_warmup(further: Sequence[str], args: Any, unit: str) -> None:
    what = unit.replace("train_", "")
    has_warmup = _number(further, args, f"--lr-warmup-{what}")
    if has_warmup and _number(further, args, "--lr-warmup-fraction") is not None:
        raise ValueError(
            f"arguments: --lr-warmup-fraction and --lr-warmup-{what} exclude each other"
        )
    _, decay, warmup = _steps(further, args, unit)
    if decay is not None and not warmup < decay:
        raise ValueError(
            f"arguments: the learning rate has {warmup:g} {what} of warm-up, and "
            f"{decay:g} until its end; expected fewer of warm-up"
        )


def _check_weight_decay(further: Sequence[str], args: Any) -> None:
    """Megatron's arguments have both ends also where the style is constant, and its
    command line has none."""
    style = _value(further, args, WEIGHT_STYLE)
    if style is None:
        return
    now = getattr(args, _field(WEIGHT_STYLE), None)
    if style == "constant":
        _check_constant(further, now in (None, "constant"))
        _check_not_negative(further, args, "--weight-decay")
        return
    for option in ENDS:
        if _value(further, None if now == "constant" else args, option) is None:
            raise ValueError(
                f"arguments: {WEIGHT_STYLE} {style} needs {option}; pass both"
            )
        _check_not_negative(further, args, option)
    start, end = (_number(further, args, option) for option in ENDS)
    if start is not None and end is not None and not end >= start:
        raise ValueError(
            f"arguments: {ENDS[1]} {end:g} is less than {ENDS[0]} {start:g}; pass both"
        )


def _check_constant(further: Sequence[str], was_constant: bool) -> None:
    for option in ENDS:
        if value_of(further, option) is not None:
            raise ValueError(
                f"arguments: {option} is not for {WEIGHT_STYLE} constant; pass "
                f"--weight-decay in its place"
            )
    if not was_constant:
        raise ValueError(
            f"arguments: {WEIGHT_STYLE} constant is not for a job with {ENDS[0]}; leave "
            f"it out, and pass the same {ENDS[0]} and {ENDS[1]}"
        )


def _check_not_negative(further: Sequence[str], args: Any, option: str) -> None:
    value = _number(further, args, option)
    if value is not None and not value >= 0:
        raise ValueError(
            f"arguments: {option} {value:g} is negative; pass 0 or a positive number"
        )


def _samples(
    further: Sequence[str], args: Any, unit: str
) -> tuple[Optional[float], ...]:
    """The steps of Megatron's scheduler, which it compares."""
    steps = _steps(further, args, unit)
    batch = _number(further, args, GLOBAL_BATCH)
    if unit == "train_samples" or batch is None:
        return steps
    return tuple(None if count is None else count * batch for count in steps)


def _steps(
    further: Sequence[str], args: Any, unit: str
) -> tuple[Optional[float], Optional[float], float]:
    """Of the job, of the decay, and of the warm-up, as Megatron's
    get_optimizer_param_scheduler has them, without the batch."""
    what = unit.replace("train_", "")
    option = f"--lr-decay-{what}"
    whole = _number(further, args, f"--train-{what}")
    decay = _number(further, args, option)
    by_default = (None, getattr(args, unit, None))
    if getattr(args, _field(option), None) in by_default:
        decay = whole if value_of(further, option) is None else decay
    warmup = _number(further, args, f"--lr-warmup-{what}") or 0.0
    fraction = _number(further, args, "--lr-warmup-fraction")
    if fraction is not None and decay is not None:
        warmup = fraction * decay
    return whole, decay, warmup


def _number(further: Sequence[str], args: Any, option: str) -> Optional[float]:
    """The value that an option will have; None where it has none, or no number, which
    Megatron's parser reports."""
    try:
        return float(_value(further, args, option))
    except (TypeError, ValueError):
        return None


def _value(further: Sequence[str], args: Any, option: str) -> Any:
    """The one that an option will have; None where it has none."""
    value = value_of(further, option)
    return getattr(args, _field(option), None) if value is None else value


def _field(option: str) -> str:
    """Of the arguments."""
    return option.lstrip("-").replace("-", "_")


def _is_kept(further: Sequence[str], args: Any, option: str) -> bool:
    value = value_of(further, option)
    now: Any = getattr(args, _field(option), None)
    try:
        return value is None or float(now) == float(value)
    except (TypeError, ValueError):
        return str(now) == value
