"""Processes that migrate together, and states that say where they belong."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import tempfile
import time
import traceback
from queue import Empty
from typing import Any, Callable

MODEL = {
    "family": "gpt",
    "layers": 4,
    "hidden": 32,
    "heads": 4,
    "vocab": 512,
    "seq": 32,
}


def run(count: int, body: Callable[..., Any], *args: Any, timeout: float = 120) -> list:
    """body(rank, store, *args) in `count` processes; their results in order.

    A result is what the body returned, or the exception that it raised.
    """
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as directory:
        queues = [context.Queue() for _ in range(count)]
        path = os.path.join(directory, "store")
        processes = [
            context.Process(
                target=_child, args=(rank, count, path, queues[rank], body, args)
            )
            for rank in range(count)
        ]
        for process in processes:
            process.start()
        try:
            return [
                _result(queue, process, timeout)
                for queue, process in zip(queues, processes)
            ]
        finally:
            for process in processes:
                process.join(10)
                process.kill()


def take_gpu(rank: int, world: int) -> None:
    """One of this machine's, for this process. NCCL refuses two ranks of a host on one
    GPU: where there are more ranks, each is a host of its own, over sockets."""
    import torch

    gpus = torch.cuda.device_count()
    if world > gpus:
        os.environ["NCCL_HOSTID"] = f"rank-{rank}"
        os.environ["NCCL_NET"] = "Socket"
        os.environ["NCCL_SOCKET_IFNAME"] = "lo"
    torch.cuda.set_device(rank % gpus)


def _result(queue, process, timeout):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            return queue.get(timeout=0.5)
        except Empty:
            if not process.is_alive() and queue.empty():
                return RuntimeError(f"the process ended with {process.exitcode}")
    return RuntimeError(f"no result within {timeout} s")


def _child(rank, count, path, queue, body, args):
    import torch.distributed as dist

    try:
        queue.put(body(rank, dist.FileStore(path, count), *args))
    except Exception as error:
        queue.put(_portable(error))
    queue.close()
    queue.join_thread()
    os._exit(0)  # not through the parent's test runner


def _portable(error):
    """What the parent can raise: it shows where the child raised it."""
    trace = traceback.format_exc()
    try:
        copy = type(error)(*error.args)
        copy.add_note(trace)
        return pickle.loads(pickle.dumps(copy))
    except Exception:
        return RuntimeError(trace)


def must(results: list) -> list:
    """The results, none of which is an exception."""
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


def wait_for_all(store: Any, what: str, rank: int, count: int) -> None:
    """Until each rank has come to `what`. Who fails while others still prepare, or are
    still in the pause, ends that for them, too, and not only what they do next."""
    store.set(f"{what}/{rank}", "")
    store.wait([f"{what}/{other}" for other in range(count)])


def value(name: str, spec: Any) -> Any:
    """A shard whose every element is a number of its place in the whole tensor, small
    enough to be exact in every dtype."""
    import torch
    from etc.tensors import DTYPES

    # A tied copy has the contents of what it is a copy of.
    name = name.replace("output_layer.weight", "embedding.word_embeddings.weight")
    parts = []
    for box in spec.boxes:
        place = torch.full((), len(name), dtype=torch.int64)
        for (begin, end), extent in zip(box, spec.global_shape):
            place = place.unsqueeze(-1) * extent + torch.arange(begin, end)
        parts.append((place % 251).flatten())
    return torch.cat(parts).to(DTYPES[spec.dtype]).reshape(spec.shape)


def make(tensors: Any) -> dict:
    """The state that `plan.prev_tensors(device)` or `curr_tensors` describes."""
    return {
        kind: {name: value(name, spec) for name, spec in group.items()}
        for kind, group in tensors.items()
    }


def differences(state: dict, expected: dict) -> list:
    """The (type, name) of what is missing, too much or not equal."""
    import torch

    keys = {(kind, name) for s in (state, expected) for kind in s for name in s[kind]}
    return [
        (kind, name)
        for kind, name in sorted(keys)
        if name not in state.get(kind, {})
        or name not in expected.get(kind, {})
        or not torch.equal(state[kind][name].cpu(), expected[kind][name].cpu())
    ]
