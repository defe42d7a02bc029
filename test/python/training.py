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
REQUEST = {"model": ranks.MODEL, "cluster": "1x8"}
OPTIONS = {"request": REQUEST, "patience": 8, "timeout": 60}
"""Of etc.recover."""


def plan_of(prev: str, curr: str | None = None) -> etc.Plan:
    return etc.plan(REQUEST, prev=prev, curr=curr or prev)


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
    return etc.Job(
        store, rank, plan=plan, state=state, version=step, host=HOST, **options
    )


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
