"""Two ranks train under FSDP2; two more join, and the job goes on with four.

    torchrun --nproc-per-node=4 join.py
"""

import os

import etc.torch
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def build(mesh, device):
    torch.manual_seed(0)
    with torch.device(device):
        layers = [torch.nn.Linear(64, 250), torch.nn.ReLU(), torch.nn.Linear(250, 64)]
        model = torch.nn.Sequential(*layers)
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.004)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.7)
    return model, optimizer, scheduler


def train(job, steps, mesh):
    model, optimizer, scheduler = job
    for step in steps:
        batch = torch.randn(32, 64, generator=torch.Generator().manual_seed(1))
        batch = batch.chunk(mesh.size())[mesh.get_local_rank()]
        loss = (model(batch) - batch.flip(-1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        loss = loss.detach().clone()
        dist.all_reduce(loss, group=mesh.get_group())
        if mesh.get_local_rank() == 0:
            rate = scheduler.get_last_lr()[0]
            print(f"step {step}: loss {loss / mesh.size():.4f}, rate {rate:.5f}")


def join_group(store, size):
    """The default process group has `size` ranks from now on."""
    if dist.is_initialized():
        dist.destroy_process_group()
    dist.init_process_group(
        "gloo", store=dist.PrefixStore(f"of {size}", store), rank=rank, world_size=size
    )
    return init_device_mesh("cpu", (size,), mesh_dim_names=("fsdp",))


def main(store):
    job = None
    if rank < 2:
        mesh = join_group(store, 2)
        job = build(mesh, "cpu")
        train(job, range(3), mesh)
        store.set("more ranks", "wanted")
    else:
        store.wait(["more ranks"])

    mesh = join_group(store, 4)
    after = build(mesh, "meta")  # no memory yet
    etc.torch.move(job, after, was=None if job is None else rank)
    train(after, range(3, 6), mesh)


rank = int(os.environ["RANK"])
address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
main(dist.TCPStore(address, port, is_master=False))
dist.barrier()
dist.destroy_process_group()
