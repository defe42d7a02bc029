"""Requests from live modules: attributes, shapes beside a meta model, refusals."""

import unittest

import etc
import ranks

try:
    import torch
    from torch import nn
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

LAYERS, HIDDEN = 4, 8
SPLITS = {"up": 0, "down": 1, "embedding": 0, "head": 0}


class Leaf(nn.Module):
    """A weight, which may say how it is cut; a gated one is two parts."""

    def __init__(self, name, shape, tp, device, says):
        super().__init__()
        axis = SPLITS.get(name)
        shape = [
            extent // tp if i == axis else extent for i, extent in enumerate(shape)
        ]
        self.weight = nn.Parameter(
            torch.zeros(shape, dtype=torch.bfloat16, device=device)
        )
        if says:
            self.weight.tensor_model_parallel = axis is not None
            if axis is not None:
                self.weight.partition_dim = axis
                self.weight.partition_stride = 2 if name == "up" else 1


class Layer(nn.Module):
    def __init__(self, number, *options):
        super().__init__()
        self.layer_number = number + 1
        self.norm = Leaf("norm", [HIDDEN], *options)
        self.up = Leaf("up", [32, HIDDEN], *options)
        self.down = Leaf("down", [HIDDEN, 16], *options)


class Model(nn.Module):
    """One stage of a model, or all of it."""

    def __init__(self, layers, first=True, last=True, tp=1, device="cpu", says=True):
        super().__init__()
        options = (tp, device, says)
        if first:
            self.embedding = Leaf("embedding", [64, HIDDEN], *options)
        self.layers = nn.ModuleList(Layer(number, *options) for number in layers)
        if last:
            self.norm = Leaf("norm", [HIDDEN], *options)
            self.head = Leaf("head", [64, HIDDEN], *options)


def stage(pp_rank, tp=2, says=True):
    numbers = range(2 * pp_rank, 2 * pp_rank + 2)
    return Model(numbers, pp_rank == 0, pp_rank == 1, tp, says=says)


def meta(says=True):
    return Model(range(LAYERS), device="meta", says=says)


def grid(pp_rank=0, tp_rank=0):
    return {"pp": 2, "tp": 2, "pp_rank": pp_rank, "tp_rank": tp_rank}


class Describing(unittest.TestCase):
    def test_ranks_agree_and_the_plan_knows_their_tensors(self):
        described = [
            etc.describe(stage(pp), None, grid(pp, tp), meta=meta())
            for pp in range(2)
            for tp in range(2)
        ]
        for each in described:
            self.assertEqual(each.model, described[0].model)
        plan = described[0].plan(curr="PP4", cluster="1x4")
        for rank, each in enumerate(described):
            expected = plan.prev_tensors(rank)
            self.assertEqual(set(each.tensors), {"param"})
            shapes = {name: t.shape for name, t in each.tensors["param"].items()}
            self.assertEqual(
                shapes, {name: spec.shape for name, spec in expected["param"].items()}
            )

    def test_the_table(self):
        model = etc.describe(stage(1), None, grid(1), meta=meta()).model
        rows = {row["name"]: row for row in model["tensors"]}
        self.assertEqual(
            rows["layers.{layer}.up.weight"],
            {
                "name": "layers.{layer}.up.weight",
                "shape": [2, 16, HIDDEN],
                "split": 1,
                "view": [32, HIDDEN],
                "block": "layer",
            },
        )
        self.assertEqual(rows["layers.{layer}.down.weight"]["split"], 1)
        self.assertNotIn("split", rows["layers.{layer}.norm.weight"])
        blocks = [row["block"] for row in model["tensors"]]
        self.assertEqual(blocks, ["embed", "layer", "layer", "layer", "final", "head"])
        self.assertEqual(model["layers"], LAYERS)

    def test_local_numbers_become_global_names(self):
        names = etc.describe(stage(1), None, grid(1), meta=meta()).names
        self.assertEqual(names["layers.0.up.weight"], "layers.2.up.weight")

    def test_shapes_say_what_attributes_do_not(self):
        splits = {"norm.weight": None, "head.weight": 0}
        described = etc.describe(
            stage(0, says=False), None, grid(), meta=meta(False), splits=splits
        )
        found = {row["name"]: row.get("split") for row in described.model["tensors"]}
        self.assertEqual(
            found,
            {
                "embedding.weight": 0,
                "layers.{layer}.norm.weight": None,
                "layers.{layer}.up.weight": 0,
                "layers.{layer}.down.weight": 1,
                **splits,
            },
        )

    def test_optimizers(self):
        model = Model(range(LAYERS)).float()
        optimizer = torch.optim.Adam(model.parameters())
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        described = etc.describe(model, optimizer)
        self.assertEqual(described.fields["precision"], "fp32")
        self.assertEqual(described.fields["types"], ["param", "exp_avg", "exp_avg_sq"])
        plan = described.plan(curr="PP2", cluster="1x2")
        held = plan.prev_tensors(0)
        self.assertEqual(set(held), set(described.tensors))

        def values(state):
            return {
                (kind, name): tensor.tolist()
                for kind, group in state.items()
                for name, tensor in group.items()
            }

        def body(rank, store):
            state = described.tensors if rank == 0 else {}
            before = values(state)
            new = etc.migrate(
                plan, state, store=store, rank=rank, world_size=2, host="127.0.0.1"
            )
            return before, values(new)

        (before, first), (_, second) = ranks.must(ranks.run(2, body))
        self.assertEqual({**first, **second}, before)
        self.assertTrue(first and second)

    def test_master_weights(self):
        model = Model(range(LAYERS))
        for parameter in model.parameters():
            parameter.main_param = parameter.detach().float()
        described = etc.describe(model)
        self.assertEqual(described.fields["types"], ["param", "master"])
        self.assertEqual(described.fields["precision"], "bf16")

    def refuse(self, words, *arguments, **options):
        with self.assertRaises(ValueError) as raised:
            etc.describe(*arguments, **options)
        self.assertIn(words, str(raised.exception))

    def test_what_can_not_be_classified_is_named(self):
        self.refuse("meta: a rank does not see", stage(0), None, grid())
        self.refuse(
            "head.weight: its tensor-parallel axis is unknown",
            stage(0, says=False),
            None,
            grid(),
            meta=meta(False),
            splits={"norm.weight": None},
        )
        self.refuse(
            "embedding.weight: with tp = 1 its tensor-parallel axis can't be derived",
            Model(range(LAYERS), says=False),
            meta=meta(False),
        )
        odd = stage(0, says=False)
        odd.layers[0].down.weight = nn.Parameter(torch.zeros(4, 8))
        self.refuse(
            "layers.{layer}.down.weight: has shape [4, 8] on this rank and [8, 16] in the "
            "meta model; expected them to differ by a factor of tp = 2 in one axis; "
            "build the meta model with this one's sizes, but all parallel sizes 1",
            odd,
            None,
            grid(),
            meta=meta(False),
        )
        self.refuse(
            "embedding.weight: replicated over tp = 2; expected [64, 8] of [64, 8] on "
            "this rank, got [32, 8]; pass another axis in splits, or a meta model of",
            stage(0),
            None,
            grid(),
            meta=meta(),
            splits={"embedding.weight": None},
        )
        self.refuse(
            "splits: the model has no x",
            stage(0),
            None,
            grid(),
            meta=meta(),
            splits={"x": 0},
        )

    def test_foreign_optimizer_states_are_named(self):
        model = Model(range(1)).float()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        self.refuse(
            "embedding.weight: the optimizer keeps 'momentum_buffer'", model, optimizer
        )


if __name__ == "__main__":
    unittest.main()
