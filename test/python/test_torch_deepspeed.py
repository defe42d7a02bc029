"""Engines of DeepSpeed's ZeRO: their state moves from one engine to another, and the
losses stay those of one engine; everything else is rejected by name. Stand-ins where
DeepSpeed is not installed.
"""

import importlib.util
import os
import pathlib
import random
import re
import subprocess
import sys
import unittest

import etc.torch
import ranks
import torch
import torch.distributed as dist
import torch_jobs as jobs
from etc.torch.entries import ZERO, model_entries
from etc.torch.spans import range_boxes
from test_torch_examples import two_layers, uninterrupted

STEPS, BATCH = 3, 24


class Groups:
    """Over which ranks an engine partitions: DeepSpeed's `mpu`."""

    def __init__(self, data, model):
        self.data, self.model = data, model

    def get_data_parallel_group(self):
        return self.data

    def get_data_parallel_rank(self):
        return dist.get_rank(self.data)

    def get_data_parallel_world_size(self):
        return dist.get_world_size(self.data)

    def get_model_parallel_group(self):
        return self.model

    def get_model_parallel_rank(self):
        return dist.get_rank(self.model)

    def get_model_parallel_world_size(self):
        return dist.get_world_size(self.model)


def make_engine(stage, seed, groups=None, zero=None, parts=2, rate=0.9, **config):
    """`parts`: groups of parameters; `rate`: of the scheduler, if any."""
    import deepspeed

    torch.manual_seed(seed)
    model = torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 3, 5)),
        torch.nn.Conv2d(1, 4, (2, 3)),  # a range cuts any of its four axes
        torch.nn.Flatten(),
        torch.nn.Linear(24, 11),
        torch.nn.Tanh(),
        torch.nn.Linear(11, 3),
    )
    weights, rest = (
        [p for name, p in model.named_parameters() if name.endswith(end)]
        for end in ("weight", "bias")
    )
    of_both = [{"params": weights}, {"params": rest, "weight_decay": 0.0}]
    of_one = [{"params": weights + rest}]
    optimizer = torch.optim.AdamW(of_both if parts == 2 else of_one, lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, rate) if rate else None
    engine, _, _, _ = deepspeed.initialize(
        model=model,
        optimizer=optimizer,
        lr_scheduler=scheduler,
        mpu=groups,
        config={
            "train_micro_batch_size_per_gpu": 4,
            # Weights are partitioned between steps in stage 3, biases are not.
            "zero_optimization": {
                "stage": stage,
                "stage3_param_persistence_threshold": 20,
                **(zero or {}),
            },
            "zero_allow_untested_optimizer": True,
            **config,
        },
    )
    return engine


def train(engine, first, group, dtype):
    """Losses of a batch that the ranks of the group share."""
    losses = []
    for step in range(first, first + STEPS):
        generator = torch.Generator().manual_seed(step)
        batch = torch.randn(BATCH, 15, generator=generator).to(dtype)
        batch = batch.chunk(dist.get_world_size(group))[dist.get_rank(group)]
        loss = engine(batch).float().square().mean()
        engine.backward(loss)
        engine.step()
        loss = loss.detach().clone()
        dist.all_reduce(loss, group=group)
        losses.append(loss.item() / dist.get_world_size(group))
    return losses


def join(rank, store, world):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank))
    jobs.join(rank, store, world)
    import deepspeed

    deepspeed.init_distributed("gloo")


def change(rank, store, before, after, stages, dtype):
    """(losses through the change, those without one, learning rates, what the engine
    counts, bytes received). An engine is of so many ranks, or twice of two of four."""
    join(rank, store, 4)
    config = {"bf16": {"enabled": True}} if dtype == torch.bfloat16 else {}
    pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    across = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    alone = [dist.new_group([r]) for r in range(4)]
    world = dist.new_group(list(range(4)))
    options = {
        4: Groups(world, alone[rank]),
        2: Groups(pairs[0], alone[rank]) if rank < 2 else None,
        "2x2": Groups(pairs[rank // 2], across[rank % 2]),
    }
    first, second = options[before], options[after]
    whole = make_engine(stages[0], 1, options[4], **config)
    expected = train(whole, 0, world, dtype) + train(whole, STEPS, world, dtype)
    prev = first and make_engine(stages[0], 1, first, **config)
    losses = train(prev, 0, first.data, dtype) if prev else [None] * STEPS
    curr = second and make_engine(stages[1], 2, second, **config)
    report = etc.torch.move(prev, curr, timeout=60)
    losses += train(curr, STEPS, second.data, dtype) if curr else [None] * STEPS
    rates = [g["lr"] for g in curr.optimizer.param_groups] if curr else []
    return losses, expected, rates, curr and curr.global_steps, report.received_bytes


def passes(rank, store):
    """Two passes a step on four ranks, and then four on two: what a step is."""
    join(rank, store, 4)
    alone = [dist.new_group([r]) for r in range(4)]
    pair = dist.new_group([0, 1])
    prev = make_engine(2, 1, gradient_accumulation_steps=2)
    few = Groups(pair, alone[rank]) if rank < 2 else None
    for _ in range(6):
        prev.backward(prev(torch.ones(4, 15)).square().mean())
        prev.step()
    curr = few and make_engine(2, 2, few, gradient_accumulation_steps=4)
    etc.torch.move(prev, curr, timeout=60)
    steps = []
    for _ in range(8 if curr else 0):
        curr.backward(curr(torch.ones(4, 15)).square().mean())
        curr.step()
        steps.append(curr.global_steps)
    return steps


REFUSED = {
    "module": ({}, "weight: .*DeepSpeed's ZeRO.*engine"),
    "twice": ({}, "engine: has its optimizer"),
    "no stage": ({"stage": 0}, "engine: has a .* of stage 0"),
    "offloaded": ({}, "engine: keeps state on the host"),
    "round robin": ({"zero": {"round_robin_gradients": True}}, "engine: .*round_robin"),
    "accumulating": ({"gradient_accumulation_steps": 2}, "engine: .*accumulated"),
    "begin": ({}, "begin: a DeepSpeed engine can't wait"),
    "groups": ({}, "optimizer: has 1 groups of parameters, the one before has 2"),
    "scheduler": ({}, "the objects behind the optimizer are"),
    "to torch": ({}, "moves to an engine alone"),
}


def rejected(rank, store):
    """What is said of engines, and of their modules."""
    join(rank, store, 2)
    found = {}
    for name, (config, _) in REFUSED.items():
        engine = make_engine(**{"stage": 2, "seed": 1, **config})
        if name == "offloaded":
            engine.optimizer.cpu_offload = True
        if name == "accumulating":
            engine.micro_steps = 1
        try:
            if name == "begin":
                etc.torch.begin(engine, make_engine(1, 2), defer="optimizer")
            elif name == "groups":
                etc.torch.move(engine, make_engine(1, 2, parts=1))
            elif name == "scheduler":
                etc.torch.move(engine, make_engine(1, 2, rate=None))
            elif name == "to torch":
                model = torch.nn.Linear(2, 3)
                groups = [{"params": [p]} for p in model.parameters()]
                etc.torch.move(engine, (model, torch.optim.AdamW(groups)))
            elif name == "twice":
                etc.torch.layout(engine, engine.optimizer)
            else:
                etc.torch.layout(engine.module if name == "module" else engine)
            found[name] = "is read"
        except ValueError as error:
            found[name] = str(error)
    return found


class Marks(unittest.TestCase):
    def test_partitioned_parameters_are_rejected_without_their_engine(self):
        for mark in ZERO:
            with self.subTest(mark=mark):
                model = torch.nn.Linear(2, 3)
                self.assertEqual(len(list(model_entries(model))), 2)
                setattr(model.bias, mark, None)
                with self.assertRaisesRegex(ValueError, "bias: .*DeepSpeed's ZeRO"):
                    list(model_entries(model))


class Ranges(unittest.TestCase):
    def test_boxes_of_a_range_have_its_elements_in_order(self):
        seed = random.randrange(1 << 30)
        numbers = random.Random(seed)
        for _ in range(2000):
            shape = [numbers.randint(1, 5) for _ in range(numbers.randint(1, 3))]
            whole = torch.arange(torch.Size(shape).numel())
            first, last = sorted(numbers.randint(0, len(whole)) for _ in range(2))
            parts = [
                whole.view(shape)[tuple(slice(*span) for span in box)].flatten()
                for box in range_boxes(shape, first, last)
            ]
            found = torch.cat(parts) if parts else whole[:0]
            self.assertTrue(torch.equal(found, whole[first:last]), f"seed {seed}")


@unittest.skipUnless(importlib.util.find_spec("deepspeed"), "needs DeepSpeed")
class Engines(unittest.TestCase):
    def setUp(self):
        os.environ["DS_ACCELERATOR"] = "cpu"

    def check(self, before, after, stages, dtype=torch.float32, places=6):
        results = ranks.run(4, change, before, after, stages, dtype, timeout=600)
        moved = 0
        for losses, expected, rates, steps, received in ranks.must(results):
            for loss, value in zip(losses, expected):
                if loss is not None:
                    self.assertAlmostEqual(loss, value, places=places)
            if steps is not None:
                self.assertEqual(steps, 2 * STEPS)
                self.assertTrue(all(abs(r - 0.01 * 0.9**6) < 1e-9 for r in rates))
            moved += received
        self.assertGreater(moved, 0)

    def test_ranks_leave(self):
        self.check(4, 2, (2, 1))

    def test_ranks_join(self):
        self.check(2, 4, (1, 2))

    def test_replicas_of_partitions(self):
        self.check(4, "2x2", (2, 2))
        self.check("2x2", 4, (1, 1))

    def test_stage_3(self):
        """Its engines meet over the whole world when they are made."""
        self.check(4, "2x2", (3, 3))
        self.check("2x2", 4, (3, 2))
        self.check(4, "2x2", (1, 3))

    def test_bf16(self):
        self.check(4, 2, (2, 2), torch.bfloat16, places=3)
        self.check(4, "2x2", (3, 3), torch.bfloat16, places=3)

    def test_the_example(self):
        """On two ranks and then on four: the losses of one process."""
        folder = pathlib.Path(os.environ["ETC_SOURCE_DIR"]) / "docs/examples/frameworks"
        script = folder / "deepspeed_zero.py"
        command = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run"]
        command += ["--standalone", "--nproc-per-node=4", str(script)]
        environment = {**os.environ, "ETC_HOST": "127.0.0.1"}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=600
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.findall(r"^step (\d): loss ([\d.]*)", done.stdout, re.MULTILINE)
        expected = uninterrupted(two_layers, 0.004, 0.7)
        self.assertEqual([int(step) for step, _ in found], list(range(6)))
        for (_, loss), value in zip(found, expected):
            self.assertAlmostEqual(float(loss), value, delta=0.0002)
        self.assertLessEqual(len(script.read_text().splitlines()), 80)

    def test_another_number_of_passes_makes_a_step(self):
        for steps in ranks.must(ranks.run(4, passes, timeout=600))[:2]:
            self.assertEqual(steps, [3, 3, 3, 4, 4, 4, 4, 5])

    def test_what_is_rejected(self):
        for found in ranks.must(ranks.run(2, rejected, timeout=600)):
            for name, (_, message) in REFUSED.items():
                self.assertRegex(found[name], message, name)


if __name__ == "__main__":
    unittest.main()
