"""Which arguments of a change give a schedule that Megatron's own scheduler rejects."""

import argparse
import itertools
import unittest
from types import SimpleNamespace

from etc.megatron.schedule import check_schedule
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler

OVERRIDE = "--override-opt_param-scheduler"
COUNTED = ("train", "lr-decay", "lr-warmup", "lr-wsd-decay")
LINEAR = (
    "--weight-decay-incr-style=linear",
    "--start-weight-decay=0.1",
    "--end-weight-decay=0.2",
)
LINES = (
    ("--train-iters=8", "--lr=1", "--min-lr=0.1"),
    ("--train-iters=8", "--lr=1", "--lr-decay-iters=4", "--lr-warmup-iters=2"),
    ("--train-samples=8", "--lr=1", "--lr-warmup-fraction=0.5"),
    ("--train-iters=8", "--lr=1", *LINEAR),
    ("--train-iters=8", "--lr=1", "--lr-decay-style=WSD", "--lr-wsd-decay-iters=2"),
)
MORE = (
    *("lr=0.05", "lr=2", "lr=-1", "min-lr=0", "min-lr=-0.5", "min-lr=1.5"),
    *("lr-warmup-init=-1", "lr-warmup-init=1.5", "train-iters=0", "train-iters=2"),
    *("train-samples=4", "lr-decay-iters=0", "lr-decay-iters=-2", "lr-decay-iters=16"),
    *("lr-decay-samples=0", "lr-decay-samples=4", "lr-warmup-iters=8"),
    *("lr-warmup-samples=3", "lr-warmup-fraction=1", "lr-warmup-fraction=0.1"),
    *("lr-decay-style=WSD", "lr-decay-style=cosine", "lr-wsd-decay-iters=2"),
    *("lr-wsd-decay-samples=2", "weight-decay=-0.1", "weight-decay=0.3"),
    *("start-weight-decay=0.2", "start-weight-decay=0.3", "start-weight-decay=-0.1"),
    *("end-weight-decay=0.05", "end-weight-decay=0.2", "end-weight-decay=-0.2"),
    *("weight-decay-incr-style=linear", "weight-decay-incr-style=constant"),
)
ADVICE = r"^None$|^arguments: [^\n]*(pass|expected|exclude|is not for)[^\n]*$"


def parser():
    """Of what Megatron's says of schedules."""
    made = argparse.ArgumentParser(allow_abbrev=False)
    for name, unit in itertools.product(COUNTED, ("iters", "samples")):
        made.add_argument(f"--{name}-{unit}", type=int)
    for name in ("lr", "min-lr", "lr-warmup-init", "weight-decay"):
        made.add_argument(f"--{name}", type=float, default=0.0)
    for name in ("start-weight-decay", "end-weight-decay", "lr-warmup-fraction"):
        made.add_argument(f"--{name}", type=float)
    made.add_argument("--lr-decay-style", default="linear")
    made.add_argument("--weight-decay-incr-style", default="constant")
    return made


def scheduled(args):
    """The arguments with their defaults, by Megatron-LM's validate_args and
    get_optimizer_param_scheduler of core_v0.16.0, with a batch of one sample."""
    unit, other = ("samples", "iters") if args.train_samples else ("iters", "samples")
    train, decay, warmup, annealing = (
        getattr(args, f"{name}_{unit}".replace("-", "_")) for name in COUNTED
    )
    assert train
    assert getattr(args, f"train_{other}") is None
    assert getattr(args, f"lr_decay_{other}") is None
    assert not getattr(args, f"lr_warmup_{other}")
    decay = train if decay is None else decay
    setattr(args, f"lr_decay_{unit}", decay)
    if args.lr_warmup_fraction is not None:
        assert not warmup
        warmup = args.lr_warmup_fraction * decay
    if args.weight_decay_incr_style == "constant":
        assert args.start_weight_decay is None and args.end_weight_decay is None
        args.start_weight_decay = args.end_weight_decay = args.weight_decay
    else:
        assert None not in (args.start_weight_decay, args.end_weight_decay)
    OptimizerParamScheduler(
        SimpleNamespace(param_groups=[{}]),
        args.lr_warmup_init,
        args.lr,
        args.min_lr,
        warmup or 0,
        decay,
        args.lr_decay_style,
        args.start_weight_decay,
        args.end_weight_decay,
        train,
        args.weight_decay_incr_style,
        wsd_decay_steps=annealing,
        lr_wsd_decay_style="linear",
    )
    return args


def error_of(function, *arguments):
    try:
        function(*arguments)
    except (AssertionError, ValueError) as error:
        return error
    return None


class Refused(unittest.TestCase):
    def test_of_one_and_two_arguments(self):
        """Those that Megatron rejects, and no others, in one line that says what to do."""
        parse = parser().parse_args
        singles = [LINEAR, *((f"--{one}",) for one in MORE)]
        pairs = [(*one, *two) for one, two in itertools.combinations(singles, 2)]
        for line in LINES:
            job = scheduled(parse(line))
            check_schedule((), job)
            for more in (*singles, *pairs):
                with self.subTest(line=line, more=more):
                    expected = error_of(scheduled, parse((*line, *more)))
                    told = error_of(check_schedule, (*more, OVERRIDE), job)
                    self.assertEqual(told is None, expected is None, told)
                    self.assertRegex(str(told), ADVICE)


if __name__ == "__main__":
    unittest.main()
