"""Recovery inside a job: after a failure the survivors go on, in their processes."""

import re
import tempfile
import time
import unittest
import weakref
from unittest import mock

import etc
import ranks
import training
from etc.memory import Memory
from test_inventory import boxes_of
from training import OPTIONS, die, plan_of

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None


class Recover(unittest.TestCase):
    def run_job(self, count, body, *args):
        return ranks.run(count, body, *args)

    def test_death_in_a_step(self):
        """Replicas are a step apart: the newest complete step counts."""
        plan = plan_of("PP2DP2")

        def body(rank, store):
            job = training.start(rank, store, plan, step=5)
            if rank == 3:
                die()
            if rank in (0, 2):  # 0 and 2 hold all: both stages
                training.train(job)
            done = etc.recover(job, ["PP2DP2", "TP2"], devices=range(4), **OPTIONS)
            return (
                training.wrong(job),
                job.version,
                done.devices,
                done.dropped_devices,
                done.plan.curr,
            )

        stages = [plan.prev_role(d)["pp"] for d in range(4)]
        self.assertEqual({stages[0], stages[2]}, {0, 1})
        results = self.run_job(4, body)
        self.assertIsInstance(results[3], RuntimeError)
        for result in results[:3]:
            self.assertEqual(result, ([], 6, [0, 1, 2], 1, "PP1TP2"))

    def test_a_step_that_did_not_end(self):
        """State in the middle of a step is not used, and the older step is."""
        plan = plan_of("DP2")

        def body(rank, store):
            job = training.start(rank, store, plan, step=5)
            if rank == 1:
                with self.assertRaises(ZeroDivisionError), job.step():
                    raise ZeroDivisionError
            done = etc.recover(job, "PP2", devices=range(2), **OPTIONS)
            return training.wrong(job), done.version, done.devices

        self.assertEqual(ranks.must(self.run_job(2, body)), [([], 5, [0, 1])] * 2)

    def test_death_in_run(self):
        """What is left of a migration is mixed, and nothing is lost by that."""
        base, plan = plan_of("PP2TP2DP2"), plan_of("PP2TP2DP2", "PP4DP2")

        def body(rank, store, mode, round):
            job = training.start(rank, store, base)
            training.train(job)

            def progress(at, rounds, _):
                if rank == 5 and at == min(round, rounds - 1):
                    die()

            migration = job.prepare(plan, mode=mode, timeout=60, progress=progress)
            begin = time.monotonic()
            try:
                migration.run()
            except etc.PeerError as error:
                cause = str(error)
            waited = time.monotonic() - begin
            outcome = migration.outcome
            done = etc.recover(job, ["PP2TP2", "TP2"], devices=range(8), **OPTIONS)
            return (
                training.wrong(job),
                job.version,
                done.devices,
                cause,
                outcome,
                waited,
            )

        others = [d for d in range(8) if d != 5]
        for mode, round in (("eager", 0), ("eager", 1), ("eager", 99), ("safe", 1)):
            with self.subTest(f"{mode}, round {round}"):
                results = self.run_job(8, body, mode, round)
                self.assertIsInstance(results[5], RuntimeError)
                for rank in others:
                    self.assertEqual(results[rank][:3], ([], 1, others))
                    self.assertLess(results[rank][5], 10)
                causes = {rank: results[rank][3] for rank in others}
                self.assertEqual(len(set(causes.values())), 1, causes)

    def test_memory_of_what_is_not_held_goes(self):
        """At once where nothing has landed, and when the recovery's first round begins
        where that has what landed in its own tensors."""
        base, plan = plan_of("PP2TP2DP2"), plan_of("PP2TP2DP2", "PP4DP2")

        def body(rank, store, mode):
            job = training.start(rank, store, base)

            def progress(at, *_):
                if rank == 5 and at == 1:
                    die()

            migration = job.prepare(plan, mode=mode, timeout=60, progress=progress)
            with self.assertRaises(etc.PeerError):
                migration.run()
            received = migration.received
            landed = boxes_of(migration.inventory(), rank)
            empty = [(k, n) for k in received for n in received[k] if (k, n) not in landed]
            left = [weakref.ref(t) for group in received.values() for t in group.values()]
            del received
            alive, real = [], Memory.allocate

            def allocate(memory, kind, name, size):
                if kind is not None:  # staging is older than the first round
                    taken = {t.data_ptr() for t in memory.old.values()}
                    kept = [ref() for ref in left if ref() is not None]
                    alive.append(sum(t.data_ptr() not in taken for t in kept))
                return real(memory, kind, name, size)

            with mock.patch.object(Memory, "allocate", allocate):
                etc.recover(job, "TP2", devices=range(8), **OPTIONS)
            return training.wrong(job), empty, max(alive, default=0), bool(left)

        for mode in ("eager", "safe"):
            with self.subTest(mode):
                results = self.run_job(8, body, mode)
                results = ranks.must(results[:5] + results[6:])
                for result in results:
                    self.assertEqual(result[:3], ([], [], 0))
                self.assertTrue(any(result[3] for result in results))

    def test_state_that_is_not_the_plans_is_refused(self):
        plan = plan_of("TP2")

        def body(rank, store):
            state = training.make(plan.curr_tensors(rank), 0)
            kind, name = next((k, n) for k in state for n in state[k])
            good = state[kind][name]
            for bad, error in (
                (good.to(torch.float64), TypeError),
                (good[:1], ValueError),
                (torch.stack([good, good], -1)[..., 0], ValueError),
                (None, TypeError),
            ):
                state[kind][name] = bad
                with self.assertRaisesRegex(error, re.escape(name)):
                    etc.Job(store, rank, plan=plan, state=state)
            del state[kind][name]
            with self.assertRaisesRegex(KeyError, "is missing"):
                etc.Job(store, rank, plan=plan, state=state)
            state[kind][name] = good
            state[kind]["more"] = good
            with self.assertRaisesRegex(KeyError, "more .* not in the plan"):
                etc.Job(store, rank, plan=plan, state=state)

        self.assertEqual(ranks.must(self.run_job(2, body)), [None] * 2)

    def test_no_step_while_state_is_under_way(self):
        """Until `finish` the job's state is of the step before."""
        base = plan_of("PP2TP2")
        plan = etc.plan(training.REQUEST, prev=base, curr="PP4", defer="optimizer")
        self.assertGreater(plan.summary.deferred_rounds, 0)

        def body(rank, store):
            job = training.start(rank, store, base, step=3)
            migration = job.prepare(plan)
            migration.run()
            with self.assertRaisesRegex(etc.UsageError, "is not complete"), job.step():
                pass
            with self.assertRaisesRegex(etc.UsageError, "freed at any time"):
                self.assertTrue(job.state)
            migration.finish()
            training.train(job)
            return training.wrong(job), job.version

        self.assertEqual(ranks.must(self.run_job(4, body)), [([], 4)] * 4)

    def test_no_step_before_state_is_under_way(self):
        """Nor where a thread of ETC's is about to move it."""
        base = plan_of("PP2TP2")
        plan = etc.plan(training.REQUEST, prev=base, curr="PP4", defer="optimizer")

        def body(rank, store):
            job = training.start(rank, store, base, step=3)
            migration = job.prepare(plan)
            if rank == 3:  # the others wait for it
                store.wait(["0", "1", "2"])
                migration.run()
            else:
                migration.start()
                with self.assertRaisesRegex(etc.UsageError, "not complete"), job.step():
                    pass
                with self.assertRaisesRegex(etc.UsageError, "freed at any time"):
                    self.assertTrue(job.state)
                store.set(f"{rank}", "")
            migration.finish()
            training.train(job)
            return training.wrong(job), job.version

        self.assertEqual(ranks.must(self.run_job(4, body)), [([], 4)] * 4)

    def test_recovery_with_a_request_that_defers(self):
        """It has no first step to defer state behind, and moves all."""
        plan = plan_of("PP2DP2")
        options = {**OPTIONS, "request": {**training.REQUEST, "defer": "optimizer"}}

        def body(rank, store):
            job = training.start(rank, store, plan, step=5)
            if rank == 3:
                die()
            done = etc.recover(job, ["TP2"], devices=range(4), **options)
            training.train(job)
            kinds = sorted(done.state)
            return training.wrong(job), job.version, kinds

        results = self.run_job(4, body)
        kinds = ["exp_avg", "exp_avg_sq", "master", "param"]
        for result in results[:3]:
            self.assertEqual(result[:2], ([], 6))
            self.assertIn(result[2], ([], kinds))

    def test_death_while_state_is_under_way(self):
        """Survivors recover from where they are, at finish or in the first step."""
        base = plan_of("PP2TP2DP2")
        plan = etc.plan(training.REQUEST, prev=base, curr="PP4DP2", defer="optimizer")

        def body(rank, store, mode):
            job = training.start(rank, store, base, step=3)
            migration = job.prepare(plan, mode=mode, timeout=60, tail_rate=1000.0)
            migration.run()
            # A recovery also ends the pause of those who have not left it.
            ranks.wait_for_all(store, "paused", rank, 8)
            if rank == 5:
                die()
            if rank % 2:  # the others notice it by their own collectives, say
                with self.assertRaises(etc.PeerError):
                    migration.finish()
            done = etc.recover(job, ["PP2TP2", "TP2"], devices=range(8), **OPTIONS)
            training.train(job)
            return training.wrong(job), job.version, done.devices

        others = [d for d in range(8) if d != 5]
        for mode in ("eager", "safe"):
            with self.subTest(mode):
                results = self.run_job(8, body, mode)
                for rank in others:
                    self.assertEqual(results[rank], ([], 4, others))

    def test_lost_state(self):
        """It is named, and read from a checkpoint of a step that is complete so. Where
        the embedding is lost with its tied copy, the checkpoint has one of them."""
        plan = plan_of("PP2TP2")

        def body(rank, store, directory, dead):
            job = training.start(rank, store, plan, step=4)
            if rank in dead:
                die()
            quick = {**OPTIONS, "patience": 1, "timeout": 3}
            with self.assertRaisesRegex(etc.PeerError, r"nobody holds .* of step 4"):
                etc.recover(job, "PP2", devices=range(4), **quick)
            self.assertEqual(training.wrong(job), [])
            restore = {"restore_from": directory, "restore_version": 4}
            done = etc.recover(job, "PP2", devices=range(4), **OPTIONS, **restore)
            return training.wrong(job), job.version, done.devices, done.restored_bytes

        for dead in ([2], [0, 2]):
            with self.subTest(dead=dead), tempfile.TemporaryDirectory() as directory:
                training.save(4, directory)
                results = self.run_job(4, body, directory, dead)
                lost = sum(
                    spec.bytes
                    for rank in dead
                    for group in plan.curr_tensors(rank).values()
                    for spec in group.values()
                )
                left = [rank for rank in range(4) if rank not in dead]
                for rank in left:
                    self.assertEqual(results[rank][:3], ([], 4, left))
                    self.assertGreater(results[rank][3], 0)
                    self.assertLessEqual(results[rank][3], lost)

    def test_lost_state_of_a_device_with_a_new_process(self):
        """Who held state reads it, though the new process is on the device that did."""
        plan = plan_of("PP2TP2")

        def body(rank, store, directory):
            if rank == 2:
                job = training.join(rank, store)
            else:
                job = training.start(rank, store, plan, step=4)
            restore = {"restore_from": directory, "restore_version": 4}
            etc.recover(job, "PP2TP2", devices=range(4), **OPTIONS, **restore)
            return training.wrong(job), job.version

        with tempfile.TemporaryDirectory() as directory:
            training.save(4, directory)
            results = ranks.must(self.run_job(4, body, directory))
        self.assertEqual(results, [([], 4)] * 4)

    def test_joiners(self):
        """Processes that hold nothing make the job whole again."""
        plan = plan_of("PP2DP2")

        def body(rank, store):
            if rank >= 3:
                job = training.join(rank, store)
            else:
                job = training.start(rank, store, plan, step=2)
            done = etc.recover(job, "PP2DP2", devices=[0, 1, 2, 6], **OPTIONS)
            training.train(job)
            return training.wrong(job), job.version, done.devices

        def both(rank, store):
            return body(6 if rank == 3 else rank, store)

        results = ranks.must(self.run_job(4, both))
        self.assertEqual(results, [([], 3, [0, 1, 2, 6])] * 4)

    def test_no_plan(self):
        """Who holds nothing, and cannot plan, learns at once why the others have none;
        so does who has one, and waits for a process that has not."""
        plan = plan_of("PP2DP2")
        no_cluster = {**OPTIONS, "request": {"model": ranks.MODEL}}
        wrong = "PlanError: request: has no cluster"

        def body(rank, store):
            job = training.join(rank, store)
            if rank < 4:
                job = training.start(rank, store, plan, step=1)
            begin = time.monotonic()
            with self.assertRaisesRegex(etc.UnsatisfiableError, "needs 32 devices"):
                etc.recover(job, "TP4DP8", devices=range(5), **OPTIONS)
            told = rank == 4, rf"device \d: {wrong}"
            with self.assertRaisesRegex(*self.error_of(*told)):
                etc.recover(job, "TP2", devices=range(5), **no_cluster)
            options = no_cluster if rank == 0 else OPTIONS
            told = rank != 0, f"device 0: {wrong}"
            # All five take part: who does not would not wait for the others.
            with self.assertRaisesRegex(*self.error_of(*told)):
                etc.recover(job, "DP5", devices=range(5), **options)
            waited = time.monotonic() - begin
            etc.recover(job, "TP2", devices=range(5), **OPTIONS)
            return training.wrong(job), job.version, waited < 8

        self.assertEqual(ranks.must(self.run_job(5, body)), [([], 1, True)] * 5)

    def error_of(self, is_told, text):
        return (etc.PeerError, text) if is_told else (etc.PlanError, "has no cluster")

    def test_stopped_and_woken(self):
        """The others go on; who wakes is excluded, keeps what it held, and joins."""
        plan = plan_of("PP2DP2")

        def body(rank, store):
            job = training.start(rank, store, plan, step=1)
            if rank == 3:
                store.get("on")
                with self.assertRaisesRegex(
                    etc.Excluded, "recovery 1 is of devices 0, 1, 2"
                ):
                    etc.recover(job, "PP2DP2", devices=range(4), **OPTIONS)
                kept = training.wrong(job)
                job = training.join(rank, store)
            else:
                etc.recover(job, ["PP2"], devices=range(4), **OPTIONS)
                kept = training.wrong(job)
                training.train(job)
                store.set("on", "1")
            etc.recover(job, ["PP2DP2"], devices=range(4), **OPTIONS)
            return kept, training.wrong(job), job.version, job.generation

        results = ranks.must(self.run_job(4, body))
        self.assertEqual(results, [([], [], 2, 2)] * 4)


if __name__ == "__main__":
    unittest.main()
