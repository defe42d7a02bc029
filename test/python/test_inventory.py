"""What a process says that it holds, and plans from it."""

import json
import math
import os
import subprocess
import tempfile
import unittest

import etc
import ranks
import test_deferred
import test_migration
import training

try:
    import torch
    from etc.tensors import DTYPES
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

REQUEST = {**test_migration.REQUEST, "cluster": "1x4", "curr": "PP4"}
ETC_RUN = os.environ.get("ETC_RUN") or os.path.join(
    os.path.dirname(os.environ.get("ETC_OPT", "")), "etc-run"
)


def boxes_of(inventory, device):
    """{(type, name): boxes} of a device."""
    entry = next(e for e in inventory["devices"] if e["device"] == device)
    shards = [inventory["shards"][number] for number in entry["has"]]
    tensors = [(inventory["tensors"][s["tensor"]], s["boxes"]) for s in shards]
    return {(t["type"], t["name"]): boxes for t, boxes in tensors}


def boxes_of_plan(tensors):
    """The same of what a plan says."""
    return {
        (kind, name): [[list(axis) for axis in box] for box in spec.boxes]
        for kind, group in tensors.items()
        for name, spec in group.items()
    }


def find_in(spec, box):
    """Where a box is in a tensor of one box; None where it is not."""
    pairs = list(zip(box, spec.boxes[0]))
    if any(b < begin or e > end for (b, e), (begin, end) in pairs):
        return None
    return tuple(slice(b - begin, e - begin) for (b, e), (begin, _) in pairs)


def holds(migration, key, box):
    """Whether a tensor of a failed migration has the right contents of a box."""
    kind, name = key
    plan, device = migration.plan, migration.device
    for state, tensors in (
        (migration.state, plan.prev_tensors(device)),
        (migration.received, plan.curr_tensors(device)),
    ):
        tensor = state.get(kind, {}).get(name)
        at = None if tensor is None else find_in(tensors[kind][name], box)
        if at is None:
            continue
        spec = tensors[kind][name]
        shape = [end - begin for begin, end in spec.boxes[0]]
        right = ranks.value(name, spec).reshape(shape)
        if torch.equal(tensor.reshape(shape)[at], right[at]):
            return True
    return False


class Inventory(unittest.TestCase):
    def setUp(self):
        self.plan = etc.plan(**REQUEST)

    def test_before_and_after(self):
        plan = self.plan

        def body(rank, store):
            state = ranks.make(plan.prev_tensors(rank))
            migration = test_migration.prepare(rank, store, plan, state)
            before = migration.inventory()
            migration.run()
            return before, migration.inventory()

        results = ranks.must(ranks.run(4, body))
        for rank, (before, after) in enumerate(results):
            self.assertEqual(
                boxes_of(before, rank), boxes_of_plan(plan.prev_tensors(rank))
            )
            self.assertEqual(
                boxes_of(after, rank), boxes_of_plan(plan.curr_tensors(rank))
            )
        # A migration continues from what all hold.
        back = etc.plan(REQUEST, prev=[after for _, after in results], curr="PP2TP2")
        for rank in range(4):
            self.assertEqual(back.prev_tensors(rank), plan.curr_tensors(rank))

    @unittest.skipUnless(os.access(ETC_RUN, os.X_OK), "needs etc-run: ETC_RUN")
    def test_is_what_the_command_says(self):
        plan = self.plan

        def body(rank, store):
            state = ranks.make(plan.prev_tensors(rank))
            migration = test_migration.prepare(rank, store, plan, state)
            migration.run()
            return migration.inventory()

        results = ranks.must(ranks.run(4, body))
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "m.etcplan")
            plan.save(file)
            journal = os.path.join(folder, "journal")
            run = [ETC_RUN, f"--journal={journal}", file]
            subprocess.run(run, check=True, capture_output=True)
            for rank, mine in enumerate(results):
                others = ",".join(str(d) for d in range(4) if d != rank)
                ask = [ETC_RUN, "inventory", journal, f"--failed={others}"]
                subprocess.run(ask, check=True, capture_output=True)
                path = os.path.join(journal, "inventory.json")
                with open(path, encoding="utf-8") as read:
                    self.assertEqual(json.load(read), mine)

    def test_after_an_exception_in_run(self):
        """Every box that is listed is there, and all can be planned from. Parameters
        that can be cast may be gone, and are not listed then."""
        plan = etc.plan(**REQUEST, derive="none")
        request = {**REQUEST, "curr": "TP2DP2"}

        def body(rank, store, mode):
            made = []

            def allocate(kind, name, spec):
                made.append(name)
                if rank == 1 and len(made) == 12:
                    raise MemoryError("no room")
                return torch.empty(spec.shape, dtype=DTYPES[spec.dtype])

            state = ranks.make(plan.prev_tensors(rank))
            migration = test_migration.prepare(
                rank, store, plan, state, mode=mode, allocate=allocate
            )
            try:
                migration.run()
            except (MemoryError, etc.PeerError):
                held = migration.inventory()
                wrong = [
                    (key, box)
                    for key, boxes in boxes_of(held, rank).items()
                    for box in boxes
                    if not holds(migration, key, box)
                ]
                migration.close()
                assert migration.inventory() == held
                kept = {(k, n) for k, g in migration.state.items() for n in g}
                return migration.outcome, held, wrong, kept
            raise AssertionError("it ran")

        for mode in ("eager", "safe"):
            with self.subTest(mode):
                results = ranks.must(ranks.run(4, body, mode))
                for rank, (_, held, wrong, kept) in enumerate(results):
                    self.assertEqual(wrong, [])
                    self.assertLessEqual(kept, set(boxes_of(held, rank)))
                outcomes = {outcome for outcome, *_ in results}
                self.assertIn("mixed" if mode == "eager" else "old", outcomes)
                held = [result[1] for result in results]
                after = etc.plan(request, prev=held)
                for rank in range(4):
                    mine = boxes_of(held[rank], rank)
                    prev = after.prev_tensors(rank)
                    for key, boxes in boxes_of_plan(prev).items():
                        count = sum(
                            math.prod(end - begin for begin, end in box)
                            for box in mine[key]
                        )
                        self.assertEqual(math.prod(prev[key[0]][key[1]].shape), count)
                        self.assertTrue(boxes)

    def test_of_deferred_state(self):
        """Not while a thread moves it; after its end without a call of finish."""
        plan = etc.plan(**test_deferred.REQUEST, defer="optimizer")

        def body(rank, store):
            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))
            migration = test_migration.prepare(
                rank, store, plan, state, tail_rate=1000.0
            )
            migration.run()
            ranks.wait_for_all(store, "paused", rank, 8)
            with self.assertRaisesRegex(etc.UsageError, "still runs: finish it first"):
                migration.inventory()
            ranks.wait_for_all(store, "asked", rank, 8)
            if rank == 3:
                migration.abort()
            try:
                for kind, group in plan.curr_tensors(device).items():
                    migration.wait(group, kind)
            except etc.PeerError:
                return len(migration.inventory()["devices"])
            migration.close()
            return len(migration.inventory()["devices"])

        self.assertEqual(ranks.must(ranks.run(8, body)), [1] * 8)

    def test_of_a_job(self):
        base = etc.plan(training.REQUEST, prev="PP2TP2", curr="PP2TP2")
        plan = etc.plan(training.REQUEST, prev=base, curr="PP4")

        def body(rank, store):
            if rank == 4:
                return etc.Job(store, rank).inventory()
            job = training.start(rank, store, base, step=3)
            before = job.inventory()
            migration = job.prepare(plan)
            assert job.inventory() == before == migration.inventory()
            migration.run()
            after = job.inventory()
            with self.assertRaises(ZeroDivisionError), job.step():
                raise ZeroDivisionError
            with self.assertRaisesRegex(etc.UsageError, "step before did not end"):
                job.inventory()
            return before, after

        results = ranks.must(ranks.run(5, body))
        for rank, (before, after) in enumerate(results[:4]):
            for held, tensors in (
                (before, plan.prev_tensors(rank)),
                (after, plan.curr_tensors(rank)),
            ):
                self.assertEqual(boxes_of(held, rank), boxes_of_plan(tensors))
        self.assertEqual(boxes_of(results[4], 4), {})
        held = [after for _, after in results[:4]] + [results[4]]
        self.assertEqual(etc.plan(training.REQUEST, prev=held, curr="TP2").curr, "PP1TP2")

    def test_what_cannot_be_joined(self):
        shape = {"name": "weight", "type": "param", "dtype": "bf16", "shape": [10, 4]}
        whole = {
            "format": "etc-inventory",
            "version": 1,
            "tensors": [shape],
            "shards": [{"tensor": 0, "boxes": [[[0, 10], [0, 4]]]}],
            "devices": [{"device": 0, "has": [0]}],
        }
        with self.assertRaisesRegex(ValueError, "two inventories list device 0"):
            etc.plan(prev=[whole, whole], curr=whole, cluster="1x1")
        other = {
            **whole,
            "tensors": [{**shape, "shape": [10, 5]}],
            "devices": [{"device": 1, "has": [0]}],
        }
        with self.assertRaisesRegex(ValueError, r"weight \(param\): .* dtype or shape"):
            etc.plan(prev=[whole, other], curr=whole, cluster="1x2")
        self.assertEqual(etc.plan(prev=whole, curr=whole, cluster="1x1").participants, [0])


if __name__ == "__main__":
    unittest.main()
