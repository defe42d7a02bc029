"""Modules of Megatron-Core's that need a GPU or Transformer Engine, with the same parameters, on the host."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.dist_checkpointing.mapping import ShardedTensor
from megatron.core.models import backends
from megatron.core.models.gpt import gpt_layer_specs
from megatron.core.transformer import torch_norm
from megatron.core.transformer.dot_product_attention import DotProductAttention
from megatron.core.transformer.moe import grouped_gemm_util


def multiply(rows: Any, matrices: Any, counts: Any, trans_b: bool) -> Any:
    """grouped_gemm's: the rows of each expert times its matrix."""
    parts = rows.split(counts.tolist())
    return torch.cat([part @ matrix for part, matrix in zip(parts, matrices)])


class GroupedLinear(torch.nn.Module):
    """weight0, weight1, ... of shape (out, in), as Transformer Engine has them."""

    def __init__(self, count: int, ins: int, outs: int, config: Any) -> None:
        super().__init__()
        self.num_gemms, self.config = count, config
        for index in range(count):
            weight = torch.empty(outs, ins, dtype=config.params_dtype)
            config.init_method(weight)
            weight = torch.nn.Parameter(weight)
            weight.allreduce = config.expert_model_parallel_size == 1
            self.register_parameter(f"weight{index}", weight)

    def forward(self, parts: Any) -> Any:
        weights = [getattr(self, f"weight{i}") for i in range(self.num_gemms)]
        return [part @ weight.t() for part, weight in zip(parts, weights)]


class TEColumnParallelGroupedLinear(GroupedLinear):
    pass


class TERowParallelGroupedLinear(GroupedLinear):
    pass


class TEGroupedMLP(torch.nn.Module):
    """Silu of the gate times up, then down."""

    def __init__(self, count: int, config: Any, **_: Any) -> None:
        super().__init__()
        self.num_local_experts, self.config = count, config
        hidden, inner = config.hidden_size, config.moe_ffn_hidden_size
        self.linear_fc1 = TEColumnParallelGroupedLinear(
            count, hidden, 2 * inner, config
        )
        self.linear_fc2 = TERowParallelGroupedLinear(count, inner, hidden, config)

    def forward(self, rows: Any, counts: Any, probs: Any) -> Any:
        sizes = counts.tolist()
        inner = []
        for part, prob in zip(self.linear_fc1(rows.split(sizes)), probs.split(sizes)):
            gate, up = part.chunk(2, -1)
            made = torch.nn.functional.silu(gate) * up * prob.unsqueeze(-1)
            inner.append(made.to(rows.dtype))
        return torch.cat(self.linear_fc2(inner)), None

    def sharded_state_dict(
        self, prefix: str = "", sharded_offsets: Any = (), metadata: Any = None
    ) -> dict[str, Any]:
        """By the number of the expert in the whole layer."""
        first = parallel_state.get_expert_model_parallel_rank() * self.num_local_experts
        replica = parallel_state.get_expert_data_parallel_rank()
        return {
            f"{prefix}{name}.weight{index}": ShardedTensor.from_rank_offsets(
                f"{prefix}{name}.weight{first + index}",
                getattr(linear, f"weight{index}"),
                *sharded_offsets,
                replica_id=(0, 0, replica),
                prepend_axis_num=len(sharded_offsets),
            )
            for name, linear in self.named_children()
            for index in range(self.num_local_experts)
        }


class Norm:
    """PyTorch's, whose gradients are summed over tensor ranks as sequence parallelism needs it."""

    def __new__(cls, config: Any, hidden_size: int, eps: float = 1e-5, **_: Any) -> Any:
        norm = torch.nn.LayerNorm(hidden_size, eps)
        for parameter in norm.parameters():
            parameter.sequence_parallel = config.sequence_parallel
        return norm


class Gathered(torch.autograd.Function):
    """The parts of all ranks of a group, one after the other."""

    @staticmethod
    def forward(ctx: Any, part: Any, group: Any) -> Any:
        ctx.group = group
        parts = [torch.empty_like(part) for _ in range(group.size())]
        dist.all_gather(parts, part.contiguous(), group=group)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        total = grads[0].contiguous()
        dist.all_reduce(total, group=ctx.group)
        return total.chunk(ctx.group.size())[ctx.group.rank()], None


class RingAttention(DotProductAttention):
    """Each context-parallel rank has queries of its own, and all keys and values."""

    def __init__(self, config: Any, *args: Any, **kwargs: Any) -> None:
        size, config.context_parallel_size = config.context_parallel_size, 1
        try:
            super().__init__(config, *args, **kwargs)
        finally:
            config.context_parallel_size = size

    def forward(self, query: Any, key: Any, value: Any, mask: Any, *a: Any, **k: Any):
        group = parallel_state.get_context_parallel_group()
        if group.size() > 1:
            key, value = (Gathered.apply(part, group) for part in (key, value))
            count = len(query)
            places = torch.cat([places_of(count, r) for r in range(group.size())])
            mine = places_of(count, group.rank())
            mask = (places[None] > mine[:, None])[None, None]
        return super().forward(query, key, value, mask, *a, **k)


def places_of(count: int, rank: int) -> torch.Tensor:
    """The positions that a context-parallel rank has: one chunk of the front, one of the back."""
    half = count // 2
    chunks = 2 * parallel_state.get_context_parallel_world_size()
    first, second = rank * half, (chunks - 1 - rank) * half
    return torch.cat([torch.arange(at, at + half) for at in (first, second)])


def stand_in() -> None:
    """From here on, in this process."""
    grouped_gemm_util.grouped_gemm = grouped_gemm_util
    grouped_gemm_util.ops = SimpleNamespace(gmm=multiply)
    for module in (backends, gpt_layer_specs):
        module.LNImpl = Norm
    torch_norm.WrappedTorchNorm = backends.WrappedTorchNorm = Norm
    local = backends.LocalSpecProvider
    local.core_attention = lambda self: RingAttention
    local.grouped_mlp_modules = _grouped(local.grouped_mlp_modules)
    gpt_layer_specs.DotProductAttention = RingAttention


def _grouped(plain: Any) -> Any:
    def modules(self: Any, grouped: bool, legacy: bool) -> Any:
        if grouped and not legacy:
            return TEGroupedMLP, None
        return plain(self, grouped, legacy)

    return modules
