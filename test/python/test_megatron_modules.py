"""Experts in one module, multi-token prediction, context parallelism, and experts beside tensor parallelism."""

import unittest

from megatron_jobs import EXPERTS, STEPS, Settings, losses_without_change, migrated, run
from megatron_modules import stand_in
from test_megatron import refusal

stand_in()

BIAS = {
    "moe_router_enable_expert_bias": True,
    "moe_router_score_function": "sigmoid",
}


class Modules(unittest.TestCase):
    def check(self, prev, curr, count, tolerance, **settings):
        settings = Settings(**settings)
        results = run(count, migrated, prev, curr, count, settings)
        expected = max(run(count, losses_without_change, prev, settings), key=len)
        self.assertLess(expected[-1], expected[0])
        compared = [wrong for _, wrong, _ in results if wrong is not None]
        self.assertTrue(compared)
        for wrong in compared:
            self.assertEqual(wrong, [])
        for losses, _, (role, *_) in results:
            for mine, other in zip(losses[-STEPS:] if role else [], expected[STEPS:]):
                self.assertAlmostEqual(mine, other, delta=tolerance)

    def test_experts_of_a_grouped_linear(self):
        model = {**EXPERTS, **BIAS, "moe_grouped_gemm": True}
        self.check("DP4EP2", "PP2DP2", 4, 1e-5, distributed=True, model=model)

    def test_experts_in_one_weight(self):
        model = {**EXPERTS, "moe_grouped_gemm": True}
        model["moe_use_legacy_grouped_gemm"] = True
        self.check("DP4EP2", "PP2DP2EP2", 4, 2e-3, bf16=True, model=model)

    def test_experts_in_one_weight_of_the_distributed_optimizer(self):
        model = {**EXPERTS, "moe_grouped_gemm": True}
        model["moe_use_legacy_grouped_gemm"] = True
        settings = Settings(bf16=True, distributed=True, model=model)
        words = run(1, refusal, "", "PP1", "PP1", settings)[0]
        self.assertIn("weight1: a GroupedMLP with the distributed optimizer is", words)

    def test_multi_token_prediction(self):
        model = {"mtp_num_layers": 1, "mtp_loss_scaling_factor": 0.1}
        self.check("PP2", "TP2", 2, 1e-5, tied=False, model=model)

    def test_experts_in_multi_token_prediction(self):
        model = {"mtp_num_layers": 1, **EXPERTS}
        words = run(1, refusal, "", "PP1", "PP1", Settings(tied=False, model=model))[0]
        self.assertIn("experts in layers for multi-token prediction are not", words)

    def test_context_parallelism(self):
        self.check("CP2", "PP2CP2", 4, 1e-5, distributed=True)
        self.check("CP2DP2", "TP2DP2", 4, 1e-5)

    def test_experts_beside_tensor_parallelism(self):
        model = {**EXPERTS, **BIAS, "sequence_parallel": True}
        self.check("TP2DP2EP2", "TP2PP2", 4, 1e-5, model=model)


if __name__ == "__main__":
    unittest.main()
