"""A participant that is stopped, and what it may do when it wakes."""

import os
import signal
import unittest

import etc
import migrating
import ranks

try:
    import torch  # noqa: F401
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

VICTIM = 3
CAUSE = f"device {VICTIM}: no sign of life for 2 s"


class Stopped(unittest.TestCase):
    """Others notice it although they may wait for 300 s, and it is refused."""

    def setUp(self):
        self.plan = etc.plan(
            **{**migrating.REQUEST, "cluster": "1x4", "curr": "PP4"}
        )

    def stop_after_prepare(self, mode):
        plan = self.plan

        def body(rank, store):
            migration = migrating.prepare(
                rank,
                store,
                plan,
                ranks.make(plan.prev_tensors(rank)),
                mode=mode,
                silence=2,
                timeout=300,
            )
            ranks.wait_for_all(store, "prepared", rank, 4)
            if rank == VICTIM:
                store.set("victim", str(os.getpid()))
                store.get("woken")
            if rank == 0:
                victim = int(store.get("victim"))
                os.kill(victim, signal.SIGSTOP)
            result = self.run_one(migration, rank)
            store.set(f"gone/{rank}", "1")
            if rank == 0:
                for other in (1, 2):
                    store.get(f"gone/{other}")
                store.set("woken", "1")
                os.kill(victim, signal.SIGCONT)
            return result

        return ranks.must(ranks.run(4, body))

    def run_one(self, migration, rank):
        """What run() raised, its text, the outcome, and what is wrong with `state`."""
        try:
            migration.run()
        except etc.MigrationError as error:
            whole = ranks.make(self.plan.prev_tensors(rank))
            wrong = ranks.differences(migration.state, whole)
            return type(error).__name__, str(error), migration.outcome, wrong

    def test_stopped_after_prepare(self):
        for mode in ("eager", "safe"):
            with self.subTest(mode):
                results = self.stop_after_prepare(mode)
                for rank in range(VICTIM):
                    self.assertEqual(
                        results[rank], ("PeerError", CAUSE, "not begun", [])
                    )
                told = f"the others went on without this process: {CAUSE}"
                self.assertEqual(
                    results[VICTIM], ("Excluded", told, "not begun", [])
                )


if __name__ == "__main__":
    unittest.main()
