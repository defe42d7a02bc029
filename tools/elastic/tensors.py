"""The tensors of the model: global names and shapes, who has which shard of them,
and what they start from. Names, order and cuts are Megatron-Core's."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

import torch

from .config import Model, Parallel, Role

#: State by type ("param", "master", "exp_avg", "exp_avg_sq"), then by tensor name.
State = Dict[str, Dict[str, torch.Tensor]]

TYPES = {"param": torch.bfloat16, "master": torch.float32,
         "exp_avg": torch.float32, "exp_avg_sq": torch.float32}


@dataclass(frozen=True)
class Tensor:
    """A global tensor; `split` is the axis that tensor parallelism cuts."""

    name: str
    shape: tuple
    split: Optional[int] = None
    spread: float = 0.0  # of the normal distribution it starts from
    value: float = 0.0  # what it starts from where there is no spread

    def box(self, tp: int, rank: int) -> List[List[int]]:
        """Half-open ranges, one an axis."""
        box = [[0, size] for size in self.shape]
        if self.split is not None:
            part = self.shape[self.split] // tp
            box[self.split] = [rank * part, (rank + 1) * part]
        return box

    def start(self, seed: int) -> torch.Tensor:
        """The whole tensor at iteration 0; its name alone seeds it."""
        if not self.spread:
            return torch.full(self.shape, self.value)
        generator = torch.Generator().manual_seed(seed ^ zlib.crc32(self.name.encode()))
        return torch.randn(self.shape, generator=generator) * self.spread


def layer_tensors(model: Model, number: int) -> List[Tensor]:
    h, f = model.hidden, model.ffn
    inner, outer = 0.02, 0.02 / (2 * model.layers) ** 0.5
    rows: List[Tuple[Any, ...]] = [
        ("input_layernorm.weight", (h,), None, 0.0, 1.0),
        ("input_layernorm.bias", (h,)),
        ("self_attention.linear_proj.weight", (h, h), 1, outer),
        ("self_attention.linear_proj.bias", (h,)),
        ("self_attention.linear_qkv.weight", (3 * h, h), 0, inner),
        ("self_attention.linear_qkv.bias", (3 * h,), 0),
        ("pre_mlp_layernorm.weight", (h,), None, 0.0, 1.0),
        ("pre_mlp_layernorm.bias", (h,)),
        ("mlp.linear_fc1.weight", (f, h), 0, inner),
        ("mlp.linear_fc1.bias", (f,), 0),
        ("mlp.linear_fc2.weight", (h, f), 1, outer),
        ("mlp.linear_fc2.bias", (h,)),
    ]
    return [Tensor(f"decoder.layers.{number}.{name}", *rest) for name, *rest in rows]


def stage_layers(model: Model, parallel: Parallel, pipeline: int) -> range:
    depth = model.layers // parallel.pp
    return range(pipeline * depth, (pipeline + 1) * depth)


def stage_tensors(model: Model, parallel: Parallel, pipeline: int) -> List[Tensor]:
    h, rows = model.hidden, []
    if pipeline == 0:
        rows += [Tensor("embedding.word_embeddings.weight", (model.vocab, h), 0, 0.02),
                 Tensor("embedding.position_embeddings.weight", (model.seq, h),
                        None, 0.02)]
    for number in stage_layers(model, parallel, pipeline):
        rows += layer_tensors(model, number)
    if pipeline == parallel.pp - 1:
        rows += [Tensor("decoder.final_layernorm.weight", (h,), None, 0.0, 1.0),
                 Tensor("decoder.final_layernorm.bias", (h,)),
                 Tensor("output_layer.weight", (model.vocab, h), 0, 0.02)]
    return rows


def first_state(model: Model, parallel: Parallel, role: Role, seed: int,
                memory: torch.device = torch.device("cpu")) -> State:
    """What a role holds at iteration 0: shards of one and the same global state."""
    state: State = {kind: {} for kind in TYPES}
    for tensor in stage_tensors(model, parallel, role.pipeline):
        box = tensor.box(parallel.tp, role.tensor)
        shard = tensor.start(seed)[tuple(slice(*ends) for ends in box)]
        state["master"][tensor.name] = shard.clone(
            memory_format=torch.contiguous_format).to(memory)
        state["param"][tensor.name] = state["master"][tensor.name].to(TYPES["param"])
        for kind in ("exp_avg", "exp_avg_sq"):
            state[kind][tensor.name] = torch.zeros_like(state["master"][tensor.name])
    return state
