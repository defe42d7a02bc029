"""Recovery of state on GPUs: what test_recover and test_recover_prepared try, over the
doubles of CUDA and NCCL."""

import os
import random
import signal
import tempfile
import threading
import time
import unittest
from unittest import mock

import etc
import etc.holdings
import etc.migration
import ranks
import test_recover
import test_recover_prepared
import torch
import training
from gpu_doubles import Environment
from training import OPTIONS, plan_of


def on_gpu(rank, store, body, node, args):
    os.environ["NCCL_HOSTID"] = f"node {node or rank}"
    training.take_gpu(rank)
    result = body(rank, store, *args)
    misuse = training.misuse()
    if misuse:
        raise AssertionError(misuse)
    return result


class RecoverOnGpus(test_recover.Recover, test_recover_prepared.Prepared):
    @unittest.skip("start has no place over NCCL")
    def test_no_step_before_state_is_under_way(self):
        pass

    def run_job(self, count, body, *args, node=None, **variables):
        """Each process is a node of its own, unless all are to be one."""
        seed = random.randrange(1 << 30)
        with Environment(ETC_DOUBLE_SEED=str(seed), **variables):
            results = ranks.run(count, on_gpu, body, node, args, timeout=300)
        if any("built without GPU kernels" in str(each) for each in results):
            self.skipTest("built without GPU kernels")
        self.addTypeEqualityFunc(list, lambda a, b, msg=None: self.equal(a, b, seed))
        return results

    def equal(self, a, b, seed):
        if a != b:
            self.fail(f"{a} != {b}, ETC_DOUBLE_SEED={seed}")

    def test_what_cannot_be_read_is_not_used(self):
        """After an abort that does not come to an end: the process counts as lost, and
        says that it has to end; another one takes its place, and what it alone held
        comes from a checkpoint."""
        plan = plan_of("TP2")
        change = etc.plan(training.REQUEST, prev=plan, curr="PP2")

        def body(rank, store, directory):
            if rank == 2:
                job = training.join(rank, store)
            else:
                job = training.start(rank, store, plan, step=4)
                self.fail_in_run(job, change)
            if rank == 1:
                with self.assertRaisesRegex(etc.UsageError, "end this process"):
                    etc.recover(job, "TP2", devices=range(3), **OPTIONS)
                return job.holdings(), 4
            restore = {"restore_from": directory, "restore_version": 4}
            etc.recover(job, "TP2", devices=[0, 2], **OPTIONS, **restore)
            return training.wrong(job), job.version

        with tempfile.TemporaryDirectory() as directory:
            training.save(4, directory)
            results = self.run_job(3, body, directory)
        self.assertEqual(ranks.must(results), [([], 4)] * 3)

    def fail_in_run(self, job, plan):
        """Device 0 gives up while device 1 waits for it, whose abort is stuck."""

        def progress(done, *_):
            if job.device == 1 and done == 0:
                job.store.set("about to wait", "x")
            if job.device == 0 and done == 0:
                job.store.wait(["about to wait"])
                time.sleep(1)
                migration.abort()

        if job.device == 1:
            os.environ["ETC_DOUBLE_STUCK_ABORT"] = "1"
        migration = job.prepare(plan, mode="safe", progress=progress)
        with self.assertRaises(etc.PeerError):
            migration.run()
        expected = "unreadable" if job.device == 1 else "old"
        self.assertEqual(migration.outcome, expected)

    def test_what_can_be_read_again(self):
        """An abort waits for a process of the node that is stopped, and ends when that
        one dies: then what the other holds is used."""
        plan = plan_of("TP2")
        change = etc.plan(training.REQUEST, prev=plan, curr="PP2")

        def body(rank, store, directory):
            job = training.start(rank, store, plan, step=4)

            def progress(done, *_):
                if rank == 0 and done == 0:
                    store.set("stopped", str(os.getpid()))
                    os.kill(os.getpid(), signal.SIGSTOP)

            migration = job.prepare(change, mode="safe", silence=2, progress=progress)
            with self.assertRaisesRegex(etc.PeerError, "device 0"):
                migration.run()
            outcomes = [migration.outcome]
            with self.assertRaisesRegex(etc.UsageError, "end this process"):
                etc.recover(job, "PP1", devices=[1], **OPTIONS)
            os.kill(int(store.get("stopped")), signal.SIGKILL)
            while migration.outcome == "unreadable":
                time.sleep(0.05)
            outcomes.append(migration.outcome)
            self.assertTrue(migration._memory.staging)
            restore = {"restore_from": directory, "restore_version": 4}
            staging = []
            with mock.patch(
                "etc.gpu.make_room",
                lambda _: staging.append(len(migration._memory.staging)),
            ):
                etc.recover(job, "PP1", devices=[1], **OPTIONS, **restore)
            self.assertEqual(staging, [0])
            return outcomes, training.wrong(job), job.version

        with tempfile.TemporaryDirectory() as directory:
            training.save(4, directory)
            results = self.run_job(2, body, directory, node="one")
        expected = [(["unreadable", "old"], [], 4)]
        self.assertEqual(ranks.must(results[1:]), expected)

    def test_an_abort_that_is_stuck_in_prepare(self):
        """The GPU is not busy with training, and no group of training's has to end."""
        plan = plan_of("DP1")
        native = etc.migration._run.Migration

        class Stuck:
            def __init__(self, *given, **options):
                self.real = native(*given, **options)

            def __getattr__(self, name):
                return getattr(self.real, name)

            def prepare(self, _):
                raise error

            def outcome(self):
                return etc.holdings.OUTCOMES.index("unreadable")

        def body(rank, store):
            job = training.start(rank, store, plan, step=4)
            with mock.patch.object(
                etc.migration._run, "Migration", Stuck
            ), self.assertRaises(type(error)):
                job.prepare(plan)
            has_ended = threading.Event()
            with mock.patch.object(
                torch.cuda, "synchronize", lambda _: has_ended.wait()
            ):
                words = "did not complete: end this process"
                with self.assertRaisesRegex(etc.UsageError, words):
                    etc.recover(job, "PP1", devices=[0], **OPTIONS)
                has_ended.set()
                etc.recover(job, "PP1", devices=[0], **OPTIONS)
            return training.wrong(job), job.version

        for error in (etc.PeerError("device 1: no sign of life"), KeyboardInterrupt()):
            self.assertEqual(ranks.must(self.run_job(1, body)), [([], 4)])

    def test_a_gpu_that_waits_for_a_peer(self):
        """As behind a collective of training: that is said in time, and can be mended."""
        plan = plan_of("DP2")

        def body(rank, store):
            job = training.start(rank, store, plan, step=4)
            is_free = threading.Event()
            with mock.patch.object(
                torch.cuda, "synchronize", lambda _: is_free.wait()
            ):
                quick = {**OPTIONS, "patience": 1, "timeout": 2}
                with self.assertRaisesRegex(
                    (etc.UsageError, etc.PeerError), "still at work after 2 s"
                ):
                    etc.recover(job, "TP2", devices=range(2), **quick)
                is_free.set()
                etc.recover(job, "TP2", devices=range(2), **OPTIONS)
            return training.wrong(job), job.version

        self.assertEqual(ranks.must(self.run_job(2, body)), [([], 4)] * 2)

    def test_who_has_a_slow_gpu_is_waited_for(self):
        plan = plan_of("DP2")

        def body(rank, store):
            job = training.start(rank, store, plan, step=4)
            if rank == 0:
                slow = mock.patch.object(
                    torch.cuda, "synchronize", lambda _: time.sleep(3)
                )
                slow.start()
            patient = {**OPTIONS, "patience": 5}
            done = etc.recover(job, "TP2", devices=range(2), **patient)
            return training.wrong(job), job.version, done.devices

        results = ranks.must(self.run_job(2, body))
        self.assertEqual(results, [([], 4, [0, 1])] * 2)

    def test_what_an_aborted_collective_leaves_is_no_step(self):
        """Kernels of an optimizer are queued behind one; they run when it is aborted, on
        gradients that are noise. That is no step: the one before counts."""
        plan = plan_of("DP2")

        def body(rank, store):
            job = training.start(rank, store, plan, step=4)
            is_aborted = threading.Event()
            group = mock.Mock(abort=is_aborted.set)
            group.get_error.return_value.name = "SUCCESS"
            with mock.patch(
                "etc.torch_private.nccl.backends", lambda: [group]
            ), mock.patch.object(
                torch.cuda, "synchronize", lambda _: is_aborted.wait()
            ):
                threading.Timer(0.5, job.abort_groups).start()
                with self.assertRaisesRegex(etc.UsageError, "were aborted"), job.step():
                    raise AssertionError("the step has begun")
                version = job.version
            etc.recover(job, "PP1", devices=range(2), **OPTIONS)
            return version, training.wrong(job), job.version

        results = ranks.must(self.run_job(2, body))
        self.assertEqual(results, [(4, [], 4)] * 2)

    def test_a_step_that_ends_with_an_abort_is_none(self):
        plan = plan_of("DP1")

        def body(rank, store):
            job = training.start(rank, store, plan, step=4)
            with self.assertRaisesRegex(etc.UsageError, "were aborted"), job.step():
                job.abort_groups()
            return job.version, job.holdings()

        self.assertEqual(ranks.must(self.run_job(1, body)), [(None, [])])

    def test_a_collective_that_failed_ends_no_step(self):
        plan = plan_of("DP1")

        def body(rank, store):
            job = training.start(rank, store, plan, step=4)
            with mock.patch(
                "etc.torch_private.nccl.backends", lambda: [object()]
            ), self.assertRaisesRegex(etc.UsageError, "needs PyTorch 2.7"), job.step():
                pass
            group = mock.Mock()
            group.get_error.return_value.name = "COMM_ERROR"
            with mock.patch("etc.torch_private.nccl.backends", lambda: [group]):
                with self.assertRaisesRegex(RuntimeError, "COMM_ERROR"), job.step():
                    raise AssertionError("the step has begun")
                before = job.version
                group.get_error.return_value.name = "SUCCESS"
                with self.assertRaisesRegex(RuntimeError, "TIMEOUT"), job.step():
                    group.get_error.return_value.name = "TIMEOUT"
                behind = job.version
            return before, behind

        self.assertEqual(ranks.must(self.run_job(1, body)), [(4, None)])

    def test_run_does_not_wait_for_ever(self):
        """A GPU may be behind a collective when `run` is called."""
        plan = etc.plan(training.REQUEST, prev="TP2", curr="PP2")

        def body(rank, store):
            state = training.start(rank, store, plan_of("TP2"), step=4)
            migration = state.prepare(plan, timeout=30)
            if rank == 0:
                time.sleep(1)
                migration.abort()
                return "PeerError", True
            never = threading.Event()
            with mock.patch.object(torch.cuda, "synchronize", lambda _: never.wait()):
                begin = time.monotonic()
                with self.assertRaisesRegex(etc.PeerError, "device 0: .* aborted"):
                    migration.run()
                return "PeerError", time.monotonic() - begin < 10

        self.assertEqual(ranks.must(self.run_job(2, body)), [("PeerError", True)] * 2)

    def test_who_joins_with_other_memory_is_refused(self):
        """And nobody else."""
        plan = plan_of("DP2")

        def body(rank, store):
            if rank == 2:
                store.wait(["0"])
                with self.assertRaisesRegex(ValueError, "is cpu here, and cuda in"):
                    etc.Job(store, rank)
                return [], 4
            job = training.start(rank, store, plan, step=4)
            store.set("0", "1")
            etc.recover(job, "TP2", devices=range(3), **OPTIONS)
            return training.wrong(job), job.version

        self.assertEqual(ranks.must(self.run_job(3, body)), [([], 4)] * 3)

    def test_a_gpu_that_has_failed(self):
        plan = plan_of("DP2")

        def body(rank, store):
            job = training.start(rank, store, plan, step=4)
            if rank == 1:
                failure = mock.Mock(side_effect=RuntimeError("an illegal access"))
                with mock.patch.object(torch.cuda, "synchronize", failure), self.assertRaisesRegex(
                    etc.UsageError, "cannot be used any more: .* \\(an illegal access\\)"
                ):
                    etc.recover(job, "PP1", devices=range(2), **OPTIONS)
                return [], 4
            etc.recover(job, "PP1", devices=range(2), **OPTIONS)
            return training.wrong(job), job.version

        self.assertEqual(ranks.must(self.run_job(2, body)), [([], 4)] * 2)

    def test_memory_is_one_for_all(self):
        plan = plan_of("DP2")

        def body(rank, store):
            state = training.make(plan.curr_tensors(rank), 4)
            with self.assertRaisesRegex(ValueError, "is on cpu"):
                etc.Job(store, rank, plan=plan, state=state, memory=training.memory())
            job = training.start(rank, store, plan, step=4)
            with self.assertRaisesRegex(ValueError, "the job's memory is cuda"):
                job.prepare(plan, device="cpu")

        self.assertEqual(ranks.must(self.run_job(2, body)), [None] * 2)


if __name__ == "__main__":
    unittest.main()
