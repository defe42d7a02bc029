"""Requests from the live objects of Megatron-Core."""

import math
import unittest

import etc
from megatron_jobs import EXPERTS, Settings, begin, run

WORDS = "embedding.word_embeddings.weight"


class Describing(unittest.TestCase):
    def test_ranks_agree_and_the_plan_knows_their_tensors(self):
        for prev, settings in (
            ("PP2TP2", Settings()),
            ("PP2DP2", Settings(bf16=True, distributed=True)),
            ("DP4EP2", Settings(model=EXPERTS)),
        ):
            results = run(4, describe, prev, settings)
            for model, wrong in results:
                self.assertEqual(model, results[0][0])
                self.assertEqual(wrong, [])
            rows = {row["name"]: row for row in results[0][0]["tensors"]}
            self.assertEqual(rows["output_layer.weight"]["tied_to"], WORDS)
            gated = next(n for n in rows if n.endswith("linear_fc1.weight"))
            self.assertEqual(rows[gated]["shape"], [2, 64, 32])
            self.assertEqual(rows[gated]["view"], [128, 32])
            self.assertEqual(rows[gated]["split"], 1)
        self.assertEqual(results[0][0]["experts"], 4)

    def test_dense_layers_before_those_with_experts(self):
        model = {**EXPERTS, "moe_layer_freq": [0, 0, 1, 1]}
        table = run(2, describe, "PP2", Settings(model=model))[0][0]
        layers = {row["name"]: row.get("layers") for row in table["tensors"]}
        self.assertEqual(layers["decoder.layers.{layer}.mlp.router.weight"], [2, 4])
        self.assertEqual(layers["decoder.layers.{layer}.mlp.linear_fc1.weight"], [0, 2])

    def test_buckets_that_differ_between_stages(self):
        ddp = {"overlap_grad_reduce": True}
        said = run(2, refusal, "PP2", Settings(bf16=True, distributed=True, ddp=ddp))
        words = (
            "ddp_config: bucket_size is 3000 on rank 0 and 3001 on rank 1, as by "
            "--ddp-num-buckets with stages of different sizes; use --ddp-bucket-size"
        )
        self.assertEqual(said, [words, words])


def refusal(rank, store, prev, settings):
    """What is wrong with buckets whose size each rank works out for itself."""
    from megatron.core import parallel_state

    settings.ddp["bucket_size"] = 3000 + rank
    job = begin(rank, store, prev, settings)
    try:
        etc.describe(job.model, job.optimizer, parallel_state)
    except ValueError as error:
        return str(error)
    return "described"


def describe(rank, store, prev, settings):
    """(table, what the plan says otherwise of this rank's tensors)."""
    from megatron.core import parallel_state

    job = begin(rank, store, prev, settings)
    job.train(1)
    described = etc.describe(job.model, job.optimizer, parallel_state)
    count = len(described.layout["devices"])
    plan = described.plan(curr=f"DP{count}", cluster=f"1x{count}")
    expected = {
        (kind, name): math.prod(spec.shape)
        for kind, group in plan.prev_tensors(rank).items()
        for name, spec in group.items()
    }
    found = {
        (kind, name): tensor.numel()
        for kind, group in described.tensors.items()
        for name, tensor in group.items()
    }
    wrong = [key for key in {*expected, *found} if expected.get(key) != found.get(key)]
    return described.model, wrong


if __name__ == "__main__":
    unittest.main()
