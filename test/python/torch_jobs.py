"""A small model under FSDP2, tensor parallelism and in stages, on real processes: over Gloo, or, with
ETC_TORCH_DEVICE=cuda, on GPUs over NCCL."""

from __future__ import annotations

import datetime
import os
from typing import Any

import ranks
import torch
import torch.distributed as dist
import torch_pipeline as pipeline
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

DEVICE = os.environ.get("ETC_TORCH_DEVICE", "cpu")
# Rows that do not divide over four, or two, ranks.
# Uneven rows of tensor parallelism under FSDP2: torch 2.6 rejects them, and full_tensor of 2.8 gives others.
INNER = 24 if torch.__version__ < (2, 9) else 28
WIDTH, OUT, BATCH = 13, 5, 24


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, INNER)
        self.down = torch.nn.Linear(INNER, WIDTH, bias=False)
        self.register_buffer("scale", torch.full((1,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.scale * self.down(torch.relu(self.up(self.norm(x))))


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleDict({str(i): Block() for i in range(3)})
        self.head = torch.nn.Linear(WIDTH, OUT)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks.values():
            x = block(x)
        return self.head(x)


def join(rank: int, store: Any, world: int) -> None:
    os.environ["ETC_HOST"] = "127.0.0.1"
    if DEVICE == "cuda":
        ranks.take_gpu(rank, world)
    # Half of the machine may be another test's.
    limit = datetime.timedelta(seconds=100)
    backend = "nccl" if DEVICE == "cuda" else "gloo"
    dist.init_process_group(
        backend, store=store, rank=rank, world_size=world, timeout=limit
    )


def make_mesh(ranks: Any, *names: str) -> DeviceMesh:
    return DeviceMesh(DEVICE, ranks, mesh_dim_names=names)


def build(mesh: DeviceMesh | None, device: str | None = None) -> Model:
    """The model of one seed, sharded over the mesh dimensions "fsdp" and "tp", with
    replicas over "replicate"; one stage of it where there is "pp"."""
    device = device or (DEVICE if mesh else "cpu")
    torch.manual_seed(7)  # numbers of the host's, on any device
    with torch.device("meta" if device == "meta" else "cpu"):
        model = Model().to(device)
    if mesh is None:
        return model
    if "pp" in mesh.mesh_dim_names:
        pipeline.keep_stage(model, mesh)
    if "tp" in mesh.mesh_dim_names:
        for block in model.blocks.values():
            plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
            parallelize_module(block, mesh["tp"], plan)
    data = data_mesh(mesh)
    for block in model.blocks.values():
        fully_shard(block, mesh=data)
    fully_shard(model, mesh=data)
    return model


def data_mesh(mesh: DeviceMesh) -> DeviceMesh:
    """Its dimensions over which ranks see different data, in the mesh's order."""
    names = tuple(name for name in mesh.mesh_dim_names if name not in ("tp", "pp"))
    return mesh if mesh.mesh_dim_names == names else mesh[names]


def make_optimizer(model: Model, lr: float = 0.05) -> torch.optim.Optimizer:
    kept = [p for name, p in model.named_parameters() if "norm" not in name]
    rest = [p for name, p in model.named_parameters() if "norm" in name]
    return torch.optim.AdamW(
        [{"params": kept}, {"params": rest, "weight_decay": 0.0}], lr=lr
    )


def train(model: Model, optimizer: Any, step: int, mesh: DeviceMesh | None) -> float:
    """The loss of one step over a batch that data-parallel ranks share."""
    generator = torch.Generator().manual_seed(step)
    batch = torch.randn(BATCH, WIDTH, generator=generator)
    wanted = torch.randn(BATCH, OUT, generator=generator)
    where = next(model.parameters()).device
    batch, wanted = batch.to(where), wanted.to(where)
    if mesh is not None:
        data = data_mesh(mesh)
        at = 0
        for index, size in zip(data.get_coordinate(), data.shape):
            at = at * size + index
        batch, wanted = batch.chunk(data.size())[at], wanted.chunk(data.size())[at]
    optimizer.zero_grad()
    in_stages = mesh if mesh and "pp" in mesh.mesh_dim_names else None
    if in_stages:
        loss = pipeline.accumulate(model, batch, wanted, in_stages)
    else:
        loss = torch.nn.functional.mse_loss(model(batch), wanted)
        loss.backward()
    optimizer.step()
    loss = loss.detach().clone()
    if in_stages:
        dist.all_reduce(loss, group=in_stages["pp"].get_group())
    if mesh is not None:
        for group in data.get_all_groups():
            dist.all_reduce(loss, group=group)
        loss /= data.size()
    return loss.item()


def uninterrupted(steps: int) -> list[float]:
    """The losses of the same job in one process. It is another one: processes can't be
    forked from one that has used a GPU, and autograd uses all that there are."""
    return ranks.must(ranks.run(1, _uninterrupted, steps))[0]


def _uninterrupted(rank: int, store: Any, steps: int) -> list[float]:
    model = build(None)
    optimizer = make_optimizer(model)
    return [train(model, optimizer, step, None) for step in range(steps)]


def gathered(model: Model | None, optimizer: Any = None) -> dict[str, torch.Tensor]:
    """Every tensor as a whole copy; steps and learning rates as well."""
    if model is None:
        return {}
    found = {}
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        found[name] = whole(tensor)
    if optimizer is None:
        return found
    names = {id(p): name for name, p in model.named_parameters()}
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            name = names[id(parameter)]
            found[f"{name} lr"] = torch.tensor([group["lr"], group["weight_decay"]])
            for kind, value in optimizer.state[parameter].items():
                found[f"{name} {kind}"] = whole(value)
    return found


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """A copy on the host."""
    full = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return full.detach().clone().cpu()


def unequal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> list[str]:
    """The names of what is not the same, bit for bit."""
    names = [*a, *(name for name in b if name not in a)]
    return [
        name
        for name in names
        if name not in a or name not in b or not torch.equal(a[name], b[name])
    ]


def local_parts(model: Model | None, optimizer: Any = None) -> dict[str, torch.Tensor]:
    """What this rank itself has, of the model and the optimizer's states."""
    if model is None:
        return {}
    found = {
        name: getattr(tensor, "_local_tensor", tensor).detach().clone()
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]
    }
    states = [] if optimizer is None else optimizer.state.values()
    for number, state in enumerate(states):
        for kind, value in state.items():
            part = getattr(value, "_local_tensor", value)
            found[f"{number} {kind}"] = part.detach().clone()
    return found
