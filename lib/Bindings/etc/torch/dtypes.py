"""Every dtype of PyTorch's, and the one of a plan's that carries its bits."""

from __future__ import annotations

import torch

from etc.tensors import DTYPES, NAMES

# The dtypes of a plan that no arithmetic is done in, by size.
_CARRIERS = {1: torch.uint8, 2: torch.float16, 4: torch.float32, 8: torch.int64}


def name_of(dtype: torch.dtype) -> str:
    """As types of a plan have it: "bf16", "bool"."""
    return NAMES.get(dtype, str(dtype).removeprefix("torch."))


def named(name: str) -> torch.dtype:
    """The dtype of a name."""
    return DTYPES[name] if name in DTYPES else getattr(torch, name)


def carrier(label: str, dtype: torch.dtype) -> torch.dtype:
    """The dtype as which a tensor is moved: its own, or one of its size."""
    if dtype in NAMES:
        return dtype
    if dtype.itemsize not in _CARRIERS:
        raise ValueError(
            f"{label}: is {dtype}, which no plan has; use torch.view_as_real"
        )
    return _CARRIERS[dtype.itemsize]
