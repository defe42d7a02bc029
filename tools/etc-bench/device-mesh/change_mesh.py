"""One change of a job's device mesh, by ETC and by torch.distributed.checkpoint.

change_mesh.py CASE WIDTH WAYS: prints JSON with the seconds of each way, the bytes of the state and
the lines that a user writes. Both ways start from a trained model and end with the new one ready to train.
"""

import gc
import inspect
import json
import math
import multiprocessing
import sys
import tempfile
import time
import warnings
from typing import Any

import etc.torch
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

# {name: (sizes of the mesh before, after)}; two are FSDP and tensor parallelism.
CASES = {
    "FSDP8 -> FSDP6": ((8,), (6,)),
    "TP2FSDP4 -> TP2FSDP3": ((4, 2), (3, 2)),
}


class Layer(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(x)))


def make_mesh(sizes: tuple[int, ...]) -> DeviceMesh:
    ranks = torch.arange(math.prod(sizes)).view(sizes)
    return DeviceMesh("cpu", ranks, mesh_dim_names=("fsdp", "tp")[: len(sizes)])


def build(mesh: DeviceMesh, width: int, device: str) -> tuple[Any, Any]:
    with torch.device(device):
        model = torch.nn.Sequential(*(Layer(width) for _ in range(8)))
    for layer in model:
        if "tp" in mesh.mesh_dim_names:
            plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
            parallelize_module(layer, mesh["tp"], plan)
        fully_shard(layer, mesh=mesh["fsdp"])
    return model, torch.optim.AdamW(model.parameters(), lr=0.001)


# What a user writes for a change; `lines_of` counts it.


def by_etc(job: Any, sizes: tuple[int, ...], width: int, folder: str) -> Any:
    mesh = make_mesh(sizes)
    after = build(mesh, width, "meta") if mesh.get_coordinate() else None
    etc.torch.move(job, after)
    return after


def by_checkpoint(job: Any, sizes: tuple[int, ...], width: int, folder: str) -> Any:
    flat = StateDictOptions(flatten_optimizer_state_dict=True)
    model_state, optimizer_state = get_state_dict(*job, options=flat)
    state = {"model": model_state, "optimizer": optimizer_state}
    dcp.save(state, checkpoint_id=folder)
    del job, state, model_state, optimizer_state
    mesh = make_mesh(sizes)
    group = dist.new_group(mesh.mesh.flatten().tolist())
    if not mesh.get_coordinate():
        return None
    after = build(mesh, width, "cpu")
    model_state, optimizer_state = get_state_dict(*after, options=flat)
    state = {"model": model_state, "optimizer": optimizer_state}
    dcp.load(state, checkpoint_id=folder, process_group=group)
    set_state_dict(
        *after,
        model_state_dict=state["model"],
        optim_state_dict=state["optimizer"],
        options=flat,
    )
    return after


WAYS = {"etc": by_etc, "checkpoint": by_checkpoint}


def lines_of(way: Any) -> int:
    """Of the body: neither the signature nor the return is of the change."""
    return len(inspect.getsource(way).strip().splitlines()) - 2


def train(job: Any, width: int) -> None:
    model, optimizer = job
    model(torch.ones(1, width)).sum().backward()
    optimizer.step()


def change(rank: int, way: str, case: str, width: int, folder: str, out: Any) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    prev, curr = CASES[case]
    world = math.prod(prev)
    store = dist.FileStore(f"{folder}/store", world)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    job = build(make_mesh(prev), width, "cpu")
    train(job, width)
    jobs = [job]
    del job
    dist.barrier()
    begin = time.monotonic()
    after = WAYS[way](jobs.pop(), curr, width, f"{folder}/files")
    dist.barrier()
    seconds = time.monotonic() - begin
    if after:
        train(after, width)
    dist.barrier()
    if rank == 0:
        out.put(seconds)
        out.close()
        out.join_thread()
    dist.destroy_process_group()


def measure(way: str, case: str, width: int) -> float:
    """Seconds of one change, in processes of its own."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with tempfile.TemporaryDirectory(prefix="etc-bench-", dir="/dev/shm") as folder:
        processes = [
            context.Process(target=change, args=(r, way, case, width, folder, queue))
            for r in range(math.prod(CASES[case][0]))
        ]
        for process in processes:
            process.start()
        seconds = queue.get(timeout=300)
        for process in processes:
            process.join()
        if any(process.exitcode for process in processes):
            raise SystemExit(f"{way}, {case}: a rank failed")
    return seconds


def main() -> None:
    case, width, ways = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(",")
    parameters = sum(p.numel() for p in torch.nn.Sequential(Layer(width)).parameters())
    result: dict[str, Any] = {"torch": torch.__version__, "bytes": 8 * parameters * 12}
    result["lines"] = {name: lines_of(way) for name, way in WAYS.items()}
    gc.collect()
    gc.freeze()  # or a collection in a rank copies all pages that ranks share
    result["seconds"] = {way: measure(way, case, width) for way in ways}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
