"""The trainer of etcrun_trainer.py for stock torchrun: state survives in checkpoints.

    torchrun ... torchrun_trainer.py --steps=N --out=FOLDER [--pace=SECONDS] [--every=STEPS]

Every start loads the newest checkpoint, and goes on behind it.
"""

from __future__ import annotations

import argparse
import datetime
import faulthandler
import json
import os
import pathlib
import signal
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from etcrun_trainer import batch_of, loss_of, make_model
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Job:
    """Model, optimizer and scheduler over all ranks, as etcrun_trainer.build makes them."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        size = dist.get_world_size()
        replicas = 2 if size % 2 == 0 else 1
        mesh = init_device_mesh(
            "cpu", (replicas, size // replicas), mesh_dim_names=("replicate", "shard")
        )
        torch.manual_seed(0)
        self.model = make_model()
        fully_shard(self.model, mesh=mesh)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.005)
        self.scheduler = torch.optim.lr_scheduler.StepLR(
            self.optimizer, step_size=10, gamma=0.9
        )
        self.step = 0
        self.load()

    def state(self) -> dict:
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def save(self) -> None:
        """A checkpoint is complete once its file has the scheduler and the step."""
        place = self.folder / str(self.step)
        dcp.save(self.state(), checkpoint_id=place)
        if dist.get_rank() == 0:
            written = place / "rest.new"
            torch.save({"scheduler": self.scheduler.state_dict()}, written)
            written.rename(place / "rest")
        dist.barrier()

    def load(self) -> None:
        newest = [max((int(p.parent.name) for p in self.folder.glob("*/rest")), default=0)]
        dist.broadcast_object_list(newest)  # one choice for all
        if newest[0] == 0:
            return
        self.step = newest[0]
        place, state = self.folder / str(self.step), self.state()
        dcp.load(state, checkpoint_id=place)
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )
        self.scheduler.load_state_dict(torch.load(place / "rest")["scheduler"])

    def train(self) -> float:
        """A step, and its loss."""
        size = dist.get_world_size()
        loss = loss_of(self.model, batch_of(self.step).chunk(size)[dist.get_rank()])
        self.optimizer.zero_grad()
        (loss * size).backward()
        loss = loss.detach().clone()
        dist.all_reduce(loss)
        self.optimizer.step()
        self.scheduler.step()
        self.step += 1
        return loss.item()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--pace", type=float, default=0.05)
    parser.add_argument("--timeout", type=float, default=40.0)
    parser.add_argument("--every", type=int, default=20)
    args = parser.parse_args()
    faulthandler.register(signal.SIGUSR1)
    # A forked worker has its agent's handler, which a call of Gloo's would hold up for 30 s.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    log = open(args.out / f"{os.getpid()}.jsonl", "w", buffering=1)

    def note(**fields) -> None:
        log.write(json.dumps({"time": time.time(), **fields}) + "\n")

    note(event="begin", host=os.environ["ETC_HOST"])
    timeout = datetime.timedelta(seconds=args.timeout)
    dist.init_process_group("gloo", timeout=timeout)
    place = {"rank": dist.get_rank(), "size": dist.get_world_size()}
    note(event="change")
    job = Job(args.out / "checkpoints")
    note(event="changed", version=job.step, **place)
    while job.step < args.steps:
        time.sleep(args.pace)
        loss = job.train()
        note(event="step", step=job.step - 1, loss=loss, **place)
        if job.step % args.every == 0:
            job.save()


if __name__ == "__main__":
    main()
