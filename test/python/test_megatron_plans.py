"""A plan that is passed is compared with the trainer and with curr, before anything
moves."""

import unittest
from types import SimpleNamespace
from unittest import mock

import etc
from megatron_jobs import Settings, begin, change_of, run

PIPELINE_FIRST = "tp-cp-ep-pp-dp"
SPLIT = "first_stage_layers"


def answer(rank, store, prev, curr, made_of, made_for, settings):
    """What a change with a plan is refused with; the plan is right but for some fields
    of its two sides."""
    from megatron.core import parallel_state

    from etc.megatron.describe import shards_of
    from etc.megatron.grid import read_layout

    job = begin(rank, store, prev, settings)
    job.train(1)
    described = etc.describe(job.model, job.optimizer, parallel_state)
    described.layout.update(made_of)
    end = {**read_layout(curr), **shards_of(job.model[0].ddp_config), **made_for}
    count = len(described.layout["devices"])
    plan = described.plan(curr=end, cluster=f"1x{count}")
    build = {"seed_rng": job.seed}
    try:
        change = change_of(job, rank, store, curr, count, build, plan=plan)
    except ValueError as error:
        return str(error)
    job.take(change.run(job.iteration, job.consumed))
    job.train(1)
    return "moved"


def compare_stages(layers, made_for, curr):
    """Without a planner, those of a plan and of the change that it is passed to."""
    from etc.megatron import plan_check

    sizes = {"layers": layers, "hidden": 8, "heads": 2, "vocab": 16, "seq": 4}
    plan = etc.plan(model=sizes, prev="PP1", curr=made_for, cluster=[8])
    alone = {"pp": 1, "vpp": 1}
    job = SimpleNamespace(layout=alone, model={"layers": layers})
    with mock.patch.object(plan_check, "planner", return_value=None):
        plan_check.check_stages(plan, job, {**alone, **curr})


class PassedPlans(unittest.TestCase):
    def answers(self, prev, curr, made_of=None, made_for=None, count=2, **settings):
        sides = (made_of or {}, made_for or {})
        results = run(count, answer, prev, curr, *sides, Settings(**settings))
        self.assertEqual(results, results[:1] * count)
        return results[0]

    def test_for_other_sizes(self):
        for prev, curr, made_of, made_for, words in (
            ("PP2", "TP2", {}, {"pp": 2, "tp": 1}, "ends in PP2, curr has TP 2"),
            (
                "TP2",
                "PP2",
                {"pp": 2, "tp": 1},
                {},
                "begins in PP2, the trainer has TP 2",
            ),
            (
                "DP2",
                "PP2",
                {"fsdp": 2},
                {},
                "begins in PP1FSDP2, the trainer has FSDP 1",
            ),
        ):
            said = self.answers(prev, curr, made_of, made_for)
            self.assertEqual(said, f"plan: {words}")

    def test_for_another_order(self):
        order = {"order": PIPELINE_FIRST}
        said = self.answers("TP2DP2", "PP2DP2", made_for=order, count=4)
        self.assertIn("+order=pp-dp, curr has order tp-cp-ep-dp-pp", said)

    def test_in_an_order_that_gives_the_same_coordinates(self):
        order = {"order": PIPELINE_FIRST}
        self.assertEqual(self.answers("PP2", "TP2", made_of=order), "moved")
        self.assertEqual(self.answers("PP2", "DP2", made_for=order), "moved")

    def test_with_the_distributed_optimizer(self):
        said = self.answers("PP2", "PP2", made_for={"distributed_optimizer": True})
        self.assertIn("+zero1, curr has distributed_optimizer False", said)

    def test_with_buckets_of_another_size(self):
        settings = {"bf16": True, "distributed": True}
        settings["ddp"] = {"overlap_grad_reduce": True, "bucket_size": 3000}
        other = {"bucket_size": 5000}
        self.assertEqual(
            self.answers("PP2", "DP2", made_for=other, **settings),
            "plan: ends in PP1DP2+zero1+buckets=5000, curr has bucket_size 3000, by "
            "ddp_config",
        )
        said = self.answers("DP2", "PP2", made_of=other, **settings)
        self.assertIn("buckets=5000, the trainer has bucket_size 3000, by ddp", said)
        self.assertEqual(self.answers("PP2", "DP2", **settings), "moved")
        settings["ddp"] = {}
        said = self.answers("PP2", "DP2", made_for=other, **settings)
        self.assertIn("curr has no bucket_size, by ddp_config", said)

    def test_with_the_default_size_of_buckets(self):
        settings = {"bf16": True, "distributed": True}
        settings["ddp"] = {"overlap_grad_reduce": True}
        default = {"bucket_size": "default"}
        said = self.answers("PP2", "DP2", default, default, **settings)
        self.assertEqual(said, "moved")

    def test_with_other_stages(self):
        uneven = {SPLIT: 1}
        said = self.answers("DP2", "PP2", made_for=uneven)
        self.assertIn("ends in PP2+stages=1:3, curr has no first_stage_layers", said)
        curr = {"pp": 2, SPLIT: 3}
        said = self.answers("DP2", curr, made_for=uneven)
        self.assertIn("+stages=1:3, curr has first_stage_layers 3", said)
        said = self.answers("PP2", "TP2", made_of=uneven)
        self.assertIn("+stages=1:3, the trainer has no first_stage_layers", said)

    def test_with_the_same_stages_in_other_words(self):
        even = {"pp": 2, SPLIT: 2}
        said = self.answers("DP2", even, made_for={"last_stage_layers": 2})
        self.assertEqual(said, "moved")

    def test_with_stages_where_there_is_no_planner(self):
        first, last = "first_stage_layers", "last_stage_layers"
        embedding, loss = "account_for_embedding", "account_for_loss"
        for layers, curr in (
            (12, {"pp": 3, first: 2}),
            (12, {"pp": 3, last: 4}),
            (12, {"pp": 3, first: 2, last: 4}),
            (12, {"pp": 3, first: 4}),
            (12, {"pp": 3, "vpp": 2, first: 6, last: 2}),
            (12, {"pp": 2, first: 3}),
            (13, {"pp": 3, embedding: True, loss: True}),
            (14, {"pp": 4, "vpp": 2, embedding: True, loss: True}),
            (14, {"pp": 5, embedding: True}),
            (12, {"pp": 3, embedding: False}),
        ):
            with self.subTest(layers=layers, curr=curr):
                compare_stages(layers, curr, curr)
        for made_for, curr in (
            ({"pp": 3, first: 2}, {"pp": 3, first: 4}),
            ({"pp": 3, first: 2}, {"pp": 3, last: 2}),
            ({"pp": 3}, {"pp": 3, first: 2}),
        ):
            with self.assertRaisesRegex(ValueError, "curr has (fir|la)st_stage_layers"):
                compare_stages(12, made_for, curr)

    def test_on_other_devices(self):
        swapped = {"devices": [1, 0]}
        said = self.answers("PP2", "PP2", made_of=swapped)
        self.assertIn("begins on devices [1, 0], the trainer is on devices [0,", said)
        curr = {"pp": 2, "devices": [0, 1]}
        said = self.answers("DP2", curr, made_for=swapped)
        self.assertEqual(said, "plan: ends on devices [1, 0], curr has devices [0, 1]")
        self.assertEqual(self.answers("DP2", "PP2", made_for=swapped), "moved")


if __name__ == "__main__":
    unittest.main()
