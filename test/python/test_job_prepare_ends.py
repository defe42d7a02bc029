"""Job.prepare: a participant that raises, recovers or dies meanwhile."""

import os
import signal
import threading
import time
import unittest

import etc
import ranks
import training
from test_job_prepare import join, meet
from training import OPTIONS, die, plan_of


class Errors(unittest.TestCase):
    """A process that lives, and raises before it prepares."""

    def setUp(self):
        self.base = plan_of("TP2DP2")
        self.plan = etc.plan(training.REQUEST, prev=self.base, curr="PP2TP2")

    def test_and_leaves_the_store(self):
        for victim in (0, 3):
            with self.subTest(victim=victim):
                self.leave(victim)

    def leave(self, victim):
        others = [d for d in range(4) if d != victim]

        def body(rank, first):
            with etc.JobStore(first, rank, host=training.HOST) as store:
                job = training.start(rank, store, self.base, step=3)
                meet(first, "begin", rank, range(4))
                if rank == victim:
                    raise ZeroDivisionError
                words = rf"\(device {victim}\) has left"
                with self.assertRaisesRegex(etc.PeerError, words):
                    job.prepare(self.plan)
                meet(first, "end", rank, others)
                done = etc.recover(job, ["TP2"], devices=range(4), **OPTIONS)
                meet(first, "over", rank, others)
                return training.wrong(job), done.devices

        def lives_on(rank, first):
            try:
                return body(rank, first)
            except ZeroDivisionError:
                return first.get(f"over/{others[0]}")

        results = ranks.must(ranks.run(4, lives_on))
        self.assertEqual(results.pop(victim), b"x")
        self.assertEqual(results, [([], others)] * 3)

    def test_and_recovers(self):
        """All who hold state do so, too, before they would be given up. So does one that
        called it in vain, before the others prepared."""
        for victim in (0, 3):
            for own in (False, True):
                with self.subTest(victim=victim, own_store=own):
                    self.recover(victim, own)

    def recover(self, victim, has_own_store):
        def body(rank, first):
            store = first
            if has_own_store:
                store = etc.JobStore(first, rank, host=training.HOST)
            job = training.start(rank, store, self.base, step=3)
            if rank == 1:
                options = {**OPTIONS, "patience": 0.1, "timeout": 0.2}
                with self.assertRaisesRegex(etc.PeerError, "no recovery within"):
                    etc.recover(job, "TP4", devices=[1], **options)
            meet(first, "begin", rank, range(4))
            if rank != victim:
                words = f"device {victim} has called etc.recover"
                with self.assertRaisesRegex(etc.PeerError, words):
                    job.prepare(self.plan)
            done = etc.recover(job, "TP4", devices=range(4), **OPTIONS)
            meet(first, "end", rank, range(4))
            return training.wrong(job), done.devices, done.dropped_devices

        results = ranks.must(ranks.run(4, body))
        self.assertEqual(results, [([], [0, 1, 2, 3], 0)] * 4)

    def test_and_has_recovered_in_vain(self):
        """Joiners do not learn it: it prepares later."""
        base = plan_of("TP2")
        plan = etc.plan(training.REQUEST, prev=base, curr="TP2DP2")

        def body(rank, store):
            job = join(store, rank)
            if rank < 2:
                job = training.start(rank, store, base, step=3)
                options = {**OPTIONS, "patience": 0.1, "timeout": 0.2}
                with self.assertRaisesRegex(etc.PeerError, "no recovery within"):
                    etc.recover(job, "TP4", devices=[rank], **options)
            meet(store, "begin", rank, range(4))
            if rank < 2:
                time.sleep(4)  # it trains on
            job.prepare(plan).run()
            return training.wrong(job)

        self.assertEqual(ranks.must(ranks.run(4, body)), [[]] * 4)

    def test_and_recovers_while_others_join(self):
        """These learn it, too: the plan that they have may be of no use any more."""
        base = plan_of("TP2")
        plan = etc.plan(training.REQUEST, prev=base, curr="TP2DP2")

        def body(rank, store):
            job = join(store, rank)
            if rank < 2:
                job = training.start(rank, store, base, step=3)
            meet(store, "begin", rank, range(4))
            if rank != 0:
                words = "device [01] has called etc.recover"
                with self.assertRaisesRegex(etc.PeerError, words):
                    job.prepare(plan)
            done = etc.recover(job, "TP4", devices=range(4), **OPTIONS)
            return training.wrong(job), done.devices

        results = ranks.must(ranks.run(4, body))
        self.assertEqual(results, [([], [0, 1, 2, 3])] * 4)


class Deaths(unittest.TestCase):
    """All who wait learn of one within 10 s, however long they would wait for others
    that are not there yet."""

    def notice(self, plan, base, victim, kind):
        """`kind`: before, inside or stop."""
        holders = plan.placement["prev"]
        others = [d for d in range(4) if d != victim]

        def body(rank, first):
            store = etc.JobStore(first, rank, host=training.HOST)
            job = join(store, rank)
            if rank in holders:
                job = training.start(rank, store, base, step=3)
            first.set(f"pid/{rank}", str(os.getpid()))
            meet(first, "begin", rank, range(4))
            if rank == victim and kind != "before":
                threading.Timer(
                    1, os.kill, (os.getpid(), signal.SIGSTOP if kind == "stop" else 9)
                ).start()
            elif rank == victim:
                time.sleep(1)
                die()
            elif rank == others[-1] and kind != "before":
                time.sleep(3)
            begin = time.monotonic()
            with self.assertRaisesRegex(etc.PeerError, rf"\(device {victim}\) has left"):
                job.prepare(plan)
            waited = time.monotonic() - begin
            meet(first, "end", rank, others)
            if rank == others[0] and kind == "stop":
                os.kill(int(first.get(f"pid/{victim}")), signal.SIGKILL)
            done = etc.recover(job, ["TP2"], devices=range(4), **OPTIONS)
            meet(first, "over", rank, others)
            return training.wrong(job), done.devices, waited

        results = ranks.run(4, body)
        for device in others:
            (result,) = ranks.must([results[device]])
            self.assertEqual(result[:2], ([], others))
            self.assertLess(result[2], 10)

    def test_of_who_holds_state(self):
        base = plan_of("TP2DP2")
        plan = etc.plan(training.REQUEST, prev=base, curr="PP2TP2")
        for victim, kind in ((0, "inside"), (3, "before"), (3, "stop")):
            with self.subTest(victim=victim, kind=kind):
                self.notice(plan, base, victim, kind)

    def test_of_a_joiner(self):
        base = plan_of("TP2")
        plan = etc.plan(training.REQUEST, prev=base, curr="TP2DP2")
        self.notice(plan, base, 3, "inside")


if __name__ == "__main__":
    unittest.main()
