"""Three faults of PyTorch's FSDP2 on the CPU, mended as later releases have them, so that jobs of tests train as they
would on a GPU. run-in puts this folder in front of every Python that it starts with a PyTorch before 2.9. It touches
nothing of GPUs, and nothing of this project.
"""

import contextlib

import torch
import torch.distributed as dist
from torch.distributed.fsdp._fully_shard import _fsdp_param_group

# 2.6: the streams of the CPU, which do nothing, lack what FSDP2 calls.
for name in ("record_event", "wait_event"):
    if not hasattr(torch.cpu.Stream, name):
        setattr(torch.cpu.Stream, name, lambda *_: torch.cpu.Event())


def keeping_versions(copy_out):
    """2.6: autograd takes a parameter that is gathered again for the backward pass for one that was changed."""

    def run(gathered, parameters, group):
        with contextlib.ExitStack() as kept:
            for output in (t for p in parameters for t in p.all_gather_outputs):
                kept.enter_context(torch.autograd._unsafe_preserve_version_counter(output))
            copy_out(gathered, parameters, group)

    return run


def averaging(collective):
    """2.6 and 2.8: Gloo adds gradients up where FSDP2 asks for their average, or refuses to."""

    def run(output, *args, op=dist.ReduceOp.SUM, group=None, async_op=False, **named):
        if op != dist.ReduceOp.AVG or output.device.type != "cpu" or async_op:
            return collective(output, *args, op=op, group=group, async_op=async_op, **named)
        collective(output, *args, op=dist.ReduceOp.SUM, group=group, **named)
        output.div_(dist.get_world_size(group))
        return None

    return run


if torch.__version__ < (2, 7):
    _fsdp_param_group.foreach_all_gather_copy_out = keeping_versions(_fsdp_param_group.foreach_all_gather_copy_out)
dist.reduce_scatter_tensor = averaging(dist.reduce_scatter_tensor)
dist.all_reduce = averaging(dist.all_reduce)
