"""Processes of one checkpoint path: who holds what, and what is timed."""

from __future__ import annotations

import json
import multiprocessing
import os
import pathlib
import sys
import time
from collections.abc import Callable

WIDTH = {"bf16": 2, "fp16": 2, "fp32": 4, "fp64": 8, "i64": 8, "u8": 1}


class Process:
    """One device of a plan, and the folder of its checkpoint."""

    def __init__(self, plan: dict, folder: pathlib.Path, rank: int, barrier) -> None:
        self.plan, self.folder, self.rank = plan, folder, rank
        self.world = len(plan["devices"])
        self.device = plan["devices"][rank]
        self.barrier = barrier.wait

    def boxes(self, side: str) -> list[tuple[dict, list]]:
        """(tensor, box) of all that this device holds: "prev" or "curr"."""
        shards = [self.plan["shards"][index] for index in self.device[side]]
        return [
            (self.plan["tensors"][shard["tensor"]], box)
            for shard in shards
            for box in shard["boxes"]
        ]

    def first_holder(self, tensor: dict, box: list) -> bool:
        """Whether this device is the first with this box: replicas are saved once."""
        for device in self.plan["devices"][: self.rank]:
            for index in device["prev"]:
                shard = self.plan["shards"][index]
                if (
                    self.plan["tensors"][shard["tensor"]] is tensor
                    and box in shard["boxes"]
                ):
                    return False
        return True


def box_bytes(tensor: dict, box: list) -> int:
    size = WIDTH[tensor["dtype"]]
    for begin, end in box:
        size *= end - begin
    return size


def drop_cache(folder: pathlib.Path) -> None:
    """Forgets what the page cache has of the files, as far as the system obeys."""
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def measure(process: Process, save, load) -> None:
    """Times both between barriers; rank 0 prints the seconds."""
    process.barrier()
    begin = time.perf_counter()
    save()
    process.barrier()
    saved = time.perf_counter()
    if process.rank == 0:
        drop_cache(process.folder)
    process.barrier()
    reading = time.perf_counter()
    load()
    process.barrier()
    loaded = time.perf_counter()
    if process.rank == 0:
        seconds = {"save": saved - begin, "load": loaded - reading}
        print(json.dumps(seconds), flush=True)


def start_all(body: Callable[[Process], None]) -> None:
    """Forks a process a device, after imports: PLAN.json FOLDER."""
    path, folder = map(pathlib.Path, sys.argv[1:3])
    plan = json.loads(path.read_text())
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(len(plan["devices"]))
    processes = [
        context.Process(target=body, args=(Process(plan, folder, rank, barrier),))
        for rank in range(len(plan["devices"]))
    ]
    for process in processes:
        process.start()
    while any(process.is_alive() for process in processes):
        time.sleep(0.05)
        if any(process.exitcode for process in processes):
            for process in processes:
                process.kill()
    sys.exit(1 if any(process.exitcode for process in processes) else 0)
