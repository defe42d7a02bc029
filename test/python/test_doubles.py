"""Migrations of tensors on GPUs: over the doubles of CUDA and NCCL, or, with ETC_TORCH_DEVICE=cuda, on real ones."""

import random
import threading
import time
import unittest

import etc
import etc.tensors
import migrating
import ranks
from gpu_doubles import Environment, gpu_of

SMALL = {"model": ranks.MODEL, "prev": "PP2", "curr": "TP2", "cluster": "1x2"}


def migrate(rank, store, plan, mode, is_threaded=False, free="storage"):
    """(what is wrong, what the doubles found, report) of one participant."""
    gpu = gpu_of(rank)
    with gpu.stands_in():
        device = plan.participants[rank]
        state = {
            kind: {name: gpu.copy(tensor) for name, tensor in tensors.items()}
            for kind, tensors in ranks.make(plan.prev_tensors(device)).items()
        }
        etc.tensors.free_storage = gpu.free
        migration = migrating.prepare(
            rank, store, plan, state, mode=mode, device=gpu.device, free=free
        )
        if is_threaded:
            thread = threading.Thread(target=migration.run)
            thread.start()
            thread.join()
        else:
            migration.run()
        new = migration.state
        places = {t.device for tensors in new.values() for t in tensors.values()}
        assert places <= {gpu.device}, places
        wrong = ranks.differences(new, ranks.make(plan.curr_tensors(device)))
    return wrong, gpu.misuse(), migration.report


def stop(rank, store, plan, quitter):
    """(outcome, cause, seconds) after one gives up while the others' kernels wait for
    it."""
    gpu = gpu_of(rank)

    def progress(done, *_):
        if rank == quitter and done == 1:
            time.sleep(1)
            migration.abort()

    with gpu.stands_in():
        prev = ranks.make(plan.prev_tensors(plan.participants[rank]))
        state = {k: {n: gpu.copy(t) for n, t in prev[k].items()} for k in prev}
        etc.tensors.free_storage = gpu.free
        options = {"mode": "safe", "device": gpu.device, "progress": progress}
        migration = migrating.prepare(rank, store, plan, state, **options)
        begin = time.monotonic()
        try:
            migration.run()
        except etc.PeerError as error:
            return migration.outcome, str(error), time.monotonic() - begin


def share(rank, store, plan):
    """(the error, what the doubles found) of one of two participants on one GPU."""
    gpu = gpu_of(3)
    with gpu.stands_in():
        prev = ranks.make(plan.prev_tensors(plan.participants[rank]))
        state = {k: {n: gpu.copy(t) for n, t in prev[k].items()} for k in prev}
        try:
            migrating.prepare(rank, store, plan, state, device=gpu.device)
        except (etc.UsageError, etc.PeerError) as error:
            return str(error), gpu.misuse()
    return "", ""


class Doubles(unittest.TestCase):
    def check(self, request, *arguments, **variables):
        plan = etc.plan(**request)
        seed = random.randrange(1 << 30)
        with Environment(ETC_DOUBLE_SEED=str(seed), **variables):
            count = len(plan.participants)
            results = ranks.run(count, migrate, plan, *arguments, timeout=300)
        if any("built without GPU kernels" in str(each) for each in results):
            self.skipTest("built without GPU kernels")
        for wrong, misuse, report in ranks.must(results):
            self.assertEqual(wrong, [], f"ETC_DOUBLE_SEED={seed}")
            self.assertEqual(misuse, "", f"ETC_DOUBLE_SEED={seed}")
            self.assertLessEqual(report.peak_bytes, report.proved_bytes)

    def test_eager(self):
        self.check(migrating.REQUEST, "eager")

    def test_safe(self):
        self.check(migrating.REQUEST, "safe")

    def test_runs_on_another_thread_than_prepared(self):
        for version in ("21903", "22602", "22809"):
            with self.subTest(version):
                self.check(SMALL, "eager", True, ETC_DOUBLE_NCCL_VERSION=version)

    def test_references_alone_are_dropped(self):
        self.check(SMALL, "eager", False, "references")

    def test_two_participants_on_one_gpu(self):
        """NCCL would say "invalid usage"."""
        plan = etc.plan(**SMALL)
        with Environment():
            results = ranks.run(2, share, plan, timeout=300)
        if any("built without GPU kernels" in str(each) for each in results):
            self.skipTest("built without GPU kernels")
        for text, misuse in ranks.must(results):
            self.assertIn("rank 0 (device 0) and rank 1 (device 1) are both on", text)
            self.assertIn("GPU 0000:03:00.0", text)
            self.assertIn("CUDA_VISIBLE_DEVICES", text)
            self.assertEqual(misuse, "")

    def test_kernels_that_do_not_end(self):
        """Whose abort does not come to an end says that nothing of its GPU can be read;
        all name one cause all the same."""
        plan = etc.plan(**migrating.REQUEST)
        for variables, expected in (
            ({}, {"old"}),
            ({"ETC_DOUBLE_STUCK_ABORT": "1"}, {"old", "unreadable"}),
        ):
            with self.subTest(expected), Environment(**variables):
                results = ranks.run(len(plan.participants), stop, plan, 1, timeout=300)
                if any("built without GPU kernels" in str(each) for each in results):
                    self.skipTest("built without GPU kernels")
                outcomes, causes, seconds = zip(*ranks.must(results))
                self.assertEqual(set(outcomes), expected)
                self.assertEqual(set(causes), {"device 1: the migration was aborted"})
                self.assertLess(max(seconds), 10)


if __name__ == "__main__":
    unittest.main()
