"""A job under FSDP2 goes on under FSDP2 and tensor parallelism, without a checkpoint.

    torchrun --nproc-per-node=4 change_mesh.py
"""

import etc.torch
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(64, 250)
        self.down = torch.nn.Linear(250, 64)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


def build(mesh, device):
    torch.manual_seed(0)
    with torch.device(device):
        model = torch.nn.Sequential(*(Layer() for _ in range(4)))
    for layer in model:
        if "tp" in mesh.mesh_dim_names:
            plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
            parallelize_module(layer, mesh["tp"], plan)
        fully_shard(layer, mesh=mesh["fsdp"])
    fully_shard(model, mesh=mesh["fsdp"])
    return model, torch.optim.AdamW(model.parameters(), lr=0.001)


def train(model, optimizer, steps, mesh):
    group = mesh["fsdp"].get_group()
    for step in steps:
        batch = torch.randn(32, 64, generator=torch.Generator().manual_seed(1))
        batch = batch.chunk(group.size())[group.rank()]
        loss = (model(batch) - batch.flip(-1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss = loss.detach().clone()
        dist.all_reduce(loss, group=group)
        if dist.get_rank() == 0:
            print(f"step {step}: loss {loss.item() / group.size():.4f}", flush=True)


def main():
    mesh = init_device_mesh("cpu", (4,), mesh_dim_names=("fsdp",))
    model, optimizer = build(mesh, "cpu")
    train(model, optimizer, range(3), mesh)

    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("fsdp", "tp"))
    after = build(mesh, "meta")  # no memory yet
    etc.torch.move((model, optimizer), after)
    model, optimizer = after
    train(model, optimizer, range(3, 6), mesh)


dist.init_process_group("gloo")
main()
dist.barrier()
dist.destroy_process_group()
