"""The schedule of the learning rate in Megatron's training loop, through changes of its configuration."""

import os
import unittest
from types import SimpleNamespace

import etc.megatron
import megatron_training
from megatron_jobs import EXPERTS, Settings, begin, change_of, run
from test_megatron_elastic import KEEP, STEPS, trained

OVERRIDE = "--override-opt_param-scheduler"
# The rate falls in the steps 2 to 6.
LINE = (f"--train-iters={STEPS}", "--global-batch-size=4", "--micro-batch-size=1")


def Wanted(sizes, *more):
    return etc.megatron.Wanted(sizes, more)


def loaded(rank, store, count, active, sizes, changes, settings, line):
    """`trained`, whose first optimizer has another learning rate, as from a checkpoint."""
    set_up = megatron_training.setup_model_and_optimizer
    is_first = rank < active

    def setup_model_and_optimizer(job):
        nonlocal is_first
        objects = set_up(job)
        if is_first:
            is_first = False
            for group in objects[1].param_groups:
                group.update(max_lr=0.02, min_lr=0.005)
            objects[2].step(0)
        return objects

    megatron_training.setup_model_and_optimizer = setup_model_and_optimizer
    return trained(rank, store, count, active, sizes, changes, settings, {"line": line})


def rates(changes, line=LINE, body=None, count=2, settings=None):
    """The learning rate of each step, of all processes: they have the same."""
    options = ({"line": line},) if body is None else (line,)
    settings = Settings(**(settings or {}))
    found = run(
        count, body or trained, count, 2, {"pp": 2}, changes, settings, *options
    )
    made = {}
    for log, *_ in found:
        for step, (_, rate, _) in log.items():
            assert made.setdefault(step, rate) == rate, (step, rate, made)
    return [made[step] for step in sorted(made)]


class Rates(unittest.TestCase):
    def test_of_a_checkpoint(self):
        """Also of processes that join; and with an option that the job has from its beginning."""
        for line in (LINE, (*LINE, KEEP), (*LINE, OVERRIDE)):
            expected = rates({}, line, loaded)
            self.assertEqual(expected[7], 0.005)
            changes = {2: "PP2TP2", 4: "DP4", 6: "TP2"}
            self.assertEqual(rates(changes, line, loaded, 4), expected)

    def test_of_a_checkpoint_with_experts(self):
        settings = {"model": EXPERTS}
        expected = rates({}, LINE, loaded, 2, settings)
        changes = {2: {"dp": 2, "ep": 2}, 4: "PP2"}
        self.assertEqual(rates(changes, LINE, loaded, 2, settings), expected)

    def test_that_are_kept(self):
        changes = {2: Wanted("DP2", "--lr=0.001", KEEP), 4: "TP2"}
        self.assertEqual(rates(changes), rates({}))

    def test_of_new_arguments(self):
        """Once, and again where the option is there already; between them a change without any."""
        changes = {1: Wanted("DP2", "--lr=0.001", OVERRIDE), 2: "TP2"}
        changes[3] = Wanted("DP2", "--lr=0.01")
        expected = rates({})
        for body in (None, loaded):
            made = rates(changes, LINE, body)
            self.assertEqual(made, [0.0, 0.001, 0.001, *expected[3:]])

    def test_of_one_option_after_the_other(self):
        """The later one takes effect."""
        low = ("DP2", "--lr=0.001", OVERRIDE)
        expected = rates({})
        changes = {
            1: Wanted("TP2", KEEP),
            3: Wanted(*low),
            5: Wanted("DP2", "--lr=0.01", KEEP),
        }
        self.assertEqual(rates(changes), [*expected[:3], *(5 * [0.001])])
        changes = {1: Wanted(*low), 2: "TP2", 3: Wanted("DP2", "--lr=0.01", KEEP)}
        self.assertEqual(rates(changes), [0.0, *(7 * [0.001])])

    def test_what_an_argument_changes(self):
        from etc.megatron.schedule import check_schedule

        args = SimpleNamespace(lr=0.01, min_lr=0.0, weight_decay=0.1, train_iters=8)
        for more, words in (
            ("--lr=0.02", "--lr changes the schedule of the learning rate; add"),
            ("--train-iters=9", "--train-iters changes the schedule of the learning r"),
            ("--weight-decay=0", "--weight-decay changes the schedule of weight decay;"),
            ("--end-weight-decay=0", "-decay changes the schedule of weight decay; add"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                check_schedule([more], args)
        check_schedule(["--weight-decay=0.1"], args)

    def test_of_both_options(self):
        with self.assertRaisesRegex(
            AssertionError, f"{KEEP} and {OVERRIDE} exclude each other"
        ):
            rates({2: Wanted("DP2", KEEP, "--lr=0.001", OVERRIDE)})

    def test_without_a_training_loop(self):
        self.assertEqual(run(1, prepared)[0], [0.02, 0.02])


def prepared(rank, store):
    job = begin(rank, store, "PP1", Settings())
    job.train(3)
    for group in job.optimizer.param_groups:
        group["max_lr"] = 0.02
    job.scheduler.num_steps = job.scheduler.lr_warmup_steps
    change = change_of(job, rank, store, "PP1", 1)
    job.take(change.run(job.iteration, job.consumed))
    return [group["lr"] for group in job.optimizer.param_groups]


class Parser(unittest.TestCase):
    def test_what_it_does_not_take(self):
        """Before the move; in safe mode training goes on."""
        for more, words in (
            ("--tensor-model=2", "arguments: unrecognized arguments: --tensor-model=2"),
            (
                "--log-interval=often",
                "argument --log-interval: invalid int value: 'often'",
            ),
        ):
            changes = {2: Wanted("DP2", more)}
            with self.assertRaisesRegex(AssertionError, words):
                rates(changes)
            options = {"line": LINE, "mode": "safe"}
            for log, _, _, said in run(
                2, trained, 2, 2, {"pp": 2}, changes, Settings(), options
            ):
                self.assertEqual(len(log), STEPS)
                self.assertIn(words, said[0])

    def test_options_of_the_script(self):
        from etc.megatron.parsed import check_parsed, parser_of

        def script(parser):
            parser.add_argument("--mine", type=int)
            return parser

        def parses(settings, store=None):
            """By itself."""

        os.environ.update(RANK="0", WORLD_SIZE="1")
        pretrain = megatron_training.pretrain
        given = (
            megatron_training,
            pretrain,
            (None, None),
            {"extra_args_provider": script},
        )
        check_parsed(parser_of(*given), ["--lr=1"], ["--mine=2"])
        with self.assertRaisesRegex(
            ValueError, "argument --mine: expected one argument"
        ):
            check_parsed(parser_of(*given), ["--lr=1"], ["--mine"])
        with self.assertRaisesRegex(ValueError, "unrecognized arguments: --other"):
            check_parsed(parser_of(*given), ["--lr=1"], ["--other"])
        check_parsed(parser_of(*given), ["--other"], ["--another"])  # who knows
        self.assertIsNone(parser_of(megatron_training, parses, (None,), {}))


class Refused(unittest.TestCase):
    """Before the move: what Megatron asserts of its arguments or its scheduler."""

    def test_in_the_training_loop(self):
        for more, words in (
            (
                ("--lr=0.0005", OVERRIDE),
                "--lr 0.0005 is less than --min-lr 0.001; pass both",
            ),
            (("--min-lr=-0.1", OVERRIDE), "--min-lr -0.1 is negative; pass 0 or a pos"),
            (
                ("--train-samples=40", OVERRIDE),
                "--train-samples is not for a job with --train-iters",
            ),
        ):
            with self.assertRaisesRegex(AssertionError, words):
                rates({2: Wanted("DP2", *more)})

    def test_of_arguments(self):
        from etc.megatron.schedule import check_schedule

        steps = SimpleNamespace(
            train_iters=8, lr=0.01, min_lr=0.001, lr_decay_iters=8, lr_warmup_iters=3
        )
        samples = SimpleNamespace(
            train_iters=4, train_samples=32, lr_decay_samples=24, lr_warmup_fraction=0.1
        )
        for args, more, words in (
            (steps, ("--min-lr", "0.02"), "--lr 0.01 is less than --min-lr 0.02"),
            (
                steps,
                ("--lr-warmup-init", "0.02"),
                "--lr 0.01 is less than --lr-warmup-init",
            ),
            (
                steps,
                ("--lr-warmup-samples", "4"),
                "--lr-warmup-samples is not for a job with",
            ),
            (
                steps,
                ("--lr-warmup-iters", "8"),
                "has 8 iters of warm-up, and 8 until its end",
            ),
            (
                steps,
                ("--train-iters", "3"),
                "has 3 iters of warm-up, and 3 until its end",
            ),
            (
                steps,
                ("--lr-warmup-fraction", "0.1"),
                "--lr-warmup-fraction and --lr-warmup-iters excl",
            ),
            (
                samples,
                ("--train-iters", "4"),
                "--train-iters is not for a job with --train-samples",
            ),
            (
                samples,
                ("--lr-warmup-fraction", "1"),
                "has 24 samples of warm-up, and 24 until",
            ),
            (
                samples,
                ("--lr-warmup-samples", "8"),
                "--lr-warmup-fraction and --lr-warmup-samples e",
            ),
        ):
            with self.assertRaisesRegex(ValueError, words):
                check_schedule((*more, OVERRIDE), args)
        check_schedule(
            ("--lr=0.0005", "--min-lr=0.0001", "--train-iters=4", OVERRIDE), steps
        )
        check_schedule(("--train-iters=3", "--lr-decay-iters=12", OVERRIDE), steps)
        check_schedule(
            ("--train-samples=16", "--lr-decay-samples=16", OVERRIDE), samples
        )


class Same(unittest.TestCase):
    """Megatron compares samples, which are products of iterations and the batch."""

    def test_a_longer_batch_in_fewer_iterations(self):
        more = ("--global-batch-size=8", f"--train-iters={STEPS // 2}")
        changes = {1: Wanted("DP2", *more)}
        self.assertEqual(len(rates(changes)), STEPS // 2)
        with self.assertRaisesRegex(
            AssertionError, "--train-iters changes the schedule"
        ):
            rates({1: Wanted("DP2", more[1])})

    def test_of_arguments(self):
        from etc.megatron.schedule import check_schedule

        batch = ("--global-batch-size", "8")
        names = ("lr_warmup_iters", "lr_warmup_fraction", "lr_decay_iters")
        for given, more in (
            ((2, None, 8), ("--lr-warmup-iters=1",)),
            ((0, 0.25, 8), ("--lr-warmup-fraction=0.25",)),
            ((0, None, 16), ("--lr-decay-iters", "8")),
        ):
            args = SimpleNamespace(
                train_iters=8, global_batch_size=4, lr=1, **dict(zip(names, given))
            )
            check_schedule((*batch, "--train-iters=4", *more), args)
            for further in (
                (*batch, *more),
                (*batch, "--train-iters=5", *more),
                (*batch, "--train-iters=4", "--lr", "2", *more),
            ):
                with self.assertRaisesRegex(
                    ValueError, "changes the schedule of the learning"
                ):
                    check_schedule(further, args)


class Groups(unittest.TestCase):
    """Of parameters: their rates are those of the same group."""

    def test_are_matched(self):
        from etc.megatron import param_groups

        def optimizer(*groups):
            names = ("max_lr", "is_expert_parallel", "wd_mult", "default_config")
            rows = [dict(zip(names, group)) for group in groups]
            return SimpleNamespace(param_groups=rows)

        old = optimizer(
            (1, False, 1.0, True),
            (2, False, 0.0, True),
            (3, False, 1.0, False),
            (4, False, 1.0, False),
        )
        known = {
            key: param_groups._rates(g)
            for key, g in param_groups._keyed(old.param_groups)
        }
        new = optimizer(
            (9, False, 0.0, True),
            (9, True, 1.0, True),
            (9, False, 1.0, False),
            (9, False, 1.0, False),
            (9, False, 2.0, True),
        )
        param_groups.give(known, new)
        self.assertEqual(
            [group["max_lr"] for group in new.param_groups], [2, 1, 3, 4, 9]
        )


if __name__ == "__main__":
    unittest.main()
