"""HSDP under etcrun: a worker is killed, the others go on without it, and a new one
takes its place.

    etcrun --standalone --nproc-per-node=4 --max-restarts=1 elastic.py
"""

import os
import signal
import time

import etc.torch
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def build(change):
    torch.manual_seed(0)
    with torch.device(change.device):  # "meta" where the state comes from others
        layers = [torch.nn.Linear(64, 250), torch.nn.ReLU(), torch.nn.Linear(250, 64)]
        model = torch.nn.Sequential(*layers)
    mesh = change.enter((2, change.size // 2), ("replicate", "shard"))
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.004)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.7)
    return model, optimizer, scheduler


def main():
    dies = os.environ["ETC_WORKER"] == "3/0"  # the first process of local rank 3
    with etc.torch.World(multiple_of=2) as world:
        while world.version < 60:
            if change := world.poll():
                model, optimizer, scheduler = change.apply(build)
                if world.rank == 0:
                    print(f"{world.size} members", flush=True)
            step = world.version
            if step == 5 and dies:
                os.kill(os.getpid(), signal.SIGKILL)
            with world.attempt():
                time.sleep(0.2)
                batch = torch.randn(32, 64, generator=torch.Generator().manual_seed(1))
                batch = batch.chunk(world.size)[world.rank]
                loss = (model(batch) - batch.flip(-1)).square().mean()
                optimizer.zero_grad()
                loss.backward()
                loss = loss.detach().clone()
                dist.all_reduce(loss)
                world.commit(optimizer.step, scheduler.step)
                if world.rank == 0:
                    print(f"step {step}: loss {loss / world.size:.4f}", flush=True)


main()
