"""A new configuration of the optimizer or of its wrappers is rejected, before anything
moves, where an old one like it would be."""

import unittest

from megatron_jobs import EXPERTS, ON_HOST, Settings, begin, change_of, run
from megatron_modules import stand_in

stand_in()

SHARDED = {"use_distributed_optimizer": True}
INSTANCES = "num_distributed_optimizer_instances"


def build_with(ddp=None, optimizer=None, groups=None):
    """Fields of a Build. What can't be made without Transformer Engine is set later."""
    from megatron.core.distributed import DistributedDataParallelConfig
    from megatron.core.optimizer import OptimizerConfig

    build = {}
    if ddp is not None:
        build["ddp_config"] = DistributedDataParallelConfig(grad_reduce_in_fp32=True)
        vars(build["ddp_config"]).update(ddp)
    if optimizer is not None:
        made = OptimizerConfig(optimizer="adam", lr=1e-2, min_lr=1e-3)
        vars(made).update(optimizer)
        build["optimizer_config"] = made
    if groups is not None:
        name = "parallel_state_options"
        build[name] = {**ON_HOST[name], **groups}
    return build


def refusal(rank, store, prev, curr, settings, build):
    """What `prepare`, or `join`, says."""
    job = begin(rank, store, prev, settings)
    if job.model:
        job.train(1)
    try:
        change_of(job, rank, store, curr, 8, build)
    except ValueError as error:
        return str(error)
    return "prepared"


class NewConfigurations(unittest.TestCase):
    def refused(self, build, prev="DP2", curr="PP2", count=2, **settings):
        settings = Settings(**{"bf16": True, **settings})
        results = run(count, refusal, prev, curr, settings, build)
        self.assertEqual(results, results[:1] * count)
        self.assertNotIn("\n", results[0])
        return results[0]

    def test_of_the_wrappers(self):
        both = {**SHARDED, "bf16": True}
        for ddp, words in (
            (
                {"pad_buckets_for_high_nccl_busbw": True},
                "pad_buckets_for_high_nccl_busbw is not migrated; use the usual padding "
                "of buckets",
            ),
            (
                {"use_megatron_fsdp": True},
                "use_megatron_fsdp is not migrated; use use_distributed_optimizer",
            ),
            ({INSTANCES: 2}, f"{INSTANCES} is not migrated; use one instance"),
        ):
            build = build_with({**SHARDED, **ddp}, both)
            self.assertEqual(self.refused(build), f"build.ddp_config: {words}")

    def test_of_the_optimizer(self):
        for optimizer, words in (
            ({"optimizer": "sgd"}, "sgd is not migrated; use adam"),
            (
                {"optimizer_cpu_offload": True},
                "optimizer_cpu_offload is not migrated; switch it off",
            ),
            (
                {"use_precision_aware_optimizer": True},
                "use_precision_aware_optimizer is not migrated; switch it off",
            ),
            (
                {"overlap_param_gather_with_optimizer_step": True},
                "overlap_param_gather_with_optimizer_step deals out ranges in another "
                "way, which is not migrated; switch it off",
            ),
        ):
            build = build_with(None, {"bf16": True, **optimizer})
            self.assertEqual(self.refused(build), f"build.optimizer_config: {words}")

    def test_of_the_groups(self):
        words = self.refused(build_with(groups={INSTANCES: 2}))
        self.assertIn(f"build.parallel_state_options: {INSTANCES} is not mig", words)

    def test_a_process_that_joins_is_told_too(self):
        build = build_with(None, {"optimizer": "sgd"})
        self.assertIn("use adam", self.refused(build, prev="PP1"))

    def test_the_distributed_optimizer_of_one_of_the_two(self):
        for build, words in (
            (build_with(SHARDED), "True in ddp_config and False in optimizer_config"),
            (
                build_with(None, {**SHARDED, "bf16": True}),
                "False in ddp_config and True in optimizer_config",
            ),
        ):
            self.assertEqual(
                self.refused(build),
                f"use_distributed_optimizer: is {words}; set it in both",
            )

    def test_the_distributed_optimizer_with_experts_in_one_weight(self):
        """Also on the stage that has none, which has to know."""
        model = {**EXPERTS, "moe_layer_freq": [0, 0, 1, 1], "moe_grouped_gemm": True}
        model["moe_use_legacy_grouped_gemm"] = True
        build = build_with(SHARDED, {**SHARDED, "bf16": True})
        words = self.refused(build, prev="PP2", curr="DP2", model=model)
        self.assertIn("use_distributed_optimizer with a GroupedMLP (decoder.", words)
        self.assertIn("train without moe_use_legacy_grouped_gemm", words)

    def test_masters_that_would_be_lost(self):
        self.assertEqual(
            self.refused(build_with(None, {})),
            "build.optimizer_config: keeps no masters of bf16 parameters, the old one "
            "does; set bf16 as there",
        )

    def test_what_is_moved(self):
        build = build_with(SHARDED, {**SHARDED, "bf16": True})
        for bf16 in (True, False):
            self.assertEqual(self.refused(build, bf16=bf16), "prepared")


if __name__ == "__main__":
    unittest.main()
