"""FSDP8, HSDP2x4 and TP2FSDP4 are what PyTorch's fully_shard makes."""

import contextlib
import unittest

import etc
import torch
import torch_ranks

# Rows that divide and rows that do not, fewer rows than shards, and one and three axes.
TENSORS = {
    "column": ((22, 3), 0),
    "row": ((7, 6), 1),
    "norm": ((5,), None),
    "lone": ((1, 4), None),
    "even": ((16, 2), 0),
    "deep": ((13, 2, 3), None),
}
WORDS = {
    "FSDP8": (1, 8, 1),
    "HSDP2x4": (2, 4, 1),
    "HSDP4x2": (4, 2, 1),
    "TP2FSDP4": (1, 4, 2),
    "TP2HSDP2x2": (2, 2, 2),
    "FSDP7": (1, 7, 1),
}


def planned(word, ranks):
    table = [
        {"name": name, "block": "embed", "shape": list(shape)}
        | ({} if split is None else {"split": split})
        for name, (shape, split) in TENSORS.items()
    ]
    return etc.plan(
        model={"name": "words", "layers": 1, "tensors": table},
        prev="PP1",
        curr={"parallel": word, "devices": list(range(ranks))},
        cluster=[ranks],
        types=["param"],
        precision="fp32",
    )


def shards(sizes):
    """By name, the numbers that this rank has."""
    found = {}
    for name, (shape, split) in TENSORS.items():
        with contextlib.suppress(torch_ranks.Refused):
            tensor = torch_ranks.sharded(shape, split, sizes)
            found[name] = tensor._local_tensor.flatten().tolist()
    return found


def of_boxes(spec):
    whole = torch_ranks.whole(spec.global_shape)
    parts = [whole[tuple(slice(*span) for span in box)] for box in spec.boxes]
    return torch.cat([part.flatten() for part in parts]).tolist()


class Words(unittest.TestCase):
    def test_ranks_hold_what_torch_gives_them(self):
        for word, sizes in WORDS.items():
            world = sizes[0] * sizes[1] * sizes[2]
            plan = planned(word, world)
            self.assertEqual(plan.curr, f"PP1{word}")
            for rank, found in enumerate(
                torch_ranks.on_every_rank(world, shards, sizes)
            ):
                specs = plan.curr_tensors(rank)["param"]
                for name, local in found.items():
                    with self.subTest(word=word, rank=rank, tensor=name):
                        if name not in specs:
                            self.assertEqual(local, [])
                            continue
                        self.assertEqual(of_boxes(specs[name]), local)

    def test_sizes_are_the_meshs(self):
        grid = planned("TP2HSDP2x2", 8).configuration["curr"]
        self.assertEqual((grid["tp"], grid["dp"], grid["fsdp"]), (2, 4, 2))


if __name__ == "__main__":
    unittest.main()
