"""Recovery inside a job: what becomes of migrations that are prepared or have failed."""

import sys
import time
import unittest
from unittest import mock

import etc
import etc._run
import ranks
import training
from training import OPTIONS, plan_of

try:
    import torch  # noqa: F401
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None


class Prepared(unittest.TestCase):
    def run_job(self, count, body, *args):
        return ranks.run(count, body, *args)

    def test_recovery_ends_what_is_prepared(self):
        """Who fails between prepare and run is not waited for, and what was prepared
        does not run afterwards, from tensors that are not the job's any more."""
        base = plan_of("PP2DP2")
        plan = plan_of("PP2DP2", "TP2DP2")

        def body(rank, store):
            job = training.start(rank, store, base, step=3)
            migration = job.prepare(plan)
            ranks.wait_for_all(store, "prepared", rank, 4)
            begin = time.monotonic()
            if rank:
                with self.assertRaisesRegex(etc.PeerError, "0: .*recover was called"):
                    migration.run()
            waited = time.monotonic() - begin
            etc.recover(job, "PP2DP2", devices=range(4), **OPTIONS)
            with self.assertRaises((etc.PeerError, etc.UsageError)):
                migration.run()
            training.train(job)
            return training.wrong(job), job.version, waited < 10

        self.assertEqual(ranks.must(self.run_job(4, body)), [([], 4, True)] * 4)

    def test_ctrl_c_after_the_agreement(self):
        """Those who are about to prepare the migration learn it, and do not wait."""
        plan = plan_of("DP2")

        def interrupt(*_):
            raise KeyboardInterrupt

        class Interrupted(etc._run.Recovery):
            def agree(self):
                super().agree()
                raise KeyboardInterrupt

        def body(rank, store):
            job = training.start(rank, store, plan, step=3)
            for place in ("_agree_on_plan", "_plan", "_run"):
                replaced = mock.Mock(wraps=etc._run, Recovery=Interrupted)
                by = replaced if place == "_run" else interrupt
                if rank == 1:
                    module = sys.modules["etc.recover"]
                    with mock.patch.object(
                        module, place, by
                    ), self.assertRaises(KeyboardInterrupt):
                        etc.recover(job, "TP2", devices=range(2), **OPTIONS)
                else:
                    words = "device 1: KeyboardInterrupt"
                    with self.assertRaisesRegex(etc.PeerError, words):
                        etc.recover(job, "TP2", devices=range(2), **OPTIONS)
            done = etc.recover(job, "TP2", devices=range(2), **OPTIONS)
            return training.wrong(job), done.version, done.generation

        self.assertEqual(ranks.must(self.run_job(2, body)), [([], 3, 4)] * 2)

    def test_ctrl_c_as_the_agreement_is_written(self):
        """Who learns of no agreement looks whether the others wait for it."""
        plan = plan_of("DP2")

        class Interrupting:
            """A store whose caller gets Ctrl-C with the answer."""

            def __init__(self, store, is_mine):
                self.store, self.is_mine = store, is_mine

            def __getattr__(self, name):
                return getattr(self.store, name)

            def compare_set(self, key, *values):
                answer = self.store.compare_set(key, *values)
                if self.is_mine and key.endswith("/members"):
                    self.is_mine = False
                    raise KeyboardInterrupt
                return answer

        def body(rank, store):
            job = training.start(rank, Interrupting(store, rank == 0), plan, step=3)
            kind = etc.PeerError if rank else KeyboardInterrupt
            begin = time.monotonic()
            with self.assertRaises(kind) as caught:
                etc.recover(job, "TP2", devices=range(2), **OPTIONS)
            waited = time.monotonic() - begin
            done = etc.recover(job, "TP2", devices=range(2), **OPTIONS)
            text = str(caught.exception)
            return text, waited < 15, training.wrong(job), done.version

        results = ranks.must(self.run_job(2, body))
        self.assertIn("device 0: KeyboardInterrupt", results[1][0])
        self.assertEqual([each[1:] for each in results], [(True, [], 3)] * 2)

    def test_an_aborted_migration_has_no_staging(self):
        """Nor has one that refused to run."""
        base = plan_of("PP2DP2")
        plan = plan_of("PP2DP2", "TP2DP2")

        def body(rank, store, aborts):
            job = training.start(rank, store, base, step=3)
            migration = job.prepare(plan)
            ranks.wait_for_all(store, "prepared", rank, 4)
            had_staging = bool(migration._memory.staging)
            if aborts:
                migration.abort()
                migration.close()
            else:
                migration._before_run = mock.Mock(side_effect=RuntimeError("no"))
                with self.assertRaises(RuntimeError):
                    migration.run()
            return had_staging, dict(migration._memory.staging)

        for aborts in (True, False):
            results = ranks.must(self.run_job(4, body, aborts))
            self.assertEqual([each[1] for each in results], [{}] * 4)
            self.assertIn(True, [each[0] for each in results])

    def test_a_failed_migration_has_no_staging(self):
        """Whose memory a recovery may need; nor has one that was closed."""
        base = plan_of("PP2DP2")
        plan = plan_of("PP2DP2", "TP2DP2")

        def body(rank, store):
            job = training.start(rank, store, base, step=3)
            migration = job.prepare(plan)
            ranks.wait_for_all(store, "prepared", rank, 4)
            had_staging = bool(migration._memory.staging)
            if rank == 2:
                migration.close()
            else:
                with self.assertRaises(etc.PeerError):
                    migration.run()
            staging = dict(migration._memory.staging)
            done = etc.recover(job, "TP2DP2", devices=range(4), **OPTIONS)
            return had_staging, staging, training.wrong(job), done.version

        results = ranks.must(self.run_job(4, body))
        self.assertEqual([each[1:] for each in results], [({}, [], 3)] * 4)
        self.assertIn(True, [each[0] for each in results])

    def test_one_migration_at_a_time(self):
        """Who prepares another one does not run the one before."""
        base = plan_of("PP2DP2")
        plan = plan_of("PP2DP2", "TP2DP2")

        def body(rank, store):
            job = training.start(rank, store, base, step=3)
            first = job.prepare(plan)
            ranks.wait_for_all(store, "prepared", rank, 4)
            second = job.prepare(plan)
            with self.assertRaises((etc.PeerError, etc.UsageError)):
                first.run()
            second.run()
            training.train(job)
            return training.wrong(job), job.version, first.outcome

        expected = [([], 4, "not begun")] * 4
        self.assertEqual(ranks.must(self.run_job(4, body)), expected)


if __name__ == "__main__":
    unittest.main()
