"""A store in the processes of a job, which their deaths do not end."""

import threading
import time
import unittest

import etc
import ranks
import training
from training import die, plan_of

try:
    import torch.distributed as dist
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

OPTIONS = {"request": training.REQUEST, "patience": 20, "timeout": 90}
PATIENT = {**OPTIONS, "patience": 6}


def leave_together(store, rank, ranks):
    """Nobody leaves before all have what they wait for."""
    store.compare_set(f"end/{rank}", "", "x")
    for other in ranks:
        store.get(f"end/{other}")


class JobStore(unittest.TestCase):
    def test_values(self):
        def body(rank, first):
            store = etc.JobStore(first, rank, host=training.HOST)
            store.set(f"mine/{rank}", str(rank))
            got = [store.get(f"mine/{other}") for other in range(3)]
            chosen = store.compare_set("chosen", "", str(rank))
            with self.assertRaisesRegex(ValueError, "expected \"\", got 'x'"):
                store.compare_set("chosen", "x", "y")
            members = sorted(store.devices)
            leave_together(store, rank, range(3))
            return got, chosen, members

        results = ranks.must(ranks.run(3, body))
        self.assertIn(results[0][1], (b"0", b"1", b"2"))
        self.assertEqual(results, [results[0]] * 3)
        self.assertEqual(results[0][0], [b"0", b"1", b"2"])
        self.assertEqual(results[0][2], [0, 1, 2])

    def test_needs_a_way(self):
        with self.assertRaisesRegex(ValueError, "either a first store or a contact"):
            etc.JobStore(None, 0)
        with self.assertRaisesRegex(etc.UsageError, "contact: expected"):
            etc.JobStore(None, 0, contact="nobody", host=training.HOST)

    def test_a_file_that_nobody_else_keeps(self):
        """Who comes after all others finds them. PyTorch removes a FileStore's file when
        as many have dropped it as it is for."""

        def body(rank, first):
            path = f"{first.path}-of-two"
            if rank == 2:
                first.wait(["0", "1"])
            store = etc.JobStore(dist.FileStore(path, 2), rank, host=training.HOST)
            first.set(str(rank), "x")
            store.set(f"mine/{rank}", str(rank))
            got = [store.get(f"mine/{other}") for other in range(3)]
            leave_together(store, rank, range(3))
            return got

        results = ranks.must(ranks.run(3, body))
        self.assertEqual(results, [[b"0", b"1", b"2"]] * 3)

    def test_recovery_without_the_hub(self):
        """The hub is killed; a newcomer knows one of those who are left, and no store
        of the job's beginning is used."""
        plan = etc.plan(training.REQUEST, prev="PP2DP2", curr="PP2DP2")

        def body(rank, first):
            if rank == 4:  # comes later
                contact = first.get("contact").decode()
                store = etc.JobStore(None, rank, contact=contact, host=training.HOST)
                job = training.join(rank, store)
            else:
                store = etc.JobStore(first, rank, host=training.HOST)
                job = training.start(rank, store, plan, step=3)
                hub = store.devices[0]  # as long as nobody has died
                store.set(f"here/{rank}", "x")
                for other in set(range(4)) - {hub}:  # what the dead set is lost
                    store.get(f"here/{other}")
                if rank == hub:
                    die()
                first.set("contact", store.contact)
            expected = {"devices": range(5), **OPTIONS}
            done = etc.recover(job, ["PP2DP2", "PP2"], **expected)
            training.train(job)
            wrong = training.wrong(job)
            leave_together(store, rank, done.devices)
            return wrong, job.version, done.devices, done.plan.curr

        results = ranks.run(5, body)
        dead = [r for r in range(5) if isinstance(results[r], Exception)]
        self.assertEqual(len(dead), 1, results)
        left = [r for r in range(5) if r not in dead]
        for rank in left:
            self.assertEqual(results[rank], ([], 4, left, "PP2DP2"))


class Gone(unittest.TestCase):
    """Of those who called etc.recover, some are not there any more when the patience of
    the others is over: these do not wait for them a second time."""

    def run_job(self, count, body):
        def timed(rank, first):
            device = min(rank, 2)
            with etc.JobStore(first, device, host=training.HOST) as store:
                begin = time.monotonic()
                result = body(device, store, first)
                assert time.monotonic() - begin < 30
                first.set(f"over/{rank}", "x")
                if rank != 1:
                    first.wait(["over/1"])
                return result

        def late(rank, first):
            if rank == 3:
                first.wait(["gone"])
            return timed(rank, first)

        return ranks.run(count, late)

    def test_in_vain(self):
        plan = plan_of("DP2")

        def body(device, store, _):
            job = training.start(device, store, plan, step=3)
            if device == 0:
                quick = {**PATIENT, "timeout": 2}
                with self.assertRaisesRegex(etc.PeerError, "no recovery within"):
                    etc.recover(job, "DP1", devices=range(3), **quick)
                return [], 3, [1]
            done = etc.recover(job, "DP1", devices=range(3), **PATIENT)
            return training.wrong(job), job.version, done.devices

        self.assertEqual(ranks.must(self.run_job(2, body)), [([], 3, [1])] * 2)

    def test_replaced(self):
        plan = plan_of("DP3")

        def body(device, store, first):
            if device == 2 and first.add("came", 1) == 2:
                job = training.join(device, store)
            else:
                job = training.start(device, store, plan, step=3)
            if device == 2 and job.state:

                def end():
                    first.set("gone", "x")
                    die()

                threading.Timer(1, end).start()
            done = etc.recover(job, "DP3", devices=range(4), **PATIENT)
            return training.wrong(job), job.version, done.devices

        results = self.run_job(4, body)
        self.assertIsInstance(results.pop(2), RuntimeError)
        self.assertEqual(ranks.must(results), [([], 3, [0, 1, 2])] * 3)


if __name__ == "__main__":
    unittest.main()
