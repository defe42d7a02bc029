"""A trainer under etcrun, for tests: HSDP over any even number of members.

    etcrun ... etcrun_trainer.py --steps=N --out=FOLDER [--pace=SECONDS]
        [--checkpoints=FOLDER]

With --checkpoints there are no replicas, and a death loses state. Every process writes
lines of JSON to a file of its own: losses, changes, its end. With ETC_TORCH_DEVICE=cuda
it trains on a GPU, which processes share, over NCCL.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import pathlib
import signal
import sys
import time

import etc.torch
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from ranks import take_gpu
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

DEVICE = os.environ.get("ETC_TORCH_DEVICE", "cpu")
WIDTH, BATCH = 24, 48


class Counter(torch.nn.Module):
    """Its buffer counts steps, and the loss tells of any that is counted twice."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, values):
        self.steps += 1
        return values * (1 + 0.1 * torch.sin(self.steps))


def make_model():
    inner, outer = torch.nn.Linear(WIDTH, 52), torch.nn.Linear(52, WIDTH)
    return torch.nn.Sequential(inner, Counter(), torch.nn.ReLU(), outer)


def build(change, replicas=2):
    torch.manual_seed(0)
    # A GPU would draw other numbers than the process whose losses are compared.
    with torch.device("meta" if change.device == "meta" else "cpu"):
        model = make_model().to(change.device)
    if change.size % replicas:
        replicas = 1
    mesh = change.enter((replicas, change.size // replicas), ("replicate", "shard"))
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.9)
    return model, optimizer, scheduler


class Checkpoints:
    """Of every fifth step, by torch.distributed.checkpoint."""

    def __init__(self, folder):
        self.folder = folder
        self.latest = folder / "latest.json"

    def save(self, world, model, optimizer, scheduler):
        if world.version % 5:
            return
        folder = self.folder / str(world.version)
        dcp.save(self.tensors(model, optimizer), checkpoint_id=folder)
        if world.rank == 0:
            draft = self.folder / "draft.json"
            told = {"version": world.version, "scheduler": scheduler.state_dict()}
            draft.write_text(json.dumps(told))
            draft.rename(self.latest)

    def restore(self, model, optimizer, scheduler):
        told = json.loads(self.latest.read_text())
        state = self.tensors(model, optimizer)
        dcp.load(state, checkpoint_id=self.folder / str(told["version"]))
        set_state_dict(
            model,
            optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )
        scheduler.load_state_dict(told["scheduler"])
        return told["version"]

    @staticmethod
    def tensors(model, optimizer):
        return dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))


def batch_of(step):
    generator = torch.Generator().manual_seed(step % 7)
    return torch.randn(BATCH, WIDTH, generator=generator)


def loss_of(model, batch):
    return (model(batch) - batch.flip(-1)).square().sum() / BATCH / WIDTH


def uninterrupted(steps):
    """The losses of one process."""
    torch.manual_seed(0)
    model, losses = make_model(), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.9)
    for step in range(steps):
        loss = loss_of(model, batch_of(step))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


def place(world):
    return {
        "rank": world.rank,
        "size": world.size,
        "generation": world.generation,
        "seed": torch.initial_seed(),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--pace", type=float, default=0.05)
    parser.add_argument("--timeout", type=float, default=40.0)
    parser.add_argument("--multiple", type=int, default=2)
    parser.add_argument("--raise-at", type=int, default=-1)
    parser.add_argument("--checkpoints", type=pathlib.Path)
    args = parser.parse_args()
    faulthandler.register(signal.SIGUSR1)
    log = open(args.out / f"{os.getpid()}.jsonl", "a", buffering=1)

    def note(**fields):
        log.write(json.dumps({"time": time.time(), **fields}) + "\n")

    note(event="begin", worker=os.environ["ETC_WORKER"], host=os.environ["ETC_HOST"])
    checkpoints = Checkpoints(args.checkpoints) if args.checkpoints else None
    replicas = 1 if checkpoints else 2

    def restore(*objects):
        version = checkpoints.restore(*objects)
        note(event="restored", version=version)
        return version

    if DEVICE == "cuda":
        take_gpu(os.getpid(), sys.maxsize)
    options = {"multiple_of": args.multiple, "timeout": args.timeout}
    with etc.torch.World(device=DEVICE, **options) as world:
        while world.version < args.steps:
            if change := world.poll():
                note(event="change", generation=change.generation)
                model, optimizer, scheduler = change.apply(
                    lambda change: build(change, replicas),
                    restore if checkpoints else None,
                )
                note(event="changed", version=world.version, **place(world))
            with world.attempt():
                step = world.version
                time.sleep(args.pace)
                if step == args.raise_at and world.rank == 0:
                    raise RuntimeError("an error of the trainer's own")
                batch = batch_of(step).chunk(world.size)[world.rank].to(DEVICE)
                loss = loss_of(model, batch)
                optimizer.zero_grad()
                # The mean over ranks of equal parts is that of the batch.
                (loss * world.size).backward()
                loss = loss.detach().clone()
                dist.all_reduce(loss)
                world.commit(optimizer.step, scheduler.step)
                note(event="step", step=step, loss=loss.item(), **place(world))
                if checkpoints:
                    checkpoints.save(world, model, optimizer, scheduler)
    note(event="end", version=world.version)


if __name__ == "__main__":
    main()
