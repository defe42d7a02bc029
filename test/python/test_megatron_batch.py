"""The global batch of a new configuration, and its ramp."""

import unittest

import etc
from megatron_jobs import Settings, begin, change_of, run


class Divisible(unittest.TestCase):
    def test_a_batch_that_the_ranks_do_not_divide(self):
        from etc.megatron import check_batch

        check_batch(96, 4, 2)
        for arguments, words in (
            (
                (96, 5, 2),
                "global batch 96 is not divisible by DP 5 x micro batch 2; nearest "
                "that are: 90, 100",
            ),
            (
                (3, 4, 2),
                "global batch 3 is not divisible by DP 4 x micro batch 2; nearest "
                "that is: 8",
            ),
        ):
            with self.assertRaises(etc.UnsatisfiableError) as raised:
                check_batch(*arguments)
            self.assertEqual(str(raised.exception), words)

    def test_sizes_that_are_not_positive(self):
        from etc.megatron.batch import Batches

        for sizes, words in (
            ((0, 2), "global_batch: expected a positive size, got 0"),
            ((-8, 2), "global_batch: expected a positive size, got -8"),
            ((8, -2), "micro_batch: expected a positive size, got -2"),
            ((8, 0), "micro_batch: expected a positive size, got 0"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                Batches(*sizes).check(2)

    def test_a_ramp_of_batches(self):
        from etc.megatron.batch import Batches

        Batches(16, 2, [4, 4, 100]).check(2)
        with self.assertRaisesRegex(etc.UnsatisfiableError, "global batch 4 is not"):
            Batches(16, 2, [4, 4, 100]).check(4)

    def test_the_last_batch_of_a_ramp(self):
        from etc.megatron.batch import Batches

        Batches(12, 2, [4, 4, 100]).check(2)
        for last, nearest in (
            (10, "that are: 8, 12"),
            (6, "that is: 8"),
            (4, "that is: 8"),
            (2, "that is: 8"),
        ):
            with self.assertRaises(etc.UnsatisfiableError) as raised:
                Batches(last, 2, [4, 4, 100]).check(1)
            self.assertEqual(
                str(raised.exception),
                f"global batch {last} is not reached by the ramp from 4 in steps of 4; "
                f"nearest {nearest}",
            )


class Ramps(unittest.TestCase):
    """From 4 samples to 8, in steps of 2, over 100 samples."""

    def sizes(self, before, **options):
        """Of the global batch: after a change, 60 samples later, and at the end."""
        return run(1, ramping, before, options)[0]

    def test_it_goes_on(self):
        self.assertEqual(self.sizes(8), [4, 6, 8])

    def test_it_goes_on_to_the_batch_that_is_passed(self):
        self.assertEqual(self.sizes(8, global_batch=8), [4, 6, 8])
        self.assertEqual(self.sizes(8, global_batch=12), [4, 8, 12])

    def test_a_batch_of_0_is_not_the_trainers(self):
        for name in ("global", "micro"):
            with self.assertRaisesRegex(AssertionError, f"{name}_batch: expected a"):
                self.sizes(108, **{f"{name}_batch": 0})

    def test_when_it_is_over_any_batch_will_do(self):
        self.assertEqual(self.sizes(108, global_batch=2), [2, 2, 2])
        self.assertEqual(self.sizes(108), [8, 8, 8])


def ramping(rank, store, consumed, options):
    from megatron.core import num_microbatches_calculator as calculator

    job = begin(rank, store, "PP1", Settings())
    job.train(1)
    calculator.reconfigure_num_microbatches_calculator(rank, [4, 2, 100], 8, 2, 1)
    calculator.update_num_microbatches(consumed, consistency_check=False)
    change_of(job, rank, store, "PP1", 1, **options).run(job.iteration, consumed)
    sizes = []
    for more in (0, 60, 200):
        calculator.update_num_microbatches(consumed + more)
        sizes.append(calculator.get_current_global_batch_size())
    return sizes


if __name__ == "__main__":
    unittest.main()
