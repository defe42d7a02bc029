"""A store in the processes of a job, which their deaths do not end."""

import unittest

import etc
import ranks
import training
from training import die

try:
    import torch.distributed as dist
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

OPTIONS = {"request": training.REQUEST, "patience": 20, "timeout": 90}


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


if __name__ == "__main__":
    unittest.main()
