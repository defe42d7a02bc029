"""A training job in miniature: state that says which step it is of."""

from __future__ import annotations

import json
import os
import signal
import struct
import zlib
from typing import Any

import etc
import ranks

HOST = "127.0.0.1"
GPU: Any = None
"""Of this process, where state is on GPUs (gpu_doubles.py)."""
REQUEST = {"model": ranks.MODEL, "cluster": "1x8"}
OPTIONS = {"request": REQUEST, "patience": 8, "timeout": 60}
"""Of etc.recover."""


def plan_of(prev: str, curr: str | None = None) -> etc.Plan:
    return etc.plan(REQUEST, prev=prev, curr=curr or prev)


def take_gpu(rank: int) -> None:
    """From here on the state of this process is on a GPU."""
    global GPU
    import etc.tensors
    from gpu_doubles import gpu_of

    GPU = gpu_of(rank)
    GPU.stands_in().__enter__()
    etc.tensors.free_storage = GPU.free


def memory() -> Any:
    """Where the state of this process is, as PyTorch says it."""
    return GPU.device if GPU else "cpu"


def misuse() -> list[str]:
    """What the doubles of CUDA and NCCL have found."""
    found = GPU.misuse() if GPU else ""
    return [found] if found else []


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def value(name: str, spec: Any, step: int) -> Any:
    """A shard whose every element is a number of its place in the whole tensor, of the
    tensor's name and of the step, small enough to be exact in every dtype."""
    import torch
    from etc.tensors import DTYPES

    # A tied copy has the contents of what it is a copy of.
    name = name.replace("output_layer.weight", "embedding.word_embeddings.weight")
    parts = []
    for box in spec.boxes:
        place = torch.full((), zlib.crc32(name.encode()) % 251, dtype=torch.int64)
        for (begin, end), extent in zip(box, spec.global_shape):
            place = place.unsqueeze(-1) * extent + torch.arange(begin, end)
        parts.append(((place + 17 * step) % 251).flatten())
    return torch.cat(parts).to(DTYPES[spec.dtype]).reshape(spec.shape)


def make(tensors: Any, step: int) -> dict:
    """The state that `tensors` describes, of a step."""
    return {
        kind: {name: value(name, spec, step) for name, spec in group.items()}
        for kind, group in tensors.items()
    }


def start(rank: int, store: Any, plan: Any, step: int = 0, **options: Any) -> Any:
    """The job of a process that has its part of the plan's state, on its side."""
    specs = plan.curr_tensors(rank)
    state = make(specs, step)
    if GPU:
        for group in state.values():
            group.update({name: GPU.copy(tensor) for name, tensor in group.items()})
    options = {"host": HOST, "memory": memory(), "version": step, **options}
    return etc.Job(store, rank, plan=plan, state=state, **options)


def join(rank: int, store: Any) -> Any:
    """The job of a process that holds nothing yet."""
    return etc.Job(store, rank, host=HOST, memory=memory())


def train(job: Any) -> None:
    """A step: every tensor is written in place. Without state it is counted."""
    if not job.state:
        with job.step():
            return
    new = make(job.plan.curr_tensors(job.device), job.version + 1)
    with job.step():
        for kind, group in job.state.items():
            for name, tensor in group.items():
                tensor.copy_(new[kind][name])


def wrong(job: Any) -> list:
    """What of a job's state is not what its step makes it; [] if all is right."""
    if job.plan is None:
        return ["no plan"] if job.state else []
    specs = job.plan.curr_tensors(job.device) if job.state else {}
    return ranks.differences(job.state, make(specs, job.version))


def save(step: int, directory: str) -> None:
    """A checkpoint of whole tensors, a file of each type."""
    import torch

    whole = etc.plan(REQUEST, prev="PP1", curr="PP1")
    names = {"bf16": "BF16", "fp32": "F32", "fp16": "F16"}
    for kind, group in whole.curr_tensors(whole.participants[0]).items():
        header, data = {}, b""
        for name, spec in group.items():
            raw = value(name, spec, step).view(torch.uint8)
            content = raw.numpy().tobytes()
            header[name] = {
                "dtype": names[spec.dtype],
                "shape": list(spec.shape),
                "data_offsets": [len(data), len(data) + len(content)],
            }
            data += content
        text = json.dumps(header).encode()
        with open(os.path.join(directory, f"{kind}.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + data)
