"""Job.prepare: processes that come at any time meet, and are at one step afterwards."""

import threading
import time
import unittest

import etc
import ranks
import training
from training import OPTIONS, die, plan_of

try:
    import torch  # noqa: F401
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None


def join(store, device):
    """As docs/recovery.md writes it."""
    return etc.Job(store, device, host=training.HOST)


def migrate(job, plan, **options):
    job.prepare(plan, timeout=30, **options).run()
    return training.wrong(job), job.version


def meet(store, name, rank, others):
    store.set(f"{name}/{rank}", "x")
    for other in others:
        store.get(f"{name}/{other}")


class OneStep(unittest.TestCase):
    """Who held nothing is at the step of what it received."""

    def setUp(self):
        self.base = plan_of("TP2")
        self.grow = etc.plan(training.REQUEST, prev=self.base, curr="TP2DP2")

    def test_of_a_joiner(self):
        def body(rank, store):
            job = join(store, rank)
            if rank < 2:
                job = training.start(rank, store, self.base, step=5)
            grown = migrate(job, self.grow)
            done = etc.recover(job, "TP4", devices=range(4), **OPTIONS)
            return grown, training.wrong(job), done.version, done.dropped_devices

        expected = [(([], 5), [], 5, 0)] * 4
        self.assertEqual(ranks.must(ranks.run(4, body)), expected)

    def test_a_step_that_only_joiners_made(self):
        """A recovery does not take it for the step before, which others hold."""

        def body(rank, store):
            job = join(store, rank)
            if rank < 2:
                job = training.start(rank, store, self.base, step=1)
            migrate(job, self.grow)
            if rank >= 2:
                training.train(job)
            done = etc.recover(job, "TP4", devices=range(4), **OPTIONS)
            return training.wrong(job), done.version, done.dropped_devices

        self.assertEqual(ranks.must(ranks.run(4, body)), [([], 2, 2)] * 4)

    def test_of_training_since_prepare(self):
        """Whether who joins counts steps meanwhile or not."""

        def body(rank, store, counts):
            job = join(store, rank)
            if rank < 2:
                job = training.start(rank, store, self.base, step=5)
            migration = job.prepare(self.grow, timeout=30)
            versions = [job.version]
            for _ in range(2 if rank < 2 or counts else 0):
                training.train(job)
            migration.run()
            return versions, training.wrong(job), job.version

        for counts in (False, True):
            with self.subTest(counts=counts):
                results = ranks.must(ranks.run(4, body, counts))
                self.assertEqual(results, [([5], [], 7)] * 4)

    def test_of_what_a_failed_migration_left(self):
        plan = etc.plan(training.REQUEST, prev=self.base, curr="PP4")

        def body(rank, store):
            job = join(store, rank)
            if rank < 2:
                job = training.start(rank, store, self.base, step=5)

            def progress(at, *_):
                if rank == 3 and at == 1:
                    die()

            migration = job.prepare(plan, mode="safe", timeout=30, progress=progress)
            if rank < 2:
                training.train(job)
            with self.assertRaises(etc.PeerError):
                migration.run()
            done = etc.recover(job, ["TP2"], devices=range(4), **OPTIONS)
            return training.wrong(job), job.version, done.dropped_devices

        results = ranks.run(4, body)
        self.assertEqual(ranks.must(results[:3]), [([], 6, 0)] * 3)

    def test_of_all_who_hold_state(self):
        """Otherwise nothing moves, and a recovery takes the newest."""
        plan = plan_of("TP2DP2", "TP4")
        base = plan_of("TP2DP2")
        late = [d for d in range(4) if base.prev_role(d)["dp"] == 1]
        text = f"of different steps, device 0 of step 5 and device {late[0]} of step 6"

        def body(rank, store):
            job = training.start(rank, store, base, step=5)
            if rank in late:
                training.train(job)
            with self.assertRaisesRegex(etc.UsageError, text):
                job.prepare(plan, timeout=30)
            done = etc.recover(job, "TP4", devices=range(4), **OPTIONS)
            return training.wrong(job), done.version, done.dropped_devices

        self.assertEqual(ranks.must(ranks.run(4, body)), [([], 6, 2)] * 4)

    def test_of_all_who_hold_state_at_run(self):
        base, plan = plan_of("TP2DP2"), plan_of("TP2DP2", "TP4")
        late = [d for d in range(4) if base.prev_role(d)["dp"] == 1]

        def body(rank, store):
            job = training.start(rank, store, base, step=5)
            migration = job.prepare(plan, timeout=30)
            if rank in late:
                training.train(job)
            with self.assertRaisesRegex(RuntimeError, "of different steps, this one"):
                migration.run()
            done = etc.recover(job, "TP4", devices=range(4), **OPTIONS)
            return training.wrong(job), done.version, migration.outcome

        results = ranks.must(ranks.run(4, body))
        self.assertEqual(results, [([], 6, "not begun")] * 4)

    def test_that_did_not_end(self):
        def body(rank, store):
            job = training.start(rank, store, plan_of("DP2"), step=5)
            if rank == 1:
                with self.assertRaises(ZeroDivisionError), job.step():
                    raise ZeroDivisionError
            with self.assertRaisesRegex(etc.UsageError, "device 1 .* did not end"):
                job.prepare(plan_of("DP2", "PP2"), timeout=30)
            done = etc.recover(job, "PP2", devices=range(2), **OPTIONS)
            return training.wrong(job), done.version

        self.assertEqual(ranks.must(ranks.run(2, body)), [([], 5)] * 2)


class NewProcesses(unittest.TestCase):
    """They meet the others, whatever the others did before."""

    def setUp(self):
        self.base = plan_of("TP2")
        self.grow = etc.plan(training.REQUEST, prev=self.base, curr="TP2DP2")

    def test_after_a_recovery(self):
        def body(rank, store):
            if rank < 2:
                job = training.start(rank, store, self.base, step=3)
                etc.recover(job, "TP2", devices=range(2), **OPTIONS)
                store.set(f"recovered/{rank}", "x")
            else:
                store.wait(["recovered/0", "recovered/1"])
                job = join(store, rank)
            grown = migrate(job, self.grow)
            # It counts recoveries as the others do.
            done = etc.recover(job, "TP4", devices=range(4), **OPTIONS)
            return grown, training.wrong(job), done.generation

        self.assertEqual(ranks.must(ranks.run(4, body)), [(([], 3), [], 2)] * 4)

    def test_before_a_recovery(self):
        """Who waits when the others recover joins them afterwards."""

        def body(rank, store):
            if rank < 2:
                job = training.start(rank, store, self.base, step=3)
                store.wait(["joined/2", "joined/3"])
                etc.recover(job, "TP2", devices=range(2), **OPTIONS)
                return migrate(job, self.grow)
            job = join(store, rank)
            store.set(f"joined/{rank}", "x")
            while True:
                try:
                    return migrate(job, self.grow)
                except etc.PeerError as error:  # where the recovery takes longer
                    if "has called etc.recover" not in str(error):
                        raise

        self.assertEqual(ranks.must(ranks.run(4, body)), [([], 3)] * 4)

    def test_at_each_growth(self):
        shrink = etc.plan(training.REQUEST, prev=self.grow, curr="TP2")

        def body(rank, store):
            job = join(store, rank)
            if rank < 2:
                job = training.start(rank, store, self.base, step=3)
            results = []
            for _ in range(3):
                results.append(migrate(job, self.grow))
                training.train(job)
                results.append(migrate(job, shrink))
                if rank >= 2:
                    job = join(store, rank)
            return results

        expected = [([], 3), ([], 4), ([], 4), ([], 5), ([], 5), ([], 6)]
        self.assertEqual(ranks.must(ranks.run(4, body)), [expected] * 4)

    def test_in_the_place_of_one_that_died(self):
        """The others gave it up, before or after it said that it is there."""
        request = {**training.REQUEST, "cluster": "1x4"}
        moved = etc.plan(request, prev="TP2", curr="TP2", draining=[0, 1])
        last, first = self.grow, etc.plan(request, prev=moved, curr="TP2DP2")
        for plan, base, victim in ((last, self.base, 3), (first, moved, 0)):
            for inside in (False, True):
                for own in (False, True):
                    with self.subTest(victim=victim, inside=inside, own_store=own):
                        self.replace(plan, base, victim, inside, own)

    def replace(self, plan, base, victim, dies_inside, has_own_store):
        holders = plan.placement["prev"]

        def body(rank, first):
            device = victim if rank == 4 else rank
            if rank == 4:
                for other in {0, 1, 2, 3} - {victim}:
                    first.get(f"gave-up/{other}")
            store = first
            if has_own_store:
                store = etc.JobStore(first, device, host=training.HOST)
            job = join(store, device)
            if device in holders:
                job = training.start(device, store, base, step=3)
            if rank != 4:
                meet(first, "begin", rank, range(4))
                if rank == victim and dies_inside:
                    threading.Timer(0.5, die).start()
                elif rank == victim:
                    die()
                elif rank == 1 and dies_inside:
                    time.sleep(1.5)
                timeout = 30 if rank == victim else 4
                with self.assertRaisesRegex(etc.PeerError, f"device {victim}"):
                    job.prepare(plan, timeout=timeout)
                first.set(f"gave-up/{rank}", "x")
            result = migrate(job, plan)
            meet(first, "end", device, range(4))
            return result

        results = ranks.run(5, body)
        del results[victim]
        self.assertEqual(ranks.must(results), [([], 3)] * 4)


if __name__ == "__main__":
    unittest.main()
