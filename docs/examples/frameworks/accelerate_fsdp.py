"""Two ranks train with Accelerate and FSDP2; two more join, and the job goes on with four.

torchrun --nproc-per-node=4 accelerate_fsdp.py
"""

import os

import etc.torch
import torch
import torch.distributed as dist
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from accelerate.state import AcceleratorState


def build():
    """An accelerator of the present process group, and what it has prepared."""
    AcceleratorState._reset_state(reset_partial_state=True)
    os.environ.update(WORLD_SIZE=str(dist.get_world_size()), RANK=str(dist.get_rank()))
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2, auto_wrap_policy="no_wrap", reshard_after_forward=True
    )
    accelerator = Accelerator(cpu=True, fsdp_plugin=plugin)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(64, 250), torch.nn.ReLU(), torch.nn.Linear(250, 64)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.004)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.7)
    model, optimizer = accelerator.prepare(model, optimizer)
    # Prepared schedulers step once a process: this one counts steps of the job.
    scheduler.optimizer = optimizer.optimizer
    return accelerator, model, optimizer, scheduler


def train(job, steps):
    accelerator, model, optimizer, scheduler = job
    for step in steps:
        batch = torch.randn(32, 64, generator=torch.Generator().manual_seed(1))
        batch = batch.chunk(accelerator.num_processes)[accelerator.process_index]
        loss = (model(batch) - batch.flip(-1)).square().mean()
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        scheduler.step()
        loss = accelerator.reduce(loss.detach(), "mean")
        rate = scheduler.get_last_lr()[0]
        accelerator.print(f"step {step}: loss {loss:.4f}, rate {rate:.5f}")


def state(job):
    """What moves: the torch optimizer is inside Accelerate's."""
    return None if job is None else (job[1], job[2].optimizer, job[3])


def join_group(store, size):
    if dist.is_initialized():
        dist.destroy_process_group()
    store = dist.PrefixStore(f"of {size}", store)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)


def main(store):
    job = None
    if rank < 2:
        join_group(store, 2)
        job = build()
        train(job, range(3))
        store.set("more ranks", "wanted")
    else:
        store.wait(["more ranks"])
    join_group(store, 4)
    after = build()
    etc.torch.move(state(job), state(after), was=None if job is None else rank)
    train(after, range(3, 6))


rank = int(os.environ["RANK"])
address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
main(dist.TCPStore(address, port, is_master=False))
dist.barrier()
dist.destroy_process_group()
