"""Wrong use of migrations: what is refused, and what becomes of the others."""

import unittest

import etc
import ranks
from migrating import REQUEST, prepare

try:
    import torch
    import torch.distributed as dist
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None


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
            ranks.wait_for_all(store, "prepared", rank, 4)
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
            ranks.wait_for_all(store, "prepared", rank, 4)
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
