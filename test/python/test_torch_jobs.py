"""Real jobs change their configuration: every whole tensor stays the same, bit for bit, and
the losses after the change are those of the same job resumed from a checkpoint of PyTorch's.

ETC_TORCH_JOBS=all runs all of JOBS, on up to eight processes; the tests run the small ones. ETC_TORCH_DEVICE=cuda runs
them on GPUs.
"""

import os
import tempfile
import time
import unittest
import warnings

import etc.torch
import ranks
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch_jobs as jobs
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_state_dict,
)

STEPS = 2


def grid(count, *sizes):
    return torch.arange(count).view(sizes or (count,)).tolist()


# {name: (ranks in all, mesh before, mesh after, ranks that die)}.
SMALL = {
    "FSDP4 to FSDP3": (4, (grid(4), "fsdp"), (grid(3), "fsdp"), []),
    "TP2FSDP2 to FSDP4": (4, (grid(4, 2, 2), "fsdp", "tp"), (grid(4), "fsdp"), []),
    "HSDP2x2, a node dies": (
        4,
        (grid(4, 2, 2), "replicate", "fsdp"),
        (grid(2), "fsdp"),
        [2, 3],
    ),
    "PP2FSDP2 to FSDP4": (4, (grid(4, 2, 2), "pp", "fsdp"), (grid(4), "fsdp"), []),
}
JOBS = {
    "FSDP8 to FSDP6": (8, (grid(8), "fsdp"), (grid(6), "fsdp"), []),
    "FSDP4 to FSDP8": (8, (grid(4), "fsdp"), (grid(8), "fsdp"), []),
    "HSDP2x4, a node dies": (
        8,
        (grid(8, 2, 4), "replicate", "fsdp"),
        (grid(4), "fsdp"),
        [4, 5, 6, 7],
    ),
    "TP2FSDP4 to TP2FSDP3": (
        8,
        (grid(8, 4, 2), "fsdp", "tp"),
        (grid(6, 3, 2), "fsdp", "tp"),
        [],
    ),
    "TP2FSDP4 to FSDP6": (8, (grid(8, 4, 2), "fsdp", "tp"), (grid(6), "fsdp"), []),
    "TP2FSDP2 to TP4FSDP2": (
        8,
        (grid(4, 2, 2), "fsdp", "tp"),
        (grid(8, 2, 4), "fsdp", "tp"),
        [],
    ),
    "TP2FSDP2PP2 to TP4FSDP2": (
        8,
        (grid(8, 2, 2, 2), "pp", "fsdp", "tp"),
        (grid(8, 2, 4), "fsdp", "tp"),
        [],
    ),
}
FLAT = StateDictOptions(flatten_optimizer_state_dict=True)


def parts(model, optimizer):
    model, optimizer = get_state_dict(model, optimizer, options=FLAT)
    return {"model": model, "optimizer": optimizer}


def make(mesh, device):
    model = jobs.build(mesh, device)
    return model, jobs.make_optimizer(model)


def resumed(folder, mesh):
    """A job on a mesh, from the checkpoint."""
    job = make(mesh, jobs.DEVICE)
    state = parts(*job)
    dcp.load(state, checkpoint_id=folder, process_group=mesh_group(mesh))
    set_state_dict(
        *job,
        model_state_dict=state["model"],
        optim_state_dict=state["optimizer"],
        options=FLAT,
    )
    return job


def mesh_group(mesh):
    """The first of its ranks alone load: others have left."""
    members = mesh.mesh.flatten().tolist()
    return mesh_group.made if len(members) < dist.get_world_size() else None


def train(job, mesh, first):
    return [jobs.train(*job, first + step, mesh) for step in range(STEPS)]


def change(rank, store, world, before, after, dead, folder):
    """Losses through the change, and after it from the checkpoint; what differs; the
    seconds of both."""
    warnings.simplefilter("ignore")
    jobs.join(rank, store, world)
    old, losses, prev, copy = jobs.make_mesh(*before), [], None, {}
    if old.get_coordinate() is not None:
        prev = make(old, jobs.DEVICE)
        losses = train(prev, old, 0)
        copy = jobs.gathered(*prev)
    copies = [{}] * world
    dist.all_gather_object(copies, copy)
    whole = {name: tensor for one in copies for name, tensor in one.items()}
    begin = time.monotonic()
    dcp.save(parts(*prev) if prev else {}, checkpoint_id=folder)
    saved = time.monotonic() - begin
    dist.barrier()
    if rank in dead:
        os._exit(0)
    if dead:
        dist.destroy_process_group()
        jobs.join(rank, dist.PrefixStore("left", store), world - len(dead))
    new = jobs.make_mesh(*after)
    members = new.mesh.flatten().tolist()
    mesh_group.made = dist.new_group(members)
    curr = make(new, "meta") if rank in members else None
    dist.barrier()
    begin = time.monotonic()
    etc.torch.move(prev, curr, timeout=60, was=rank if dead and prev else None)
    moved = time.monotonic() - begin
    if curr is None:
        return None
    different = jobs.unequal(whole, jobs.gathered(*curr))
    went_on = train(curr, new, STEPS)
    begin = time.monotonic()
    other = resumed(folder, new)
    loaded = time.monotonic() - begin
    as_resumed = train(other, new, STEPS)
    later = jobs.unequal(jobs.gathered(*other), jobs.gathered(*curr))
    return losses, went_on, as_resumed, different + later, moved, saved + loaded


class Jobs(unittest.TestCase):
    def check(self, name, world, before, after, dead):
        with tempfile.TemporaryDirectory() as folder:
            found = ranks.run(
                world, change, world, before, after, dead, folder, timeout=300
            )
        left = [r for rank, r in enumerate(found) if rank not in dead]
        there = [r for r in ranks.must(left) if r is not None]
        self.assertEqual(len(there), torch.tensor(after[0]).numel(), name)
        whole = jobs.uninterrupted(2 * STEPS)
        for losses, went_on, as_resumed, different, *_ in there:
            self.assertEqual(different, [], name)
            self.assertEqual(went_on, as_resumed, name)
            for loss, value in zip(went_on, whole[STEPS:]):
                self.assertAlmostEqual(loss, value, delta=1e-5, msg=name)
        moved, checkpoint = (max(r[i] for r in there) for i in (4, 5))
        print(f"{name}: {moved:.2f} s, a checkpoint {checkpoint:.2f} s")

    def test_jobs(self):
        all_of_them = os.environ.get("ETC_TORCH_JOBS") == "all"
        for name, job in {**SMALL, **(JOBS if all_of_them else {})}.items():
            with self.subTest(name):
                self.check(name, *job)


if __name__ == "__main__":
    unittest.main()
