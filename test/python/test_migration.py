"""Migrations of PyTorch tensors between processes, and wrong use."""

import gc
import unittest

import etc
import ranks

try:
    import torch
    import torch.distributed as dist
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

HOST = "127.0.0.1"
REQUEST = {"model": ranks.MODEL, "prev": "PP2TP2", "curr": "PP4DP2", "cluster": "2x4"}


def migrate(rank, store, plan, mode="eager", **options):
    """One migration of this rank's state; (what is wrong, report)."""
    device = plan.participants[rank]
    state = ranks.make(plan.prev_tensors(device))
    migration = prepare(rank, store, plan, state, mode=mode, **options)
    new = migration.run()
    wrong = ranks.differences(new, ranks.make(plan.curr_tensors(device)))
    return wrong, migration.report


def prepare(rank, store, plan, state, **options):
    count = len(plan.participants)
    options = {"host": HOST, "timeout": 60, **options}
    return etc.prepare(plan, state, store=store, rank=rank, world_size=count, **options)


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

            from etc.migration import Migration

            for name in ("_allocate", "_release"):
                inner = getattr(Migration, name)

                def counted(self, *arguments, inner=inner):
                    result = inner(self, *arguments)
                    count()
                    return result

                setattr(Migration, name, counted)
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
            migration = prepare(rank, store, plan, state, progress=progress)
            new = migration.run()
            wrong = ranks.differences(new, ranks.make(plan.curr_tensors(rank)))
            return wrong, set(refusals)

        message = "cannot run: the migration is in use, by this or another thread"
        for result in ranks.must(ranks.run(4, body)):
            self.assertEqual(result, ([], {message}))


class WrongUse(unittest.TestCase):
    """One rank is wrong; what it is told, and that others do not wait for it."""

    def setUp(self):
        self.plan = etc.plan(**{**REQUEST, "cluster": "1x4", "curr": "PP4"})
        self.state = ranks.make(self.plan.prev_tensors(0))
        self.name = "decoder.layers.0.mlp.linear_fc1.weight"
        self.store = dist.HashStore()

    def refuse(self, error, words, state=None, **options):
        options = {"store": self.store, "rank": 0, "world_size": 4, **options}
        with self.assertRaises(error) as raised:
            etc.prepare(self.plan, self.state if state is None else state, **options)
        for each in words if isinstance(words, tuple) else (words,):
            self.assertIn(each, str(raised.exception))

    def put(self, tensor):
        self.state["param"][self.name] = tensor

    def test_missing_tensors(self):
        del self.state["param"][self.name]
        self.refuse(KeyError, f"missing from state: {self.name} (param)")

    def test_unknown_tensors(self):
        self.state["param"]["decoder.layers.0.mlp.linear_fc9.weight"] = self.state[
            "param"
        ].pop(self.name)
        self.refuse(
            KeyError,
            (
                "not of this plan: decoder.layers.0.mlp.linear_fc9.weight (param)",
                "is it decoder.layers.0.mlp.linear_fc1.weight?",
            ),
        )

    def test_a_plan_for_another_model(self):
        other = etc.plan(
            model={**ranks.MODEL, "layers": 8}, prev="PP2TP2", curr="PP4", cluster="1x4"
        )
        self.plan = other
        self.refuse(
            KeyError,
            ("missing from state: decoder.layers.2.", f"device 0 of {other!r}"),
        )

    def test_wrong_dtype(self):
        self.put(self.state["param"][self.name].float())
        self.refuse(
            TypeError, f"{self.name} (param): is torch.float32, the plan has torch.bf"
        )

    def test_not_a_tensor(self):
        self.put([1, 2])
        self.refuse(TypeError, "expected a tensor, got list")

    def test_wrong_shape(self):
        self.put(torch.zeros(128, 32, dtype=torch.bfloat16))
        self.refuse(ValueError, "has shape [128, 32], the plan gives this device [64,")

    def test_not_contiguous(self):
        self.put(torch.zeros(32, 64, dtype=torch.bfloat16).t())
        self.refuse(ValueError, ("is not contiguous (strides [1, 64])", "contiguous()"))

    def test_freed_before(self):
        from etc.tensors import storage_of

        storage_of(self.state["param"][self.name]).resize_(0)
        self.refuse(ValueError, "its storage was freed")

    def test_shared_memory(self):
        other = "decoder.layers.1.mlp.linear_fc1.weight"
        self.put(self.state["param"][other])
        self.refuse(etc.UsageError, "share memory")

    def test_a_group_of_the_wrong_size(self):
        self.refuse(
            ValueError, "the plan has 4 participants, the group has 3", world_size=3
        )
        self.refuse(ValueError, "rank 4: the plan has 4 participants", rank=4)
        self.refuse(ValueError, "rank: which participant", rank=None)
        self.refuse(
            ValueError,
            "no way to find each other",
            store=None,
            rank=None,
            world_size=None,
        )

    def test_wrong_words(self):
        self.refuse(ValueError, 'mode: expected "eager" or "safe"', mode="lazy")
        self.refuse(ValueError, 'free: expected "storage"', free="all")

    def test_flat_tensors_are_taken(self):
        self.put(self.state["param"][self.name].flatten())
        self.refuse(etc.PeerError, "participant 1 (device 1) is not there", timeout=0.2)


class WrongRanks(unittest.TestCase):
    def setUp(self):
        self.plan = etc.plan(**{**REQUEST, "cluster": "1x4", "curr": "PP4"})

    def run_with(self, spoil):
        """Rank 1 does something between prepare and run: (exception, its words,
        whether the previous state is whole) of every rank, the last not of rank 1.
        """
        plan = self.plan

        def body(rank, store):
            state = ranks.make(plan.prev_tensors(rank))
            migration = prepare(rank, store, plan, state, timeout=20)
            if rank == 1:
                spoil(state, migration)
            try:
                migration.run()
            except Exception as error:
                whole = rank != 1 and not ranks.differences(
                    state, ranks.make(plan.prev_tensors(rank))
                )
                return type(error).__name__, str(error), whole
            return "migrated", "", False

        return ranks.must(ranks.run(4, body))

    def test_tensors_that_are_freed_too_early(self):
        def free(state, migration):
            from etc.tensors import free_storage

            free_storage(next(iter(state["master"].values())))

        results = self.run_with(free)
        self.assertEqual(results[1][0], "RuntimeError")
        self.assertIn("was freed or moved since prepare()", results[1][1])
        for rank in (0, 2, 3):
            self.assertEqual(results[rank][0], "PeerError")
            self.assertTrue(results[rank][2])

    def test_tensors_that_are_replaced(self):
        def replace(state, migration):
            tensor = next(iter(state["master"].values()))
            tensor.data = tensor.data.clone()

        self.assertIn("freed or moved", self.run_with(replace)[1][1])

    def test_a_process_that_dies(self):
        import os

        plan = self.plan

        def body(rank, store):
            state = ranks.make(plan.prev_tensors(rank))
            migration = prepare(rank, store, plan, state, timeout=20, mode="safe")
            if rank == 1:
                return os.getpid()  # the process ends without a migration
            try:
                migration.run()
            except etc.PeerError as error:
                return str(error), not ranks.differences(
                    state, ranks.make(plan.prev_tensors(rank))
                )

        results = ranks.must(ranks.run(4, body))
        for rank in (0, 2, 3):
            message, whole = results[rank]
            self.assertIn("device", message)
            self.assertTrue(whole)

    def test_abort_ends_every_run(self):
        results = self.run_with(lambda state, migration: migration.abort())
        self.assertEqual([name for name, _, _ in results], ["PeerError"] * 4)
        self.assertEqual([whole for _, _, whole in results], [True, False, True, True])

    def test_exceptions_of_callbacks(self):
        plan = self.plan

        def body(rank, store):
            def allocate(kind, name, spec):
                raise KeyError("no room for " + name)

            state = ranks.make(plan.prev_tensors(rank))
            options = {"allocate": allocate} if rank == 1 else {}
            try:
                prepare(rank, store, plan, state, timeout=20, **options).run()
            except Exception as error:
                return type(error).__name__, str(error)

        results = ranks.must(ranks.run(4, body))
        self.assertEqual(results[1][0], "KeyError")
        self.assertIn("no room for", results[1][1])

    def test_different_plans(self):
        other = etc.plan(
            model={**ranks.MODEL, "seq": 64}, prev="PP2TP2", curr="PP4", cluster="1x4"
        )
        plan = self.plan

        def body(rank, store):
            mine = other if rank == 2 else plan
            state = ranks.make(mine.prev_tensors(rank))
            try:
                prepare(rank, store, mine, state, timeout=20)
            except etc.UsageError as error:
                return str(error)

        for message in ranks.must(ranks.run(4, body)):
            self.assertIn("participants have different plans", message)

    def test_steps_in_the_wrong_order(self):
        plan = etc.plan(model=ranks.MODEL, prev="PP1", curr="PP1", cluster="1x1")
        state = ranks.make(plan.prev_tensors(0))
        migration = prepare(0, dist.HashStore(), plan, state)
        migration.run()
        with self.assertRaisesRegex(
            etc.UsageError, "cannot run: the migration has run"
        ):
            migration.run()


if __name__ == "__main__":
    unittest.main()
