"""One stage of the model, on one tensor-parallel rank.

Weights come as a mapping from names to fp32 tensors. The state has them in bf16, as
mixed-precision training does; arithmetic is fp32, so that what two ways of summing
differ by is fp32's rounding and not bf16's.
"""

from __future__ import annotations

from typing import Mapping, Optional

import torch
import torch.distributed as dist
import torch.nn.functional as F

from .config import Model
from .groups import Group, Place
from .tensors import stage_layers

Weights = Mapping[str, torch.Tensor]


class EnterParallel(torch.autograd.Function):
    """Megatron's f: what every rank has alike is about to be used by each in part."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, group: Group) -> torch.Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        return ctx.group.all_reduce(gradient.contiguous().clone()), None


class LeaveParallel(torch.autograd.Function):
    """Megatron's g: the sum of what each rank has a part of."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, group: Group) -> torch.Tensor:
        return group.all_reduce(x.contiguous().clone())

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        return gradient, None


def enter(x: torch.Tensor, group: Optional[Group]) -> torch.Tensor:
    return EnterParallel.apply(x, group) if group else x


def leave(x: torch.Tensor, group: Optional[Group]) -> torch.Tensor:
    return LeaveParallel.apply(x, group) if group else x


def rows_of(group: Optional[Group], index: torch.Tensor, rows: int):
    """Indices into this rank's rows of the vocabulary, and which of them it has."""
    index = index - (group.rank if group else 0) * rows
    mine = (index >= 0) & (index < rows)
    return index.clamp(0, rows - 1), mine


class Stage:
    def __init__(self, model: Model, place: Place):
        self.model, self.place, self.group = model, place, place.tensor
        self.layers = stage_layers(model, place.parallel, place.role.pipeline)
        self.heads = model.heads // place.parallel.tp
        ones = torch.ones(model.seq, model.seq, dtype=torch.bool, device=place.memory)
        self.future = ones.triu(1)

    def __call__(self, weights: Weights, x: torch.Tensor,
                 targets: Optional[torch.Tensor]) -> torch.Tensor:
        """Tokens or activations in, activations [batch, seq, hidden] or loss out."""
        if self.place.first_stage:
            x = self.embed(weights, x)
        for number in self.layers:
            x = self.layer(weights, f"decoder.layers.{number}.", x)
        return self.loss(weights, x, targets) if self.place.last_stage else x

    def embed(self, w: Weights, tokens: torch.Tensor) -> torch.Tensor:
        words = w["embedding.word_embeddings.weight"]
        index, mine = rows_of(self.group, tokens, len(words))
        x = leave(F.embedding(index, words) * mine.unsqueeze(-1), self.group)
        return x + w["embedding.position_embeddings.weight"]

    def norm(self, w: Weights, name: str, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"])

    def layer(self, w: Weights, name: str, x: torch.Tensor) -> torch.Tensor:
        y = enter(self.norm(w, name + "input_layernorm", x), self.group)
        y = self.attention(w, name + "self_attention.linear_", y)
        x = x + leave(y, self.group) + w[name + "self_attention.linear_proj.bias"]
        y = enter(self.norm(w, name + "pre_mlp_layernorm", x), self.group)
        name += "mlp.linear_"
        y = F.gelu(F.linear(y, w[name + "fc1.weight"], w[name + "fc1.bias"]))
        y = F.linear(y, w[name + "fc2.weight"])
        return x + leave(y, self.group) + w[name + "fc2.bias"]

    def attention(self, w: Weights, name: str, x: torch.Tensor) -> torch.Tensor:
        """Rows of QKV are grouped by head, so that a cut leaves heads whole."""
        qkv = F.linear(x, w[name + "qkv.weight"], w[name + "qkv.bias"])
        batch, seq, _ = x.shape
        q, k, v = qkv.view(batch, seq, self.heads, -1).transpose(1, 2).chunk(3, -1)
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        scores = scores.masked_fill(self.future, float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, seq, -1)
        return F.linear(y, w[name + "proj.weight"])

    def loss(self, w: Weights, x: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Mean cross entropy over a vocabulary of which every rank has some rows."""
        x = enter(self.norm(w, "decoder.final_layernorm", x), self.group)
        logits = F.linear(x, w["output_layer.weight"])
        largest = logits.detach().max(-1).values
        if self.group:
            self.group.all_reduce(largest, dist.ReduceOp.MAX)
        logits = logits - largest.unsqueeze(-1)
        index, mine = rows_of(self.group, targets, logits.shape[-1])
        picked = logits.gather(-1, index.unsqueeze(-1)).squeeze(-1) * mine
        total = leave(logits.exp().sum(-1), self.group)
        return (total.log() - leave(picked, self.group)).mean()
