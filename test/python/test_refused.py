"""A participant that cannot take part: the others learn it at once, and why."""

import gc
import os
import signal
import threading
import unittest
import weakref

import etc
import migrating
import ranks

try:
    import torch.distributed as dist
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

NAME = "decoder.layers.0.mlp.linear_fc1.weight"


class Refused(unittest.TestCase):
    """Rank 0 is the one. All may wait for 300 s, more than a test may take."""

    def setUp(self):
        self.plan = etc.plan(
            **{**migrating.REQUEST, "cluster": "1x4", "curr": "PP4"}
        )

    def run_all(self, change=None, between=None, **options):
        """(what was raised, its text, outcome) of every rank; None where there is no
        migration. Rank 0 calls change() before prepare and between() after."""
        plan = self.plan

        def body(rank, store):
            state = ranks.make(plan.prev_tensors(rank))
            if rank == 0 and change:
                change(state, store)
            migration = None
            try:
                migration = migrating.prepare(
                    rank, store, plan, state, timeout=300, **options
                )
                if rank == 0 and between:
                    between(state, store)
                migration.run()
                return "returned"
            except BaseException as error:  # noqa: BLE001
                outcome = migration and migration.outcome
                return type(error).__name__, str(error), outcome

        return ranks.must(ranks.run(4, body))

    def test_a_missing_tensor(self):
        results = self.run_all(change=lambda state, _: state["param"].pop(NAME))
        self.assertTrue(results[0][0].startswith("KeyError"))
        cause = f"device 0: KeyError: {results[0][1]}"
        for result in results[1:]:
            self.assertEqual(result, ("PeerError", cause, None))

    def test_tensors_that_share_memory(self):
        def share(state, _):
            other = NAME.replace("layers.0", "layers.1")
            state["param"][other] = state["param"][NAME]

        results = self.run_all(change=share)
        self.assertEqual(results[0][0], "UsageError")
        for result in results[1:]:
            self.assertEqual(result[0], "PeerError")
            self.assertIn(results[0][1], result[1])

    def test_a_tensor_that_was_replaced(self):
        def replace(state, _):
            state["param"][NAME] = state["param"][NAME].clone()

        for mode in ("eager", "safe"):
            with self.subTest(mode):
                results = self.run_all(between=replace, mode=mode)
                self.assertEqual(results[0][0], "RuntimeError")
                self.assertIn(f"{NAME} (param): state has another", results[0][1])
                for result in results[1:]:
                    self.assertEqual(result[1], f"device 0: {results[0][1]}")
                self.assertEqual(results[0][2], "not begun")
                # Who was about to leave prepare may have heard of it there.
                self.assertLessEqual({r[2] for r in results}, {"not begun", None})

    def test_the_same_tensor_by_another_name_is_no_replacement(self):
        def rename(state, _):
            state["param"][NAME] = state["param"][NAME].detach()

        self.assertEqual(self.run_all(between=rename), ["returned"] * 4)

    def test_who_failed_keeps_no_tensors(self):
        """Without a garbage collection, for which memory need not wait."""
        for words, options in (("missing", {}), ("is not there", {"timeout": 0.3})):
            with self.subTest(words):
                state = ranks.make(self.plan.prev_tensors(0))
                if not options:
                    del state["param"][NAME]
                groups = [list(group.values()) for group in state.values()]
                kept = [weakref.ref(each) for group in groups for each in group]
                del groups
                gc.disable()
                try:
                    with self.assertRaisesRegex((KeyError, etc.PeerError), words):
                        migrating.prepare(
                            0, dist.HashStore(), self.plan, state, **options
                        )
                    del state
                    self.assertEqual([each for each in kept if each() is not None], [])
                finally:
                    gc.enable()

    def test_an_interrupt(self):
        plan = self.plan

        def body(rank, store):
            if rank == 0:
                pid = os.getpid()
                timer = threading.Timer(0.5, os.kill, (pid, signal.SIGINT))
                timer.start()
            else:
                store.get("interrupted")
            try:
                state = ranks.make(plan.prev_tensors(rank))
                migrating.prepare(rank, store, plan, state, timeout=300)
            except KeyboardInterrupt:
                store.set("interrupted", "1")
                return "interrupted"
            except etc.PeerError as error:
                return str(error)

        results = ranks.must(ranks.run(4, body))
        self.assertEqual(results[0], "interrupted")
        for result in results[1:]:
            self.assertEqual(result, "device 0: prepare was interrupted")


if __name__ == "__main__":
    unittest.main()
