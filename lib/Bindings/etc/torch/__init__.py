"""PyTorch's own layouts: jobs of DTensors move from one DeviceMesh to another.

    import etc.torch
    etc.torch.move((model, optimizer), (new_model, new_optimizer))    # on every rank

FSDP2, HSDP, tensor parallelism and their products, pipeline stages of them, and plain
tensors that every rank has. See docs/torch.md.
"""

from etc.torch.begin import Tail, begin
from etc.torch.layout import Layout, layout
from etc.torch.move import move
from etc.torch.planning import plan
from etc.torch.world import Left, World
from etc.torch.world_change import Change

__all__ = [
    "Change",
    "Layout",
    "Left",
    "Tail",
    "World",
    "begin",
    "layout",
    "move",
    "plan",
]
