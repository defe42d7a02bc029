"""A job that changes its configuration five times and defers state each time loses
nothing: in 100 iterations its losses are those of the same job without deferred state,
and of the same job that changes by checkpoints, bit for bit.

The order of sums changes with TP2. A single process is therefore no reference; the same
schedule by other means is. Checkpoints need a PyTorch with DTensor."""

import importlib.util
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

try:
    from elastic_test import command, events, losses
except ImportError as missing:
    raise unittest.SkipTest(f"the trainer's test: {missing}") from None

WAY = [(10, "PP4"), (25, "PP2DP2"), (40, "PP2TP2"), (60, "DP4"), (80, "PP2")]
ITERATIONS = 100
CHECKPOINTS = importlib.util.find_spec("torch.distributed.tensor")


def train(out, **how):
    """What each process told of a job that makes all changes in this way."""
    schedule = [{"at": at, "to": to, **how} for at, to in WAY]
    subprocess.run(command(out, "--start=PP2", f"--iterations={ITERATIONS}",
                           f"--schedule={json.dumps(schedule)}"), check=True)
    return events(out)


def changes(told):
    """The events of changes of processes that stay, by the configuration entered."""
    found = {}
    for lines in told.values():
        for event in lines:
            if event["event"] == "change":
                found.setdefault(event["configuration"], []).append(event)
    return found


class Deferred(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["OMP_NUM_THREADS"] = "1"
        # MKL adds in an order that depends on the alignment of a tensor, unless told.
        os.environ["MKL_CBWR"] = "COMPATIBLE"
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.out = pathlib.Path(cls.folder.name)
        cls.told = train(cls.out / "deferred", request={"defer": "optimizer"})
        cls.losses = losses(cls.told)

    def same(self, told):
        other = losses(told)
        self.assertEqual(len(other), ITERATIONS)
        self.assertEqual([i for i, (a, b) in enumerate(zip(self.losses, other), 1)
                          if a != b], [])

    def test_every_change_deferred_state(self):
        found = changes(self.told)
        self.assertEqual(sorted(found), sorted(to for _, to in WAY))
        for to, entered in found.items():
            for event in entered:
                # The tail ended between the first gradients and the first update.
                self.assertLessEqual(event["moved"], event["waits"], to)
                self.assertLessEqual(event["waits"], event["finished"], to)
                self.assertLessEqual(event["finished"], event["first_step"], to)
                report = event["report"]
                self.assertLess(report["pause_seconds"], report["seconds"], to)
                self.assertLessEqual(report["peak_bytes"], report["proved_bytes"], to)

    def test_losses_are_those_without_deferred_state(self):
        told = train(self.out / "whole")
        self.assertFalse(any("waits" in event for entered in changes(told).values()
                             for event in entered))
        self.same(told)

    @unittest.skipUnless(CHECKPOINTS, "this PyTorch has no torch.distributed.tensor")
    def test_losses_are_those_by_checkpoints(self):
        self.same(train(self.out / "dcp", by=f"dcp:{self.out / 'checkpoints'}"))


if __name__ == "__main__":
    unittest.main()
