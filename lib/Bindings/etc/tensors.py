"""The parts of PyTorch that ETC uses, for every version from 1.13 on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

# In the order of etc_dtype.
DTYPES = {
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp32": torch.float32,
    "fp64": torch.float64,
    "i64": torch.int64,
    "u8": torch.uint8,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def device_of(where: str | torch.device) -> torch.device:
    """A device of PyTorch's, "cuda" with the number of the current GPU."""
    device = torch.device(where)
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    return device


def dtype_number(name: str) -> int:
    """The etc_dtype of a name."""
    return list(DTYPES).index(name)


def register(handle: Any, tensors: Mapping[tuple[str, str], torch.Tensor]) -> None:
    """Tells a migration where its previous tensors are."""
    for (kind, name), tensor in tensors.items():
        handle.add(
            kind,
            name,
            dtype_number(NAMES[tensor.dtype]),
            tensor.data_ptr(),
            list(tensor.shape),
            list(tensor.stride()),
        )


def storage_of(tensor: torch.Tensor) -> Any:
    """The storage, as bytes."""
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage()
    return tensor.storage().untyped()


def owns_storage(tensor: torch.Tensor) -> bool:
    """Whether the storage holds this tensor and nothing else."""
    size = tensor.numel() * tensor.element_size()
    return tensor.storage_offset() == 0 and storage_of(tensor).nbytes() == size


def is_same_memory(a: object, b: torch.Tensor) -> bool:
    """Whether two names refer to the same tensor."""
    return (
        isinstance(a, torch.Tensor)
        and a.dtype == b.dtype
        and a.numel() == b.numel()
        and (b.numel() == 0 or a.data_ptr() == b.data_ptr())
    )


def has_memory(tensor: torch.Tensor) -> bool:
    """Whether the storage is as large as the tensor needs."""
    end = (tensor.storage_offset() + tensor.numel()) * tensor.element_size()
    return storage_of(tensor).nbytes() >= end


def free_storage(tensor: torch.Tensor) -> bool:
    """Frees the memory at once, even if there are references to the tensor.

    Returns False, and does nothing, if the storage is shared with other
    tensors or is not PyTorch's to free.
    """
    if not owns_storage(tensor):
        return False
    try:
        storage_of(tensor).resize_(0)
    except RuntimeError:
        return False
    return True
