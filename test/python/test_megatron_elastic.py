"""Megatron's training loop goes through changes of its configuration: losses and learning rates are those of a job that
nothing interrupts.
"""

import inspect
import os
import sys
import unittest
import warnings
from types import SimpleNamespace

import etc.megatron
import megatron_training
import torch
import torch.distributed as dist
from megatron_jobs import EXPERTS, Settings, run
from megatron_training import WRITERS

STEPS = 8
KEEP = "--use-checkpoint-opt_param-scheduler"
LINE = (f"--train-iters={STEPS}", "--global-batch-size=8")


def arguments(sizes, line):
    options = {"tp": "tensor-model", "pp": "pipeline-model", "ep": "expert-model"}
    options["cp"] = "context"
    made = ["pretrain", *line]
    for name, size in sizes.items():
        made += [f"--{options[name]}-parallel-size", str(size)]
    return made


def trained(rank, store, count, active, sizes, changes, settings, options=None):
    """{step: (loss, learning rate, global batch)} of this process, its place at the
    end, and what it was warned of."""
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(count), ETC_HOST="127.0.0.1")
    options = dict(options or {})
    began = arguments(sizes, options.pop("line", LINE))
    sys.argv[:] = began
    log = {}
    if options.pop("breaks", None) == rank:
        break_a_migration()
    fail_once(options.pop("fails", ()), rank)
    pretrain = etc.megatron.elastic(
        megatron_training.pretrain,
        changes.get,
        store=store,
        cluster=f"1x{count}",
        active=active,
        **{"timeout": 60, **options},
    )
    signature = inspect.signature(megatron_training.pretrain)
    assert inspect.signature(pretrain) == signature, "as others that wrap it look at it"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = pretrain(settings, log)
    assert made is None or made in log, made
    assert sys.argv == began and os.environ["RANK"] == str(rank)
    place = None
    if made is not None:
        place = dist.get_rank(), megatron_training.get_args().data_parallel_size
    said = [str(w.message) for w in caught if "did not change" in str(w.message)]
    writers = [(writer.rank, writer.is_closed) for writer in WRITERS]
    return log, place, writers, said


def break_a_migration():
    """The first one of this process, before it moves anything."""
    whole = etc.Migration.run

    def broken(migration):
        etc.Migration.run = whole
        migration.abort()
        return whole(migration)

    etc.Migration.run = broken


def fail_once(fails, rank):
    """In `fails` are a function that hands over, the rank where it fails, and how."""
    for name, where, error in fails:
        if where in (rank, "every"):
            owner = etc.megatron.change
            *path, name = name.split(".")
            for each in path:
                owner = getattr(owner, each)
            patch(owner, name, error)


def patch(owner, name, error):
    whole = getattr(owner, name)

    def failing(*args):
        setattr(owner, name, whole)
        raise error

    setattr(owner, name, failing)


def batches(line, changes):
    """The global batch of each step of two processes."""
    found = run(2, trained, 2, 2, {"pp": 2}, changes, Settings(), {"line": line})
    return [batch for _, (_, _, batch) in sorted(found[0][0].items())]


class Unanswering:
    def get(self, step):
        raise TypeError(f"no answer for {step}")


class Elastic(unittest.TestCase):
    def check(self, count, active, sizes, changes, tolerance, settings=None, **others):
        settings = Settings(**(settings or {}))
        found = run(count, trained, count, active, sizes, changes, settings, others)
        line = {"line": others.get("line", LINE)}
        expected = run(active, trained, active, active, sizes, {}, settings, line)[0][0]
        self.assertEqual(sorted(expected), list(range(1, STEPS + 1)))
        self.assertLess(expected[STEPS][0], expected[1][0])
        steps = set()
        for log, *_ in found:
            steps |= log.keys()
            for step, (loss, *others) in log.items():
                self.assertEqual(others, list(expected[step][1:]), step)
                self.assertAlmostEqual(loss, expected[step][0], delta=tolerance)
        self.assertEqual(sorted(steps), sorted(expected))
        return found

    def test_three_changes(self):
        changes = {2: "TP2", 4: "PP2TP2", 6: "DP2"}
        found = self.check(4, 2, {"pp": 2}, changes, 1e-5)
        self.assertEqual(sum(len(log) for log, *_ in found), 2 * (2 + 2 + 4 + 2))
        places = [place for _, place, *_ in found if place]
        self.assertEqual(sorted(places), [(0, 2), (1, 2)])
        # Of each configuration the last rank has a writer, and closes it.
        writers = [writer for found in found for writer in found[2]]
        self.assertEqual(sorted(writers), [(1, False), (1, True), (1, True), (3, True)])

    def test_the_distributed_optimizer(self):
        changes = {2: "TP2DP2", 4: {"pp": 2, "dp": 2}, 6: "DP4"}
        settings = {"bf16": True, "distributed": True}
        self.check(4, 4, {"pp": 2}, changes, 2e-3, settings)

    def test_the_optimizer_is_deferred(self):
        """It arrives while Megatron builds the model; in safe mode before."""
        names = {2: "TP2", 4: "PP2TP2", 6: "DP2"}
        changes = {
            step: etc.megatron.Wanted(name, request={"defer": "optimizer"})
            for step, name in names.items()
        }
        for mode in ("eager", "safe"):
            with self.subTest(mode):
                self.check(4, 2, {"pp": 2}, changes, 1e-5, mode=mode)

    def test_experts(self):
        changes = {
            2: {"dp": 4, "ep": 4},
            4: {"pp": 2, "dp": 2},
            6: {"dp": 2, "ep": 2},
        }
        bias = {"moe_router_enable_expert_bias": True}
        bias["moe_router_score_function"] = "sigmoid"
        settings = {"model": {**EXPERTS, **bias}}
        self.check(4, 4, {"ep": 2}, changes, 1e-5, settings)

    def test_a_change_that_can_not_be_goes_on_as_before(self):
        changes = {2: "DP3", 4: "TP2"}
        found = self.check(3, 2, {"pp": 2}, changes, 1e-5, mode="safe")
        for log, _, _, said in found:
            if log:
                self.assertEqual(len(said), 1)
                self.assertIn("global batch 8 is not divisible by DP 3", said[0])

    def test_an_error_in_safe_mode_goes_on_as_before(self):
        """The next change then is one from the old configuration."""
        for breaks in (0, 1):
            with self.subTest(breaks):
                found = self.check(
                    2,
                    2,
                    {"pp": 2},
                    {2: "TP2", 4: "TP2"},
                    1e-5,
                    mode="safe",
                    breaks=breaks,
                )
                for _, _, _, said in found:
                    self.assertEqual(len(said), 1)

    def test_an_error_before_a_safe_move_goes_on_as_before(self):
        """At all ranks, and at one that the others hear of; so do those that join."""
        fails = [
            ("Change._check_state", 1, ValueError("not as prepared")),
            ("buffers.gather", "every", ValueError("differs")),
            ("without_optimizer", 0, ValueError("no scheduler")),
        ]
        changes = dict.fromkeys(range(2, 6), "PP2TP2")
        found = self.check(
            4, 2, {"pp": 2}, changes, 1e-5, mode="safe", timeout=20, fails=fails
        )
        for log, place, _, said in found:
            self.assertIsNotNone(place)
            self.assertEqual(len(said), 3)
            if len(log) == STEPS:  # it trained from the first one on
                for text, (_, _, error) in zip(said, fails):
                    self.assertIn(str(error), text)

    def test_an_error_in_eager_mode_raises(self):
        with self.assertRaisesRegex(AssertionError, "abort"):
            self.check(2, 2, {"pp": 2}, {2: "TP2"}, 1e-5, breaks=1)

    def test_a_change_that_can_not_be_raises(self):
        with self.assertRaisesRegex(AssertionError, "not divisible by DP 3"):
            run(2, trained, 2, 2, {"pp": 2}, {2: "DP3"}, Settings())

    def test_an_answer_that_raises(self):
        with self.assertRaisesRegex(AssertionError, r"ask\(1\) raised TypeError"):
            run(2, trained, 2, 2, {"pp": 2}, Unanswering(), Settings())

    def test_an_argument(self):
        more = etc.megatron.Wanted("DP2", ("--micro-batch-size", "1"))
        self.check(2, 2, {"pp": 2}, {2: more}, 1e-5)

    def test_arguments_that_a_change_can_not_have(self):
        for sizes, more, words in (
            ("TP2", ("--use-distributed-optimizer",), "which is not migrated"),
            ("DP2", ("--global-batch-size", "6", KEEP), "batch 6 is not divisible"),
            ("DP2", ("--global-batch-size", "4"), "changes the schedule of the lear"),
            ("DP2", ("--lr", "0.02"), "changes the schedule of the learning rate; a"),
            ("DP2", ("--global-batch-size", "0"), "expected a positive number"),
            ("DP2", ("--rampup-batch-size", *"248"), "cannot change; the ramp"),
        ):
            changes = {2: etc.megatron.Wanted(sizes, more)}
            with self.assertRaisesRegex(AssertionError, words):
                run(2, trained, 2, 2, {"pp": 2}, changes, Settings())

    def test_a_schedule_that_is_to_be_kept_or_not(self):
        lower = ("--lr=0.001", "--override-opt_param-scheduler")
        rates = []
        for more in (("--global-batch-size=4", KEEP), ("--lr=0.01",), lower):
            changes = {1: etc.megatron.Wanted("DP2", more), 2: "TP2"}
            log = run(2, trained, 2, 2, {"pp": 2}, changes, Settings())[0][0]
            rates.append(log[3][1])
        self.assertGreater(rates[0], rates[1])  # fewer samples later
        self.assertGreater(rates[1], 0.0011)
        self.assertEqual(rates[2], 0.001)

    def test_arguments_stay_also_for_a_process_that_joins_later(self):
        more = etc.megatron.Wanted("TP2", ("--log-interval=2", "--micro-batch-size=1"))
        changes = {2: more, 4: "PP2TP2"}
        found = run(4, trained, 4, 2, {"pp": 2}, changes, Settings())
        self.assertEqual([sorted(log) for log, *_ in found[2:]], [[6, 8], [6, 8]])

    def test_the_global_batch_stays_where_no_argument_says_it(self):
        """It was Megatron's, one micro batch for each replica."""
        line = (f"--train-iters={STEPS}",)
        self.check(2, 2, {}, {2: "PP2"}, 1e-5, line=line)

    def test_buckets_stay_where_no_argument_says_their_size(self):
        overlap = {"overlap_grad_reduce": True}
        settings = {"bf16": True, "distributed": True, "ddp": overlap}
        changes = {2: "DP4", 5: "TP2DP2"}
        self.check(4, 4, {"pp": 2}, changes, 2e-3, settings)

    def test_what_is_not_the_training_loop(self):
        os.environ.update(RANK="0", WORLD_SIZE="1")
        with self.assertRaisesRegex(ValueError, "has no setup_model_and_optimizer"):
            etc.megatron.elastic(trained, {}.get, store=None, cluster="1x1")


class Ramp(unittest.TestCase):
    """Of the global batch, from 4 to 16 in steps of 4, over 24 samples."""

    LINE = "--train-samples=92 --global-batch-size=16 --rampup-batch-size 4 4 24".split()
    IN_RAMP = [4, 4, 8, 12]

    def test_it_goes_on(self):
        expected = self.IN_RAMP + 4 * [16]
        self.assertEqual(batches(self.LINE, {}), expected)
        self.assertEqual(batches(self.LINE, {2: "TP2", 6: "DP2"}), expected)

    def test_it_goes_on_to_another_batch(self):
        """Over the same samples, so in longer steps."""
        more = etc.megatron.Wanted("TP2", ("--global-batch-size", "8"))
        expected = [4, 4, 4, 4, 4, 4, *(8 * [8])]
        self.assertEqual(batches(self.LINE, {1: more, 8: "DP2"}), expected)

    def test_a_batch_that_it_does_not_reach(self):
        for batch in ("10", "4"):
            more = etc.megatron.Wanted("TP2", ("--global-batch-size", batch))
            with self.assertRaisesRegex(AssertionError, "is not reached by the ramp"):
                batches(self.LINE, {2: more})

    def test_another_batch_when_it_is_over(self):
        """Until as many samples are consumed as before, and through a later change."""
        for batch in (10, 4):
            more = etc.megatron.Wanted("TP2", ("--global-batch-size", str(batch)))
            expected = [*self.IN_RAMP, 16, *(48 // batch * [batch])]
            self.assertEqual(batches(self.LINE, {5: more, 7: "PP2"}), expected)


class Arguments(unittest.TestCase):
    def test_of_another_configuration(self):
        from etc.megatron.arguments import rewritten
        from etc.megatron.batch import Batches
        from etc.megatron.grid import read_layout

        argv = ["--lr=1", "--tensor-model-parallel-size=2", "--load", "x"]
        argv += ["--pipeline-model-parallel-size", "4", "--use-tp-pp-dp-mapping"]
        argv += ["--rampup-batch-size", *"248", "--exit-interval", "9"]
        more = ("--lr", "2")
        made = rewritten(argv, read_layout("PP2DP3"), 256, more, Batches(12, 2))
        sizes = "tensor 1 pipeline 2".split()
        first = ["--lr=1", "--load", "x", "--exit-interval", "9"]
        self.assertEqual(made[:7], [*first, *more])
        for name, size in zip(sizes[::2], sizes[1::2]):
            option = f"--{name}-model-parallel-size"
            self.assertEqual(made[made.index(option) + 1], size)
        self.assertNotIn("--use-tp-pp-dp-mapping", made)
        last = ["--global-batch-size", "12", "--micro-batch-size", "2"]
        self.assertEqual(made[-6:], ["--padded-vocab-size", "256", *last])
        ramp = Batches(12, 2, [2, 4, 8])
        made = rewritten(argv, read_layout("PP2DP3"), 256, more, ramp)
        self.assertEqual(made[3:7], ["--rampup-batch-size", *"248"])
        buckets = {**read_layout("PP2DP3"), "bucket_size": 4000}
        argv = ["--lr=1", "--ddp-num-buckets", "2"]
        made = rewritten(argv, buckets, None, (), ramp)
        self.assertNotIn("--ddp-num-buckets", made)
        self.assertEqual(made[-6:], ["--ddp-bucket-size", "4000", *last])

    def test_that_change_the_state(self):
        from etc.megatron.arguments import check_further

        args = SimpleNamespace(
            use_distributed_optimizer=True,
            optimizer="adam",
            fp8="e4m3",
            exp_avg_dtype=torch.bfloat16,
            data_parallel_sharding_strategy="no_shard",
        )
        same = ("--use-distributed-optimizer", "--optimizer", "adam", "--lr", "2")
        more = ("--fp8-format=e4m3", "--exp-avg-dtype", "bf16")
        check_further((*same, "--optimizer=adam", *more), args)
        for further in (
            ("--optimizer", "sgd"),
            ("--optimizer=sgd",),
            ("--lr", "2", "--ddp-pad-buckets-for-high-nccl-busbw"),
            ("--num-distributed-optimizer-instances", "2"),
            ("--data-parallel-sharding-strategy", "optim"),
            ("--exp-avg-dtype", "fp32"),
            ("--exp-avg-sq-dtype", "fp16"),
            ("--main-params-dtype", "fp16"),
            ("--main-grads-dtype", "bf16"),
            ("--fp8-param-gather",),
            ("--fp8-format", "hybrid"),
        ):
            with self.assertRaisesRegex(ValueError, "which is not migrated; leave it"):
                check_further(further, args)

    def test_that_set_the_configuration(self):
        from etc.megatron.arguments import check_further

        for further in (
            ("--tensor-model-parallel-size", "2"),
            ("--lr=2", "--expert-model-parallel-size=2"),
            ("--use-tp-pp-dp-mapping",),
            ("--padded-vocab-size", "256"),
        ):
            with self.assertRaisesRegex(ValueError, "is set by the change itself"):
                check_further(further, SimpleNamespace())

    def test_without_a_value(self):
        from etc.megatron.arguments import check_further, value_of

        args = SimpleNamespace(optimizer="adam", ddp_bucket_size=None)
        for option in ("--optimizer", "--ddp-bucket-size"):
            with self.assertRaisesRegex(ValueError, f"{option} has no value"):
                check_further((option,), args)
        with self.assertRaisesRegex(ValueError, "--lr has no value"):
            value_of(("--lr=1", "--lr"), "--lr")

    def test_sizes(self):
        from etc.megatron.arguments import size_of

        option = "--global-batch-size"
        self.assertEqual(size_of((option, "8", f"{option}=16"), option), 16)
        self.assertIsNone(size_of(("--lr", "1"), option))
        for value in ("0", "-8", "8.0", "", "--lr"):
            with self.assertRaisesRegex(ValueError, "expected a positive number, got"):
                size_of((f"{option}={value}",), option)
        with self.assertRaisesRegex(ValueError, "has no value"):
            size_of((option,), option)


if __name__ == "__main__":
    unittest.main()
