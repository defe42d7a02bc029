"""Random pairs of layouts that PyTorch itself makes: every rank's contents before and after
are those of the plan's boxes, the plan moves what ranks lack and no more, and etc-run
executes it bit for bit.

ETC_TORCH_PAIRS is the number of pairs, ETC_TORCH_SEED the seed of the first one.
"""

import os
import random
import subprocess
import tempfile
import unittest

import etc
import torch
import torch_ranks
from etc.torch.entries import make_entry
from etc.torch.inventory import Held, make_inventory
from etc.torch.layout import _row, planned_boxes
from etc.torch.meshes import Seen
from etc.torch.rows import pack_boxes
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard

# Of one to four axes; primes, and less than there are ranks.
SHAPES = (
    *((7,), (31,), (3,), (64,), (13, 5), (2, 3), (31, 1), (11, 17), (16, 8), (23, 6)),
    *((3, 4, 5), (5, 7, 11), (13, 2, 3), (8, 8, 8), (1, 19, 2), (6, 10, 15)),
    *((5, 3, 2, 2), (12, 4, 3, 3), (7, 1, 3, 3), (2, 29, 1, 1)),
)
MESHES = {
    4: ((4,), (2, 2), (1, 4), (4, 1)),
    6: ((6,), (2, 3), (3, 2), (1, 3, 2)),
    8: ((8,), (2, 4), (4, 2), (2, 2, 2)),
}
# (replicate, shard, tp) of a module.
MODULES = {
    4: ((1, 4, 1), (2, 2, 1), (1, 2, 2)),
    6: ((1, 6, 1), (2, 3, 1), (1, 3, 2)),
    8: ((1, 8, 1), (2, 4, 1), (1, 4, 2), (2, 2, 2), (1, 2, 4)),
}
TENSORS, BATCH = 3, 20
REFUSED = ("lies in pieces", "can be two different ones", "axis behind the third")


def side(generator, world, shape):
    """One tensor of the shape as this rank has it, over a random mesh."""
    if generator.random() < 0.5:
        sizes = generator.choice(MODULES[world])
        split = generator.choice([None, *range(min(len(shape), 2))])
        # PyTorch refuses to shard an axis unevenly but the first one.
        if split == 1 and shape[1] % sizes[2]:
            split = 0
        return torch_ranks.sharded(shape, split, sizes)
    sizes = generator.choice(MESHES[world])
    ways = [Replicate(), *(Shard(axis) for axis in range(len(shape)))]
    placements = [generator.choice(ways) for _ in sizes]
    mesh = init_device_mesh("cpu", sizes)
    return torch_ranks.distribute(torch_ranks.whole(shape), mesh, placements)


def as_rank(world, seeds):
    """Of each pair and tensor, the rows and the contents of this rank before and after;
    None where it is refused."""
    found = []
    for seed in seeds:
        generator, pair = random.Random(seed), []
        shapes = generator.sample(SHAPES, TENSORS)
        for number, shape in enumerate(shapes):
            try:
                tensors = [side(generator, world, shape) for _ in range(2)]
                pair.append([read(f"t{number}", tensor) for tensor in tensors])
            except torch_ranks.Refused:
                pair.append(None)
            except ValueError as error:
                if not any(text in str(error) for text in REFUSED):
                    raise
                pair.append(None)
        found.append(pair)
    return found


def read(name, tensor):
    entry = make_entry("param", name, tensor, lambda new: None)
    contents = tensor._local_tensor.detach().flatten().tolist()
    return (_row(entry, Seen()), planned_boxes(entry)), contents


def inventory_of(world, ranks):
    """Of rows and boxes, by rank."""
    held = [
        Held([row for row, _ in mine], pack_boxes(boxes for _, boxes in mine))
        for mine in ranks
    ]
    return make_inventory(held, range(world))


def of_boxes(spec):
    whole = torch_ranks.whole(spec.global_shape)
    parts = [whole[tuple(slice(*span) for span in box)] for box in spec.boxes]
    return torch.cat([part.flatten() for part in parts]).tolist()


class Pairs(unittest.TestCase):
    def check(self, world, pair):
        """`pair` has, by rank, the tensors that no rank refuses."""
        sides = [
            inventory_of(world, [[t[s][0] for t in mine] for mine in pair])
            for s in range(2)
        ]
        plan = etc.plan(
            prev={"inventory": sides[0]}, curr={"inventory": sides[1]}, cluster=[world]
        )
        lacks = 0
        for rank, mine in enumerate(pair):
            for ((row, _), before), (_, after) in mine:
                lacks += 4 * len(set(after) - set(before))
                specs = {}, {}  # of a rank that has nothing
                if rank in plan.participants:
                    specs = plan.prev_tensors(rank), plan.curr_tensors(rank)
                for contents, held in zip((before, after), specs):
                    spec = held.get("param.fp32", {}).get(row.name)
                    self.assertEqual(contents, [] if spec is None else of_boxes(spec))
        self.assertEqual(plan.summary.moved_bytes, lacks)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.etcplan")
            plan.save(path)
            ran = subprocess.run(
                [RUN, path], capture_output=True, text=True, timeout=120
            )
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("bit for bit", ran.stdout)

    def test_pairs(self):
        count = int(os.environ.get("ETC_TORCH_PAIRS", "12"))
        first = int(os.environ.get("ETC_TORCH_SEED", "1"))
        seeds = list(range(first, first + count))
        checked = tensors = 0
        worlds = {world: seeds[i :: len(MESHES)] for i, world in enumerate(MESHES)}
        for world, mine in worlds.items():
            for begin in range(0, len(mine), BATCH):
                batch = mine[begin : begin + BATCH]
                found = torch_ranks.on_every_rank(world, as_rank, world, batch)
                for number, seed in enumerate(batch):
                    by_tensor = zip(*(ranks[number] for ranks in found))
                    kept = [t for t in by_tensor if None not in t]
                    if kept:
                        checked, tensors = checked + 1, tensors + len(kept)
                        with self.subTest(world=world, seed=seed):
                            self.check(world, list(zip(*kept)))
        self.assertGreater(tensors, TENSORS * count // 2)
        print(f"{checked} pairs of {count}, {tensors} tensors of {TENSORS * count}")


RUN = os.environ.get("ETC_RUN", "etc-run")

if __name__ == "__main__":
    unittest.main()
