"""Megatron-Core's models, trained, migrated over the doubles of CUDA and NCCL, and
trained on."""

import random
import unittest

from gpu_doubles import Environment, Gpu
from megatron_jobs import STEPS, Settings, losses_without_change, migrated, run


def on_gpu(rank, store, *arguments):
    gpu = Gpu(rank)
    gpu.takes_over()
    return migrated(rank, store, *arguments), gpu.misuse()


class OnDoubles(unittest.TestCase):
    def check(self, prev, curr, count, tolerance, **settings):
        settings = Settings(**settings)
        seed = random.randrange(1 << 30)
        with Environment(ETC_DOUBLE_SEED=str(seed)):
            results = run(count, on_gpu, prev, curr, count, settings)
        expected = max(run(count, losses_without_change, prev, settings), key=len)
        for (losses, wrong, (role, *_)), misuse in results:
            self.assertEqual(misuse, "", f"ETC_DOUBLE_SEED={seed}")
            self.assertIn(wrong, ([], None), f"ETC_DOUBLE_SEED={seed}")
            if role is not None:
                for mine, other in zip(losses[-STEPS:], expected[STEPS:]):
                    self.assertAlmostEqual(mine, other, delta=tolerance)
        self.assertIn([], [wrong for (_, wrong, _), _ in results])

    def test_stages_become_tensor_ranks(self):
        self.check("PP2", "TP2", 2, 1e-5)

    def test_distributed_optimizer(self):
        self.check("PP2DP2", "TP2DP2", 4, 1e-3, bf16=True, distributed=True)


if __name__ == "__main__":
    unittest.main()
