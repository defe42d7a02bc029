"""The batch of a new configuration: whether the ranks divide it, its ramp, its steps."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from etc.errors import UnsatisfiableError


def check_batch(global_batch: int, dp: int, micro_batch: int) -> None:
    """Raises UnsatisfiableError, with the nearest valid sizes, unless `global_batch`
    samples are a whole number of micro batches on each of `dp` ranks; ValueError if a
    size is not positive."""
    for name, size in (("global", global_batch), ("micro", micro_batch)):
        if size < 1:
            raise ValueError(f"{name}_batch: expected a positive size, got {size}")
    unit = dp * micro_batch
    rest = global_batch % unit
    if rest == 0:
        return
    below, above = global_batch - rest, global_batch - rest + unit
    near = f"that are: {below}, {above}" if below else f"that is: {above}"
    raise UnsatisfiableError(
        f"global batch {global_batch} is not divisible by DP {dp} x micro batch "
        f"{micro_batch}; nearest {near}"
    )


def _check_last(global_batch: int, start: int, increment: int) -> None:
    """Raises UnsatisfiableError unless a ramp leads to this size."""
    steps, rest = divmod(global_batch - start, increment)
    if steps > 0 and rest == 0:
        return
    below = start + max(steps, 0) * increment
    near = f"that are: {below}, {below + increment}"
    if below == start:
        near = f"that is: {start + increment}"
    raise UnsatisfiableError(
        f"global batch {global_batch} is not reached by the ramp from {start} in steps "
        f"of {increment}; nearest {near}"
    )


class Batches:
    """Global and micro batch size, in samples, and a ramp of the global size."""

    def __init__(
        self, global_batch: int, micro_batch: int, ramp: Optional[Sequence[int]] = None
    ) -> None:
        """`ramp`: first global size, increment, samples until the last; or None."""
        self.global_batch, self.micro_batch, self.ramp = global_batch, micro_batch, ramp

    @classmethod
    def of_trainer(
        cls, global_batch: Optional[int], micro_batch: Optional[int]
    ) -> Batches:
        """The given sizes, otherwise those of Megatron-Core's micro-batch calculator.
        Its ramp goes on, to the given size if there is one.

        Raises ValueError if neither is available.
        """
        from megatron.core import num_microbatches_calculator as module

        calculator = module._GLOBAL_NUM_MICROBATCHES_CALCULATOR
        ramp = None
        if calculator is not None:
            if micro_batch is None:
                micro_batch = calculator.micro_batch_size
            current = calculator.current_global_batch_size
            last = getattr(calculator, "global_batch_size", current)
            if current != last:
                ramp = [
                    calculator.start_global_batch_size,
                    calculator.batch_size_increment,
                    calculator.ramup_samples,  # Megatron's spelling
                ]
            if global_batch is None:
                global_batch = last
        if global_batch is None or micro_batch is None:
            raise ValueError(
                "global_batch, micro_batch: pass both, or initialize Megatron-Core's "
                "num_microbatches_calculator"
            )
        return cls(global_batch, micro_batch, ramp)

    def check(self, dp: int) -> None:
        """Checks the batch of every step of the ramp; see `check_batch`."""
        steps = [self.global_batch]
        if self.ramp:
            start, increment, _ = self.ramp
            _check_last(self.global_batch, start, increment)
            steps = [*range(start, self.global_batch, increment), self.global_batch]
        for batch in steps:
            check_batch(batch, dp, self.micro_batch)

    def configure(self, rank: int, dp: int, consumed_samples: int) -> None:
        """Sets Megatron-Core's calculator for the new configuration."""
        from megatron.core import num_microbatches_calculator as calculator

        calculator.reconfigure_num_microbatches_calculator(
            rank, self.ramp, self.global_batch, self.micro_batch, dp
        )
        calculator.update_num_microbatches(consumed_samples, consistency_check=False)


def iterations_of(args: Any, iteration: int, consumed_samples: int) -> int:
    """The last iteration of a job that ends after `args.train_samples`, by Megatron-
    Core's calculator. Megatron counts as if all iterations had had the batches of its
    present arguments."""
    from megatron.core import num_microbatches_calculator as calculator

    ramp = getattr(args, "rampup_batch_size", None)
    while ramp and consumed_samples <= min(int(ramp[2]), args.train_samples):
        calculator.update_num_microbatches(consumed_samples, consistency_check=False)
        consumed_samples += calculator.get_current_global_batch_size()
        iteration += 1
    left = max(args.train_samples - consumed_samples, 0)
    return iteration + left // args.global_batch_size
