"""HSDP on two nodes of two ranks; a node is lost, and the other one goes on under FSDP.

    python lost_node.py
"""

import multiprocessing
import os
import signal

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
    fully_shard(model, mesh=mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=0.001)


def train(model, optimizer, step, mesh):
    batch = torch.randn(32, 64, generator=torch.Generator().manual_seed(1))
    batch = batch.chunk(mesh.size())[dist.get_rank()]
    loss = (model(batch) - batch.flip(-1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss = loss.detach().clone()
    dist.all_reduce(loss)
    if dist.get_rank() == 0:
        print(f"step {step}: loss {loss / mesh.size():.4f}", flush=True)


def join_group(store, rank, size):
    dist.init_process_group(
        "gloo", store=dist.PrefixStore(f"of {size}", store), rank=rank, world_size=size
    )


def main(rank, port):
    store = dist.TCPStore("127.0.0.1", port, is_master=False)
    join_group(store, rank, 4)
    names = ("replicate", "shard")
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=names)
    model, optimizer = build(mesh, "cpu")
    step = 0
    while step < 6:
        if step == 3 and rank in (2, 3):
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            train(model, optimizer, step, mesh)
            step += 1
        except RuntimeError as error:  # no parameter has changed in this step
            if rank == 0:
                print(f"step {step}: {str(error).splitlines()[0][:60]}", flush=True)
            dist.destroy_process_group()
            join_group(store, rank, 2)  # of a membership service: who is left
            mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("shard",))
            after = build(mesh, "meta")
            etc.torch.move((model, optimizer), after, was=rank)
            model, optimizer = after
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    context = multiprocessing.get_context("fork")
    ranks = [context.Process(target=main, args=(r, store.port)) for r in range(4)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    raise SystemExit([process.exitcode for process in ranks] != [0, 0, -9, -9])
