"""A plan that is passed is compared with the trainer and with curr, before anything
moves."""

import unittest

import etc
from megatron_jobs import Settings, begin, change_of, run

PIPELINE_FIRST = "tp-cp-ep-pp-dp"


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

    def test_on_other_devices(self):
        swapped = {"devices": [1, 0]}
        said = self.answers("PP2", "PP2", made_of=swapped)
        self.assertIn("begins on devices [1, 0], the trainer is on devices [0,", said)


if __name__ == "__main__":
    unittest.main()
