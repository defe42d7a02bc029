"""Runs a training script of Megatron-LM's on a machine without a GPU:

    PYTHONPATH=Megatron-LM torchrun --nproc-per-node=2 pretrain_on_host.py SCRIPT ARGUMENTS

What megatron.training asks of CUDA beyond what Megatron-Core does (on_host.py), the host answers. Left out: pinned
memory, the check for a captured CUDA graph, the warm-up of fused kernels and their compilation, and the device of a
process group; memory statistics are 0. Needs --distributed-backend gloo and --transformer-impl local.
"""

import os
import runpy
import sys
from typing import Any
from unittest import mock

import on_host
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def stand_in() -> None:
    on_host.stand_in()
    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.set_device = lambda *_: None
    cuda.is_current_stream_capturing = lambda: False
    for name in (
        "memory_allocated",
        "max_memory_allocated",
        "memory_reserved",
        "max_memory_reserved",
        "device_memory_used",
    ):
        setattr(cuda, name, lambda *_: 0)
    cuda.memory_stats = lambda *_: {}
    cuda.get_device_properties = lambda *_: mock.MagicMock(major=8, minor=0)
    cuda.get_device_capability = lambda *_: (8, 0)
    for name in ("_accelerator", "_cuda"):
        check = f"{name}_graph_capture_health_check"
        setattr(torch.optim.Optimizer, check, lambda self: None)
    DataLoader.__init__ = _without(DataLoader.__init__, pin_memory=False)
    dist.init_process_group = _without(dist.init_process_group, device_id=None)


def _without(function: Any, **given: Any) -> Any:
    """With other values for some arguments."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{**kwargs, **given})

    return call


def main() -> None:
    stand_in()
    torch.set_num_threads(1)
    from megatron.training import initialize, training

    initialize.set_jit_fusion_options = training.set_jit_fusion_options = lambda: None
    initialize._compile_dependencies = lambda: None
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "1")
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
