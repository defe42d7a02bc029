"""What a process holds after a migration was interrupted, and what is said of it."""

import math
import signal
import unittest
import warnings

import etc
import ranks
import test_migration

try:
    import torch
    from etc.tensors import DTYPES
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None


class Outcome(unittest.TestCase):
    """Whatever raises, every tensor can be found afterwards."""

    def setUp(self):
        self.plan = etc.plan(
            **{**test_migration.REQUEST, "cluster": "1x4", "curr": "PP4"}
        )

    def run_with(self, callbacks, mode="eager"):
        """Rank 1 migrates with callbacks: of every rank, what run() raised,
        outcome, what is wrong with `state`, whether a second run() is refused, and
        the names of observers' errors."""
        plan = self.plan

        def body(rank, store):
            state = ranks.make(plan.prev_tensors(rank))
            old = {id(t) for group in state.values() for t in group.values()}
            options = callbacks if rank == 1 else {}
            migration = test_migration.prepare(
                rank, store, plan, state, mode=mode, **options
            )
            raised = None
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    migration.run()
                except BaseException as error:  # noqa: BLE001
                    raised = type(error).__name__
            now = migration.state
            tensors = (
                plan.curr_tensors(rank)
                if migration.outcome == "new"
                else plan.prev_tensors(rank)
            )
            wrong = ranks.differences(now, ranks.make(tensors))
            if migration.outcome == "mixed":  # what is left is what it was
                wrong = [w for w in wrong if w[1] in now.get(w[0], {})]
                left = {id(t) for group in now.values() for t in group.values()}
                wrong += ["of another state"] * (not left < old)
            with self.assertRaisesRegex(etc.UsageError, "state has what this process"):
                migration.run()
            errors = [type(each).__name__ for each in migration.observer_errors]
            told = [each for each in warned if "observer_errors" in str(each.message)]
            self.assertEqual([each.filename for each in told], [__file__] if errors else [])
            return raised, migration.outcome, wrong, sorted(set(errors))

        return ranks.must(ranks.run(4, body))

    def check_complete(self, results, raised, errors):
        self.assertEqual(results[1], (raised, "new", [], errors))
        for rank in (0, 2, 3):
            self.assertEqual(results[rank], (None, "new", [], []))

    def test_observers_errors_end_nothing(self):
        def fail(*_):
            raise LookupError("the observer's own")

        for mode in ("eager", "safe"):
            for name in ("progress", "on_release"):
                with self.subTest(f"{name}, {mode}"):
                    results = self.run_with({name: fail}, mode)
                    self.check_complete(results, None, ["LookupError"])

    def test_interrupts_of_observers_come_after_the_commit(self):
        def stop(*_):
            raise KeyboardInterrupt

        for name in ("progress", "on_release"):
            with self.subTest(name):
                results = self.run_with({name: stop})
                self.check_complete(results, "KeyboardInterrupt", [])

    def test_sigint_waits_for_the_commit(self):
        def allocate(kind, name, spec):
            signal.raise_signal(signal.SIGINT)
            return torch.empty(spec.shape, dtype=DTYPES[spec.dtype])

        for mode in ("eager", "safe"):
            with self.subTest(mode):
                results = self.run_with({"allocate": allocate}, mode)
                self.check_complete(results, "KeyboardInterrupt", [])

    def test_migrate_leaves_the_migration_with_its_exception(self):
        plan = self.plan

        def body(rank, store):
            def progress(*_):
                signal.raise_signal(signal.SIGINT)

            state = ranks.make(plan.prev_tensors(rank))
            options = {"progress": progress} if rank == 1 else {}
            try:
                etc.migrate(
                    plan, state, store=store, rank=rank, world_size=4, **options
                )
            except KeyboardInterrupt as error:
                now = error.migration.state
                made = ranks.make(plan.curr_tensors(rank))
                return error.migration.outcome, ranks.differences(now, made)
            return "returned", []

        results = ranks.must(ranks.run(4, body))
        self.assertEqual(results[1], ("new", []))

    def test_what_state_must_be(self):
        plan = self.plan
        with self.assertRaisesRegex(TypeError, "state: expected {type: {name: tensor}}"):
            etc.prepare(plan, None, store=object(), rank=0, world_size=4)
        with self.assertRaisesRegex(TypeError, "expected a dictionary of tensors by name"):
            weight = {"w": torch.zeros(1)}
            etc.prepare(plan, weight, store=object(), rank=0, world_size=4)

    def test_errors_of_allocate(self):
        for mode, possible in (("eager", {"mixed"}), ("safe", {"old"})):
            made = []

            def allocate(kind, name, spec, made=made):
                made.append(name)
                if len(made) == 12:
                    raise MemoryError("no room")
                return torch.empty(spec.shape, dtype=DTYPES[spec.dtype])

            with self.subTest(mode):
                results = self.run_with({"allocate": allocate}, mode)
                self.assertEqual(results[1][0], "MemoryError")
                for rank, (raised, _, wrong, _) in enumerate(results):
                    self.assertEqual(wrong, [])
                    self.assertEqual(raised == "PeerError", rank != 1)
                self.assertIn(results[1][1], possible)

    def test_all_learn_what_allocate_raised(self):
        plan = self.plan

        def body(rank, store):
            def allocate(kind, name, spec):
                raise MemoryError(f"no room for {name}")

            migration = test_migration.prepare(
                rank,
                store,
                plan,
                ranks.make(plan.prev_tensors(rank)),
                allocate=allocate if rank == 3 else None,
            )
            try:
                migration.run()
            except (etc.PeerError, MemoryError) as error:
                return type(error).__name__, str(error)

        results = ranks.must(ranks.run(4, body))
        self.assertEqual(results[3][0], "MemoryError")
        cause = "device 3: allocate raised MemoryError: " + results[3][1]
        for rank in range(3):
            self.assertEqual(results[rank], ("PeerError", cause))

    def test_memory_that_is_used_already(self):
        """One tensor twice, or a previous one: refused before it is written to."""
        plan = self.plan

        def body(rank, store, again, mode):
            state = ranks.make(plan.prev_tensors(rank))
            old = {k: dict(group) for k, group in state.items()}
            made = {}

            def allocate(kind, name, spec):
                size = (spec.dtype, spec.shape)
                count = math.prod(spec.shape)
                kept = [
                    t
                    for t in old[kind].values()
                    if t.numel() >= count and t.storage().nbytes()
                ]
                if rank == 1 and again == "previous" and kept:
                    largest = max(kept, key=torch.Tensor.numel)
                    return largest.view(-1)[:count].view(spec.shape)
                if rank == 1 and again == "new" and size in made:
                    return made[size]
                made[size] = torch.empty(spec.shape, dtype=DTYPES[spec.dtype])
                return made[size]

            migration = test_migration.prepare(
                rank, store, plan, state, mode=mode, allocate=allocate
            )
            try:
                migration.run()
            except (etc.UsageError, etc.PeerError) as error:
                now = migration.state
                whole = ranks.make(plan.prev_tensors(rank))
                wrong = [
                    each
                    for each in ranks.differences(now, whole)
                    if mode == "safe" or each[1] in now.get(each[0], {})
                ]
                return type(error).__name__, str(error), wrong

        for again in ("new", "previous"):
            for mode in ("eager", "safe"):
                with self.subTest(f"{again}, {mode}"):
                    results = ranks.must(ranks.run(4, body, again, mode))
                    self.assertEqual([r[2] for r in results], [[]] * 4)
                    self.assertEqual(results[1][0], "UsageError")
                    self.assertRegex(
                        results[1][1],
                        rf"allocated for new \S+ \(\w+\) overlaps {again} \S+ \(\w+\); ",
                    )
                    for rank in (0, 2, 3):
                        self.assertEqual(results[rank][0], "PeerError")

    def test_nothing_has_begun(self):
        plan = self.plan

        def body(rank, store):
            state = ranks.make(plan.prev_tensors(rank))
            migration = test_migration.prepare(rank, store, plan, state)
            ranks.wait_for_all(store, "prepared", rank, 4)
            before = migration.outcome
            if rank == 1:
                migration.abort()
            with self.assertRaises(etc.PeerError):
                migration.run()
            wrong = ranks.differences(
                migration.state, ranks.make(plan.prev_tensors(rank))
            )
            return before, migration.outcome, wrong

        for result in ranks.must(ranks.run(4, body)):
            self.assertEqual(result, ("not begun", "not begun", []))


if __name__ == "__main__":
    unittest.main()
