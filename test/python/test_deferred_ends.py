"""The ends of a migration whose deferred state is under way, and what is left then."""

import gc
import threading
import unittest

import etc
import ranks
from migrating import REQUEST, prepare

try:
    import torch
    from etc.tensors import DTYPES
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None


class Ends(unittest.TestCase):
    def check_end(self, body, cause):
        """Rank 3 ends its migration in the tail: the others learn the cause at once, and
        in safe mode all have what they had."""
        plan = etc.plan(**REQUEST, defer="optimizer")

        def rank_body(rank, store):
            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))

            def begin(**options):
                options = {"mode": "safe", "tail_rate": 1000.0, **options}
                migration = prepare(rank, store, plan, state, **options)
                migration.run()
                # The others may still be about to learn that the pause is over.
                ranks.wait_for_all(store, "paused", rank, 8)
                return migration

            gc.disable()  # nothing waits for it
            if rank == 3:
                body(begin)
            else:
                with begin() as migration:
                    with self.assertRaisesRegex(etc.PeerError, cause):
                        migration.finish()
                assert migration.outcome == "old", migration.outcome
            return ranks.differences(state, ranks.make(plan.prev_tensors(device)))

        for wrong in ranks.must(ranks.run(8, rank_body)):
            self.assertEqual(wrong, [])

    def test_leaving_a_with_statement_ends_the_tail(self):
        def fails(begin):
            with self.assertRaisesRegex(ValueError, "^ours$"), begin() as migration:
                raise ValueError("ours")
            assert migration.outcome == "old", migration.outcome
            migration.close()  # again

        def closes(begin):
            begin().close()

        self.check_end(fails, "device 3: the migration was not finished: ValueError: ours")
        self.check_end(closes, "device 3: the migration was not finished: closed")

    def test_dropping_the_last_reference_ends_the_tail(self):
        """With a warning that Python shows, and without the garbage collector."""

        def drops(begin):
            with self.assertWarnsRegex(RuntimeWarning, "over, and its deferred state"):
                begin()

        def drops_in_a_callback(begin):
            held, dropped = [], threading.Event()

            def update(round, rounds, received):
                if held:
                    held.clear()
                    dropped.set()

            held.append(begin(progress=update, tail_rate=5e4))
            assert dropped.wait(60)
            for thread in threading.enumerate():
                if thread.name == "etc-close":
                    thread.join()

        cause = "device 3: the migration was dropped before it was over"
        self.check_end(drops, cause)
        self.check_end(drops_in_a_callback, cause)

    def test_what_is_left_after_wait_has_failed(self):
        """Nothing frees tensors any more, so `state` has them."""
        plan = etc.plan(**REQUEST, defer="optimizer")

        def body(rank, store):
            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))
            migration = prepare(rank, store, plan, state, tail_rate=1000.0)
            migration.run()
            ranks.wait_for_all(store, "paused", rank, 8)
            if rank == 3:
                migration.abort()
            try:
                for kind, group in plan.curr_tensors(device).items():
                    migration.wait(group, kind)
            except etc.PeerError:
                held = migration.state
                expected = ranks.make(plan.prev_tensors(device))
                known = {k: {n: expected[k][n] for n in held[k]} for k in held}
                return ranks.differences(held, known)
            return "all had come"

        results = ranks.must(ranks.run(8, body))
        self.assertIn([], results)
        self.assertLessEqual({str(each) for each in results}, {"[]", "all had come"})

    def test_what_is_left_can_be_read_after_every_end(self):
        """Without a call of finish."""
        plan = etc.plan(**REQUEST, defer="optimizer")

        def body(rank, store, end):
            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))
            # Who fails while another is in the pause ends that one's run.
            all_paused = threading.Event()

            def allocate(kind, name, spec):
                if end == "allocate" and rank == 3 and kind != "param":
                    assert all_paused.wait(60)
                    raise MemoryError("no room")
                return torch.empty(spec.shape, dtype=DTYPES[spec.dtype])

            migration = prepare(
                rank, store, plan, state, tail_rate=1000.0, allocate=allocate
            )
            with migration:
                migration.run()
                ranks.wait_for_all(store, "paused", rank, 8)
                all_paused.set()
                if end == "allocate":
                    last = list(plan.curr_tensors(device).items())[-1]
                    with self.assertRaisesRegex((MemoryError, etc.PeerError), "no room"):
                        migration.wait(last[1], last[0])
                    _ = migration.state
                else:
                    migration.abort()
            held = migration.state
            expected = ranks.make(plan.prev_tensors(device))
            known = {k: {n: expected[k][n] for n in held[k]} for k in held}
            return ranks.differences(held, known)

        for end in ("abort", "allocate"):
            with self.subTest(end):
                results = ranks.must(ranks.run(8, body, end))
                self.assertEqual(results, [[]] * 8)


if __name__ == "__main__":
    unittest.main()
