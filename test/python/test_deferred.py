"""Deferred state of PyTorch tensors: what follows the pause of a migration."""

import os
import pathlib
import re
import signal
import time
import unittest

import etc
import measure_tail_peak
import ranks
from migrating import REQUEST, prepare

try:
    import torch
    import torch.distributed as dist
    from etc.tensors import DTYPES
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None


class Deferred(unittest.TestCase):
    def check(self, results, plan):
        moved = 0
        for wrong, report in ranks.must(results):
            self.assertEqual(wrong, [])
            self.assertLessEqual(report.peak_bytes, report.proved_bytes)
            moved += report.received_bytes
            self.assertEqual(report.finished_rounds, report.rounds)
        self.assertEqual(moved, plan.summary.moved_bytes)

    def test_what_is_deferred_follows_the_parameters(self):
        plan = etc.plan(**REQUEST, defer="optimizer")
        self.assertGreater(plan.summary.deferred_rounds, 0)

        def body(rank, store, mode):
            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))
            expected = ranks.make(plan.curr_tensors(device))
            migration = prepare(rank, store, plan, state, mode=mode)
            parameters = migration.run()
            assert migration.outcome in ("old", "mixed"), migration.outcome
            wrong = ranks.differences(parameters, {"param": expected["param"]})
            new = migration.finish()
            assert migration.outcome == "new", migration.outcome
            assert migration.finish().keys() == new.keys()
            for name, tensor in parameters["param"].items():
                assert new["param"][name] is tensor, name
            report = migration.report
            assert 0 < report.pause_seconds <= report.seconds, report
            return wrong + ranks.differences(new, expected), report

        for mode in ("eager", "safe"):
            with self.subTest(mode):
                self.check(ranks.run(8, body, mode), plan)

    def test_types_that_are_deferred(self):
        """All others move in the pause."""
        plan = etc.plan(**REQUEST, defer=["exp_avg", "exp_avg_sq"])

        def body(rank, store):
            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))
            expected = ranks.make(plan.curr_tensors(device))
            migration = prepare(rank, store, plan, state)
            early = {kind: expected[kind] for kind in ("param", "master")}
            wrong = ranks.differences(migration.run(), early)
            new = migration.finish()
            return wrong + ranks.differences(new, expected), migration.report

        self.check(ranks.run(8, body), plan)

    def test_what_a_thread_may_free_is_not_handed_out(self):
        """Reading it was a segmentation fault."""
        plan = etc.plan(**REQUEST, defer="optimizer")

        def body(rank, store, options):
            device = plan.participants[rank]
            expected = ranks.make(plan.prev_tensors(device))
            state = ranks.make(plan.prev_tensors(device))
            migration = prepare(rank, store, plan, state, tail_rate=1e6, **options)
            migration.run()
            wrong, refused = [], 0
            for _ in range(300):
                if migration.report.finished_rounds == migration.report.rounds:
                    break
                try:
                    held = migration.state
                except etc.UsageError as error:
                    assert "freed at any time until finish" in str(error)
                    refused += 1
                    continue
                known = {k: {n: expected[k][n] for n in held[k]} for k in held}
                wrong += ranks.differences(held, known)
            new = migration.finish()
            wrong += ranks.differences(new, ranks.make(plan.curr_tensors(device)))
            assert migration.state.keys() == new.keys()
            return wrong, refused > 0

        for options, is_refused in (
            ({"mode": "eager"}, True),
            ({"mode": "eager", "free": "references"}, False),
            ({"mode": "safe"}, False),
        ):
            with self.subTest(**options):
                results = ranks.must(ranks.run(8, body, options))
                self.assertEqual([r[0] for r in results], [[]] * 8)
                self.assertIs(any(r[1] for r in results), is_refused)

    def test_a_failure_behind_the_pause_appears_at_finish(self):
        plan = etc.plan(**REQUEST, defer="optimizer")

        def body(rank, store):
            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))
            migration = prepare(rank, store, plan, state, mode="safe")
            migration.run()
            store.set(f"paused/{rank}", "")
            if rank == 3:
                # The others may still be about to learn that the pause is over.
                store.wait([f"paused/{other}" for other in range(8)])
                migration.abort()
            try:
                migration.finish()
            except etc.PeerError as error:
                wrong = ranks.differences(
                    migration.state, ranks.make(plan.prev_tensors(device))
                )
                return migration.outcome, wrong, "aborted" in str(error)
            return "finished"

        for result in ranks.must(ranks.run(8, body)):
            self.assertEqual(result, ("old", [], True))

    def test_layer_by_layer(self):
        """A forward pass waits for the parameters of each layer; some ranks call run."""
        plan = etc.plan(**REQUEST, defer="optimizer")

        def body(rank, store, mode):
            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))
            expected = ranks.make(plan.curr_tensors(device))
            migration = prepare(rank, store, plan, state, mode=mode)
            wrong = []
            if rank % 3 == 0:
                wrong = ranks.differences(
                    migration.run(), {"param": expected["param"]}
                )
            else:
                migration.start()
            for name in expected["param"]:
                found = migration.wait([name])
                if not torch.equal(found[name], expected["param"][name]):
                    wrong.append(name)
            # And an optimizer's state, one by one.
            moments = migration.wait(expected["exp_avg"], "exp_avg")
            wrong += ranks.differences(
                {"exp_avg": moments}, {"exp_avg": expected["exp_avg"]}
            )
            assert migration.outcome in ("old", "mixed"), migration.outcome
            with self.assertRaisesRegex(KeyError, "no such current tensor"):
                migration.wait(["other"])
            with self.assertRaisesRegex(etc.UsageError, r"has run; call finish\(\)$"):
                migration.start()
            new = migration.finish()
            assert migration.wait(["embedding.word_embeddings.weight"] * 0) == {}
            return wrong + ranks.differences(new, expected), migration.report

        for mode in ("eager", "safe"):
            with self.subTest(mode):
                self.check(ranks.run(8, body, mode), plan)

    def test_start_without_deferred_state(self):
        plan = etc.plan(**REQUEST)

        def body(rank, store):
            device = plan.participants[rank]
            migration = prepare(rank, store, plan, ranks.make(plan.prev_tensors(device)))
            migration.start()
            new = migration.finish()
            expected = ranks.make(plan.curr_tensors(device))
            return ranks.differences(new, expected), migration.report

        self.check(ranks.run(8, body), plan)

    def test_a_paced_tail_hurries_at_finish(self):
        """At 1000 bytes a second the rest would take minutes; nobody waits so long."""
        plan = etc.plan(**REQUEST, defer="optimizer")

        def body(rank, store, encrypt):
            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))
            migration = prepare(
                rank, store, plan, state, tail_rate=1000.0, encrypt=encrypt
            )
            migration.run()
            time.sleep(0.3)
            slow = migration.report
            new = migration.finish()
            expected = ranks.make(plan.curr_tensors(device))
            return ranks.differences(new, expected), migration.report, slow

        for encrypt in (False, True):
            with self.subTest(encrypt=encrypt):
                results = ranks.must(ranks.run(8, body, encrypt))
                self.check([each[:2] for each in results], plan)
                # While it is slow not all of it has come; the rate is what is tested,
                # and minutes leave room for any machine.
                slow = [each[2] for each in results]
                self.assertTrue(any(r.finished_rounds < r.rounds for r in slow))
        for rate in (0, -1.0, float("nan"), float("inf"), 1e15, "1GB"):
            with self.assertRaisesRegex(ValueError, "^tail_rate: expected .*, or None"):
                prepare(0, object(), plan, {}, tail_rate=rate)

    def test_a_tail_that_is_cancelled(self):
        """In safe mode all go on with what they had, the parameters they lost too."""
        plan = etc.plan(**REQUEST, defer="optimizer")

        def body(rank, store):
            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))
            migration = prepare(
                rank, store, plan, state, mode="safe", tail_rate=1000.0
            )
            migration.run()
            ranks.wait_for_all(store, "paused", rank, 8)
            if rank == 3:
                migration.abort()
            with self.assertRaisesRegex(etc.PeerError, "aborted"):
                migration.finish()
            with self.assertRaisesRegex(etc.UsageError, "has failed"):
                migration.wait(next(iter(plan.curr_tensors(device).values())))
            expected = ranks.make(plan.prev_tensors(device))
            return migration.outcome, ranks.differences(migration.state, expected)

        for result in ranks.must(ranks.run(8, body)):
            self.assertEqual(result, ("old", []))

    def test_steps_in_the_wrong_order(self):
        plan = etc.plan(model=ranks.MODEL, prev="PP1", curr="PP1", cluster="1x1")
        state = ranks.make(plan.prev_tensors(0))
        migration = prepare(0, dist.HashStore(), plan, state)
        name = next(iter(plan.curr_tensors(0)["param"]))
        with self.assertRaisesRegex(etc.UsageError, "finish: .* not run; call run"):
            migration.finish()
        with self.assertRaisesRegex(etc.UsageError, "wait: .* not run; call run"):
            migration.wait([name])
        migration.run()
        with self.assertRaisesRegex(TypeError, r"expected several, got .*; pass \["):
            migration.wait(name)
        migration.finish()
        self.assertIs(migration.wait([name])[name], state["param"][name])

    def test_interrupts_come_when_the_parameters_are_there(self):
        plan = etc.plan(**REQUEST, defer="optimizer")

        def body(rank, store):
            def interrupt(kind, name, spec):
                if kind == "param":
                    signal.raise_signal(signal.SIGINT)
                return torch.empty(spec.shape, dtype=DTYPES[spec.dtype])

            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))
            allocate = interrupt if rank == 1 else None
            migration = prepare(rank, store, plan, state, allocate=allocate)
            try:
                migration.run()
            except KeyboardInterrupt:
                came = True
            else:
                came = False
            new = migration.finish()
            return came, ranks.differences(new, ranks.make(plan.curr_tensors(device)))

        results = ranks.must(ranks.run(8, body))
        self.assertEqual(results, [(rank == 1, []) for rank in range(8)])


class Peaks(unittest.TestCase):
    def test_gradients_and_reserve_are_within_the_budget(self):
        """At four sizes; counted apart from ETC."""
        growth, shrinking = ("PP2TP2", "PP4DP2"), ("PP2TP2DP2", "PP2TP2")
        changes = {32: growth, 64: shrinking, 96: growth, 128: shrinking}
        for hidden, change in changes.items():
            with self.subTest(hidden=hidden, change=change):
                for row in measure_tail_peak.measure(hidden, *change):
                    self.assertGreater(row["counted"], 0)
                    self.assertLessEqual(row["counted"], row["proved"], row)
                    self.assertLessEqual(row["proved"], row["budget"], row)

    def test_the_page_has_the_peaks_of_now(self):
        """What was counted was what the plans of that day proved."""
        page = pathlib.Path(os.environ["ETC_SOURCE_DIR"]) / "docs/deferred.md"
        row = r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| 8 of 8 \|$"
        rows = re.findall(row, page.read_text(), re.MULTILINE)
        self.assertEqual(len(rows), 4)
        for hidden, *published in rows:
            plan, budget, reserve = measure_tail_peak.plan_of(
                int(hidden), "PP2TP2", "PP4DP2"
            )
            devices = measure_tail_peak.devices_of(plan)
            highest = max(devices, key=lambda device: device["tail_peak"])
            tensors = plan.prev_tensors(highest["device"]).values()
            before = sum(tensor.bytes for kind in tensors for tensor in kind.values())
            proved = highest["tail_peak"] + reserve
            now = [f"{b / 1e6:.2f}" for b in (before, proved, proved, budget)]
            self.assertEqual(published, now, f"hidden size {hidden}")


if __name__ == "__main__":
    unittest.main()
