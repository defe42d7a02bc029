"""Migrations of tensors on GPUs, over the doubles of CUDA and NCCL."""

import random
import threading
import unittest

import etc
import etc.tensors
import migrating
import ranks
from gpu_doubles import Environment, Gpu

SMALL = {"model": ranks.MODEL, "prev": "PP2", "curr": "TP2", "cluster": "1x2"}


def migrate(rank, store, plan, mode, is_threaded=False, free="storage"):
    """(what is wrong, what the doubles found, report) of one participant."""
    gpu = Gpu(rank)
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


if __name__ == "__main__":
    unittest.main()
