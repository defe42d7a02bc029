"""Megatron-Core's own GPTModel, trained, migrated and trained on, on the host."""

import unittest
from unittest import mock

import etc
import torch
import torch.distributed as dist
from etc.megatron.modules import unwrapped
from etc.megatron.trainer import Trainer
from megatron_jobs import (
    EXPERTS,
    STEPS,
    Settings,
    begin,
    change_of,
    losses_without_change,
    migrated,
    run,
)


class Finishing(unittest.TestCase):
    def test_what_failed_is_not_done(self):
        rest = mock.Mock(side_effect=[etc.PeerError("lost"), etc.UsageError("f"), None])
        trainer = Trainer(None, None, [], None, None, 0, 0, None, None, [], False, rest)
        for error in (etc.PeerError, etc.UsageError):
            with self.assertRaises(error):
                trainer.finish()
        trainer.finish()
        trainer.finish()
        self.assertEqual(rest.call_count, 3)


class Migrating(unittest.TestCase):
    """The state is that of before, as Megatron-Core's checkpoints see it, and training
    goes on as if nothing had happened."""

    def check(self, prev, curr, count, tolerance, *, settings=None, **options):
        """How many processes go on; the losses differ by `tolerance` at most."""
        settings = Settings(**(settings or {}))

        def body(rank, store):
            return migrated(rank, store, prev, curr, count, settings, **options)

        results = run(count, body)
        expected = max(run(count, losses_without_change, prev, settings), key=len)
        self.assertEqual(len(expected), 2 * STEPS)
        self.assertLess(expected[-1], expected[0])
        stayed = [losses for losses, _, (role, *_) in results if role is not None]
        for _, wrong, (_, iteration, consumed) in results:
            self.assertIn(wrong, ([], None))
            self.assertEqual(iteration, STEPS)
            self.assertEqual(consumed, STEPS * settings.global_batch)
        self.assertIn([], [wrong for _, wrong, _ in results])
        for losses in stayed:
            for mine, other in zip(losses[-STEPS:], expected[STEPS:]):
                self.assertAlmostEqual(mine, other, delta=tolerance)
        return len(stayed)

    def test_stages_become_tensor_ranks(self):
        self.assertEqual(self.check("PP2", "TP2", 2, 1e-5), 2)

    def test_distributed_optimizer(self):
        settings = {"bf16": True, "distributed": True}
        self.check("PP2DP2", "TP2DP2", 4, 1e-3, settings=settings)

    def test_distributed_optimizer_in_fp32(self):
        self.check("TP2DP2", "PP2DP2", 4, 1e-5, settings={"distributed": True})

    def test_master_weights_and_separate_embeddings(self):
        settings = {"bf16": True, "tied": False, "positions": "learned_absolute"}
        self.check("TP2DP2", "PP4", 4, 1e-3, settings=settings)

    def test_the_optimizer_is_deferred(self):
        """It is made between the first backward pass and the first step."""
        defer = {"request": {"defer": "optimizer"}}
        settings = {"bf16": True, "distributed": True}
        ddp = {"overlap_grad_reduce": True, "bucket_size": 3000}
        ddp["overlap_param_gather"] = True
        overlapped = {**settings, "ddp": ddp}
        self.check("PP2DP2", "TP2DP2", 4, 1e-3, settings=settings, **defer)
        self.check("PP2DP2", "DP4", 4, 1e-3, settings=overlapped, **defer)
        # The same sums in the same order, and a process that leaves.
        exact = {"clip": 0.0}
        self.check("PP2", "PP1", 2, 0.0, settings=exact, **defer)
        self.check("PP2", "PP1", 2, 0.0, settings=exact, mode="safe", **defer)

    def test_experts(self):
        settings = {"bf16": True, "distributed": True, "model": EXPERTS}
        self.check("DP4EP2", "PP2DP2", 4, 1e-3, settings=settings)
        self.check("PP2DP2EP2", "DP4EP4", 4, 1e-5, settings={"model": EXPERTS})

    def test_virtual_stages_and_overlap(self):
        ddp = {"overlap_grad_reduce": True, "bucket_size": 3000}
        ddp["overlap_param_gather"] = True
        settings = {"distributed": True, "ddp": ddp}
        self.check("PP2DP2", "PP2VPP2DP2", 4, 1e-6, settings=settings)

    def test_uneven_stages_and_the_other_order_of_ranks(self):
        curr = {"pp": 2, "dp": 2, "first_stage_layers": 1}
        curr["order"] = "tp-cp-ep-pp-dp"
        settings = {"model": {"num_layers_in_first_pipeline_stage": 1}}
        self.check("PP2DP2", curr, 4, 1e-6, settings=settings)

    def test_the_distributed_optimizer_is_switched_on(self):
        from megatron.core.distributed import DistributedDataParallelConfig
        from megatron.core.optimizer import OptimizerConfig

        sharded = {"use_distributed_optimizer": True}
        build = {
            "ddp_config": DistributedDataParallelConfig(
                grad_reduce_in_fp32=True, **sharded
            ),
            "optimizer_config": OptimizerConfig(
                optimizer="adam", lr=1e-2, min_lr=1e-3, bf16=True, **sharded
            ),
        }
        settings = Settings(bf16=True)
        results = run(2, migrated, "PP2", "DP2", 2, settings, build)
        expected = run(2, losses_without_change, "PP2", settings)[0]
        for losses, wrong, _ in results:
            # Checkpoints name the master copies of the two optimizers apart.
            kinds = {key.split(".")[2] for key in wrong}
            self.assertEqual(kinds, {"fp32_param", "param"})
            for mine, other in zip(losses[-STEPS:], expected[STEPS:]):
                self.assertAlmostEqual(mine, other, delta=1e-3)

    def test_devices_leave(self):
        # The same sums in the same order: to the last bit, without gradient norms.
        settings = {"clip": 0.0}
        self.assertEqual(self.check("PP2", "PP1", 2, 0.0, settings=settings), 1)

    def test_devices_join(self):
        settings = {"clip": 0.0}
        self.assertEqual(self.check("PP1", "PP2", 2, 0.0, settings=settings), 2)
        self.assertEqual(self.check("TP2", "PP2TP2", 4, 1e-5), 4)

    def test_a_vocabulary_that_is_padded_by_the_configuration(self):
        settings = Settings(vocab=100, vocab_multiple=24)
        results = run(2, padded, settings)
        for losses, wrong, _ in results:
            self.assertEqual(wrong, [])
            self.assertEqual(len(losses), 2 * STEPS)


def padded(rank, store, settings):
    return migrated(
        rank, store, "PP2", "TP2", 2, settings, vocab_size=100, vocab_multiple=24
    )


WORDS = "embedding.word_embeddings.weight"


class Generators(unittest.TestCase):
    SETTINGS = Settings(
        clip=0.0, model={"hidden_dropout": 0.1, "attention_dropout": 0.1}
    )

    def test_they_go_on_with_their_roles(self):
        """Both stages change places: dropout is that of a job without a change."""
        curr = {"pp": 2, "devices": [1, 0]}
        results = run(2, migrated, "PP2", curr, 2, self.SETTINGS)
        expected = run(2, losses_without_change, "PP2", self.SETTINGS)[0]
        quiet = run(2, losses_without_change, "PP2", Settings(clip=0.0))[0]
        self.assertNotEqual(expected, quiet)
        self.assertEqual([r[2][0]["pp"] for r in results], [1, 0])
        for losses, *_ in results:
            self.assertEqual(losses, expected)

    def test_a_new_role_is_not_given_those_of_another(self):
        results = run(2, generators, self.SETTINGS, None)
        old = {pp: states for pp, states, *_ in results}
        self.assertNotEqual(old[0], old[1])
        for _, _, role, states, must_seed, unseeded, draws in results:
            self.assertEqual(unseeded, ["P0T1"])
            self.assertEqual(must_seed, role["tp"] == 1)
            self.assertEqual(states, old[0] if role["tp"] == 0 else {})
            if must_seed:
                self.assertIn("model-parallel-rng is not added", draws)

    def test_the_trainer_seeds_new_roles(self):
        seeded = run(2, generators, self.SETTINGS, "seed")
        for _, _, _, states, must_seed, unseeded, _ in seeded:
            self.assertEqual(unseeded, ["P0T1"])
            self.assertFalse(must_seed)
            self.assertIn("model-parallel-rng", states)

    def test_replicas(self):
        from etc.megatron.rng import source_of

        def role(pp, tp, dp):
            return {"pp": pp, "tp": tp, "dp": dp, "cp": 0, "ep": 0}

        prev = {0: role(0, 0, 0), 1: role(0, 0, 1), 2: role(1, 0, 0), 3: role(1, 0, 1)}
        self.assertEqual(source_of(role(1, 0, 1), prev, False), 3)
        self.assertEqual(source_of(role(1, 0, 2), prev, False), 2)
        self.assertIsNone(source_of(role(1, 0, 2), prev, True))
        self.assertIsNone(source_of(role(0, 1, 0), prev, False))

    def test_new_replicas_with_seeds_of_their_own(self):
        from etc.megatron.rng import roles_of, source_of, unseeded_roles

        prev, curr = [
            {"tp": 2, "cp": 1, "dp": dp, "pp": 1, "order": "tp-cp-ep-dp-pp"}
            for dp in (1, 3)
        ]
        sides = roles_of(list(range(2)), prev), roles_of(list(range(6)), curr)
        self.assertEqual(unseeded_roles(*sides, curr, False), [])
        self.assertEqual(
            unseeded_roles(*sides, curr, True), ["P0T0D1", "P0T0D2", "P0T1D1", "P0T1D2"]
        )
        # Context-parallel ranks of a replica have one seed.
        self.assertEqual(source_of({**sides[1][1], "cp": 1}, sides[0], True), 1)


def generators(rank, store, settings, seed):
    from etc.megatron import rng
    from megatron.core import parallel_state

    def states():
        return {name: s.tolist() for name, s in rng.tracker().get_states().items()}

    job = begin(rank, store, "PP2", settings)
    job.train(1)
    stage = parallel_state.get_pipeline_model_parallel_rank()
    before = states()
    build = {"seed_rng": job.seed} if seed else {}
    change = change_of(job, rank, store, "TP2", 2, build)
    trainer = change.run(job.iteration, job.consumed)
    job.take(trainer)
    after = states()
    draws = ""
    if trainer.must_seed:
        try:
            with rng.tracker().fork():
                pass
        except Exception as error:
            draws = str(error)
    return (
        stage,
        before,
        trainer.role,
        after,
        trainer.must_seed,
        trainer.unseeded,
        draws,
    )


class Refusals(unittest.TestCase):
    """One line, which names what it is about."""

    def refused(self, what, settings=None, prev="PP1", curr="PP1", count=1):
        settings = settings or Settings()
        results = run(count, refusal, what, prev, curr, settings)
        for words in results:
            self.assertEqual(words, results[0])
            self.assertNotIn("\n", words)
        return results[0]

    def test_before_anything_moves(self):
        self.assertEqual(
            self.refused("", prev="PP2", curr="DP3", count=2),
            "UnsatisfiableError: global batch 8 is not divisible by DP 3 x micro batch "
            "2; nearest that are: 6, 12",
        )
        self.assertIn(
            "curr: expected sizes such as", self.refused("", curr="PP1+zero1")
        )
        self.assertIn("curr: unknown 'tpp'", self.refused("", curr={"tpp": 2}))

    def test_state_that_is_not_moved(self):
        words = self.refused("freeze", prev="PP2", curr="TP2", count=2)
        self.assertIn("decoder.final_layernorm.weight: is frozen", words)
        words = self.refused("sgd")
        self.assertIn("optimizer: sgd is not migrated; use adam", words)
        words = self.refused("", Settings(model={"perform_initialization": False}))
        self.assertIn("its tensor-parallel axis is not set", words)

    def test_what_keeps_state_in_another_way(self):
        for what, words in (
            ("optimizer_cpu_offload", "optimizer_cpu_offload is not migrated"),
            ("use_megatron_fsdp", "ddp_config: use_megatron_fsdp is not "),
            ("partition_sizes", ".weight: contains several matrices that "),
            ("graphable tracker", "RNG tracker: data-parallel-rng is a dict, which "),
        ):
            self.assertIn(words, self.refused(what))

    def test_buffers_that_differ(self):
        words = self.refused("buffer", prev="DP2", curr="PP2", count=2)
        self.assertIn("norm.seen: is a buffer that differs between ranks 0 and", words)

    def test_a_scheduler_that_is_missing(self):
        words = self.refused("no scheduler")
        self.assertIn("opt_param_scheduler: None, and a learning rate is", words)

    def test_a_provider_that_builds_something_else(self):
        words = self.refused("other vocabulary")
        self.assertIn(f"{WORDS} (param): the new model has [64, 32] here", words)

    def test_an_optimizer_that_makes_its_first_step_after_prepare(self):
        words = self.refused("first step")
        self.assertIn("optimizer: exp_avg came after prepare()", words)


def strange_config(job):
    job.optimizer.chained_optimizers[0].config.optimizer_cpu_offload = True


def strange_buckets(job):
    job.model[0].ddp_config.use_megatron_fsdp = True


def strange_cut(job):
    fused = next(p for n, p in job.model[0].named_parameters() if "linear_qkv" in n)
    fused.partition_sizes = [8, 8]


def strange_buffer(job):
    """As a module of one's own has it, which counts what its rank has seen."""
    norm = unwrapped(job.model[0]).decoder.final_layernorm
    norm.register_buffer("seen", torch.tensor([float(dist.get_rank())]))


def strange_tracker(job):
    """As with use_cudagraphable_rng, whose generators need a GPU."""
    from megatron.core.tensor_parallel.random import get_cuda_rng_tracker

    tracker = get_cuda_rng_tracker()
    tracker.set_states({name: {} for name in tracker.get_states()})


# What a job may have that can't be built on a CPU: put in after it has trained.
STRANGE = {
    "optimizer_cpu_offload": strange_config,
    "use_megatron_fsdp": strange_buckets,
    "partition_sizes": strange_cut,
    "buffer": strange_buffer,
    "graphable tracker": strange_tracker,
}


def refusal(rank, store, what, prev, curr, settings):
    """What a change is refused with."""
    job = begin(rank, store, prev, settings)
    if settings.model.get("perform_initialization", True) and what != "first step":
        job.train(1)
    if what == "freeze":
        for name, parameter in job.model[0].named_parameters():
            if "final_layernorm" in name:
                parameter.requires_grad = False
    elif what == "sgd":
        job.optimizer.chained_optimizers[0].config.optimizer = "sgd"
    elif what == "no scheduler":
        job.scheduler = None
    elif what in STRANGE:
        STRANGE[what](job)
    try:
        change = change_of(job, rank, store, curr, 8)
        if what == "other vocabulary":
            settings.vocab = 64
        if what == "first step":
            job.train(1)
        change.run(job.iteration, job.consumed)
    except (ValueError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"
    return "not refused"


if __name__ == "__main__":
    unittest.main()
