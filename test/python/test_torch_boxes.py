"""The boxes that etc.torch reads are what PyTorch gives each rank."""

import random
import unittest

import torch
import torch_ranks
from etc.torch.placements import boxes_of
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard

# Rows that divide and rows that do not, over meshes (replicate, shard, tp).
MODULES = (((7, 5), 0), ((13, 6), 0), ((5, 4), 1), ((12, 2), 0), ((3,), None))
MESHES = ((1, 4, 1), (1, 3, 2), (2, 2, 2))
SHAPES = ((7,), (13, 5), (3, 4, 5), (2, 3), (31, 1), (5, 7, 11))
IN_PIECES = "lies in pieces behind one another"


def contents(label, tensor, whole):
    """Whether the boxes have the elements of the local tensor; None where they can't be
    handed over."""
    try:
        boxes = boxes_of(label, tensor)
    except ValueError as error:
        if IN_PIECES not in str(error):
            raise
        return None
    parts = [whole[tuple(slice(*span) for span in box)].flatten() for box in boxes]
    found = torch.cat([whole.new_empty(0), *parts])
    return torch.equal(found, tensor._local_tensor.detach().flatten())


def of_modules(sizes):
    found = []
    for shape, split in MODULES:
        try:
            tensor = torch_ranks.sharded(shape, split, sizes)
        except torch_ranks.Refused:
            continue
        found.append(contents("w", tensor, torch_ranks.whole(shape)))
    return found


def of_random_placements(seed):
    """The same placements on every rank of a mesh of 2 x 3."""
    generator, found = random.Random(seed), []
    mesh = init_device_mesh("cpu", (2, 3))
    for _ in range(40):
        shape = generator.choice(SHAPES)
        axes = [generator.randrange(len(shape)) for _ in range(2)]
        placements = [
            generator.choice(
                [
                    Replicate(),
                    Shard(axis),
                    Shard(axis),
                    _StridedShard(axis, split_factor=2),
                ]
            )
            for axis in axes
        ]
        whole = torch_ranks.whole(shape)
        try:
            tensor = torch_ranks.distribute(whole, mesh, placements)
        except torch_ranks.Refused:
            continue
        found.append(contents("x", tensor, whole))
    return found


class Boxes(unittest.TestCase):
    def test_of_fully_shard(self):
        for sizes in MESHES:
            world = sizes[0] * sizes[1] * sizes[2]
            for found in torch_ranks.on_every_rank(world, of_modules, sizes):
                self.assertNotIn(False, found, sizes)
                self.assertNotIn(None, found, sizes)
                self.assertGreater(len(found), 1 if torch_ranks.OLD else 4)

    def test_of_distribute_tensor(self):
        for found in torch_ranks.on_every_rank(6, of_random_placements, 5):
            self.assertNotIn(False, found)
            self.assertGreater(found.count(True), 0.625 * len(found))


if __name__ == "__main__":
    unittest.main()
