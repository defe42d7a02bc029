"""Migrations of PyTorch tensors between processes."""

import gc
import unittest

import etc
import ranks
from migrating import HOST, REQUEST, migrate, migrate_slice, prepare

try:
    import torch
    import torch.distributed as dist
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None


class Migrating(unittest.TestCase):
    def check(self, results, plan):
        moved = 0
        for wrong, report in ranks.must(results):
            self.assertEqual(wrong, [])
            self.assertLessEqual(report.peak_bytes, report.proved_bytes)
            self.assertEqual(report.unfreed_bytes, 0)
            moved += report.received_bytes
        self.assertEqual(moved, plan.summary.moved_bytes)

    def test_every_element_lands(self):
        requests = {
            "roles": {},
            "shrinking": {"prev": "PP2DP4", "curr": "TP2"},
            "ranges": {"prev": "DP4+zero1", "curr": "TP2DP2+zero1"},
            "relays": {"prev": "PP1", "curr": "DP8"},
            "gated": {"model": {**ranks.MODEL, "gated": True}, "curr": "TP4"},
            "safe": {},
        }
        for name, change in requests.items():
            with self.subTest(name):
                plan = etc.plan(**{**REQUEST, **change})
                mode = "safe" if name == "safe" else "eager"
                count = len(plan.participants)
                self.check(ranks.run(count, migrate, plan, mode), plan)

    def test_slices(self):
        plan = etc.plan(**REQUEST)
        self.check(ranks.run(8, migrate_slice, plan), plan)

    def test_one_after_the_other_over_one_store(self):
        first = etc.plan(**{**REQUEST, "cluster": "1x4", "curr": "PP4"})
        back = etc.plan(model=ranks.MODEL, prev=first, curr="PP2TP2", cluster="1x4")
        plans = [first, back, first]

        def body(rank, store):
            return [migrate(rank, store, plan)[0] for plan in plans]

        # The second ends where the first began, up to placement.
        for wrong in ranks.must(ranks.run(4, body)):
            self.assertEqual(wrong, [[], [], []])

    def test_what_stays_is_the_same_object(self):
        plan = etc.plan(model=ranks.MODEL, prev="PP2", curr="PP2DP2", cluster="1x4")

        def body(rank, store):
            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))
            before = {key: dict(group) for key, group in state.items()}
            new = prepare(rank, store, plan, state).run()
            return [
                new[kind][name] is tensor and state[kind][name] is tensor
                for kind, group in before.items()
                for name, tensor in group.items()
            ]

        stayed = ranks.must(ranks.run(4, body))
        self.assertGreater(sum(map(len, stayed)), 0)
        self.assertTrue(all(all(each) for each in stayed))

    def test_what_goes_is_freed_at_once(self):
        plan = etc.plan(**REQUEST)

        def body(rank, store, free):
            from etc.tensors import storage_of

            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))
            module = [t for group in state.values() for t in group.values()]
            gone = []
            migration = prepare(
                rank,
                store,
                plan,
                state,
                free=free,
                on_release=lambda *a: gone.append(a),
            )
            migration.run()
            left = sum(len(group) for group in state.values())
            sizes = [storage_of(tensor).nbytes() for _, _, tensor in gone]
            return len(module) - left - len(gone), len(gone), sum(sizes)

        for free in ("storage", "references"):
            results = ranks.must(ranks.run(len(plan.participants), body, free))
            self.assertEqual([r[0] for r in results], [0] * len(results))
            self.assertGreater(sum(r[1] for r in results), 0)
            held = sum(r[2] for r in results)
            self.assertEqual(held == 0, free == "storage")

    def test_tensors_in_one_buffer(self):
        plan = etc.plan(**REQUEST)

        def body(rank, store):
            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))
            for kind, group in state.items():
                buffer = torch.cat([tensor.flatten() for tensor in group.values()])
                parts = buffer.split([tensor.numel() for tensor in group.values()])
                state[kind] = {
                    name: part.view(tensor.shape)
                    for (name, tensor), part in zip(group.items(), parts)
                }
            size = sum(
                t.numel() * t.element_size() for g in state.values() for t in g.values()
            )
            migration = prepare(rank, store, plan, state)
            new = migration.run()
            stays = sum(
                t.numel() * t.element_size()
                for group in state.values()
                for t in group.values()
            )
            wrong = ranks.differences(new, ranks.make(plan.curr_tensors(device)))
            return wrong, migration.report.unfreed_bytes == size - stays

        for wrong, counted in ranks.must(ranks.run(len(plan.participants), body)):
            self.assertEqual(wrong, [])
            self.assertTrue(counted)

    def test_allocate_and_progress(self):
        plan = etc.plan(**REQUEST)

        def body(rank, store):
            made, seen = [], []

            def allocate(kind, name, spec):
                from etc.tensors import DTYPES

                made.append(name)
                return torch.empty(spec.shape, dtype=DTYPES[spec.dtype])

            wrong, report = migrate(
                rank,
                store,
                plan,
                allocate=allocate,
                progress=lambda *figures: seen.append(figures),
            )
            rounds = seen[-1][1]
            return (
                wrong,
                len(made) > 0,
                [figures[0] for figures in seen] == list(range(rounds + 1)),
                seen[-1][2] == report.received_bytes,
            )

        for result in ranks.must(ranks.run(len(plan.participants), body)):
            self.assertEqual(result, ([], True, True, True))

    def test_a_process_group_finds_the_way(self):
        plan = etc.plan(**{**REQUEST, "cluster": "1x4", "curr": "PP4"})

        def body(rank, store):
            dist.init_process_group("gloo", store=store, rank=rank, world_size=4)
            state = ranks.make(plan.prev_tensors(rank))
            new = etc.migrate(plan, state, host=HOST)
            # PyTorch's Gloo works beside ours, before and after.
            total = torch.ones(1)
            dist.all_reduce(total)
            wrong = ranks.differences(new, ranks.make(plan.curr_tensors(rank)))
            dist.destroy_process_group()
            return wrong, total.item()

        self.assertEqual(ranks.must(ranks.run(4, body)), [([], 4.0)] * 4)


class Memory(unittest.TestCase):
    def test_live_tensors_never_exceed_the_bound(self):
        """Counted apart from ETC: all storages that Python can reach."""
        plan = etc.plan(**REQUEST, memory_budget="1.1x")

        def body(rank, store):
            from etc.tensors import storage_of

            device = plan.participants[rank]
            state = ranks.make(plan.prev_tensors(device))
            highest = 0

            def count(*_):
                nonlocal highest
                storages = {}
                for each in gc.get_objects():
                    if isinstance(each, torch.Tensor):
                        storage = storage_of(each)
                        storages[storage.data_ptr()] = storage.nbytes()
                highest = max(highest, sum(storages.values()))

            from etc.memory import Memory

            for name in ("allocate", "release"):
                inner = getattr(Memory, name)

                def counted(self, *arguments, inner=inner):
                    result = inner(self, *arguments)
                    count()
                    return result

                setattr(Memory, name, counted)
            migration = prepare(rank, store, plan, state)
            gc.collect()
            migration.run()
            return highest, migration.report

        for highest, report in ranks.must(ranks.run(len(plan.participants), body)):
            self.assertGreater(highest, 0)
            self.assertLessEqual(highest, report.proved_bytes)
            self.assertEqual(highest, report.peak_bytes)


class Threads(unittest.TestCase):
    def test_one_thread_migrates_and_the_others_are_told(self):
        plan = etc.plan(**{**REQUEST, "cluster": "1x4", "curr": "PP4"})

        def body(rank, store):
            import threading

            begin, results = threading.Barrier(4), []
            state = ranks.make(plan.prev_tensors(rank))
            migration = prepare(rank, store, plan, state)

            def work():
                begin.wait()
                try:
                    new = migration.run()
                    results.append(
                        ranks.differences(new, ranks.make(plan.curr_tensors(rank)))
                    )
                except etc.UsageError as error:
                    results.append(str(error))

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return results

        for results in ranks.must(ranks.run(4, body)):
            self.assertEqual(results.count([]), 1)
            for refused in (each for each in results if each != []):
                self.assertIn("cannot run: the migration ", refused)

    def test_a_callback_cannot_run_the_migration(self):
        plan = etc.plan(**{**REQUEST, "cluster": "1x4", "curr": "PP4"})

        def body(rank, store):
            refusals = []

            def progress(*_):
                try:
                    migration.run()
                except etc.UsageError as error:
                    refusals.append(str(error))

            state = ranks.make(plan.prev_tensors(rank))
            migration = prepare(
                rank, store, plan, state, progress=progress, encrypt=True
            )
            new = migration.run()
            wrong = ranks.differences(new, ranks.make(plan.curr_tensors(rank)))
            return wrong, set(refusals)

        message = "cannot run: the migration is in use, by this or another thread"
        for result in ranks.must(ranks.run(4, body)):
            self.assertEqual(result, ([], {message}))


if __name__ == "__main__":
    unittest.main()
