"""PyTorch's tensors in the memory of GPUs that are doubles (test/doubles).

PyTorch needs no CUDA for it: a tensor is a host tensor whose memory the double of the
driver gave, and which host code may touch (ETC_DOUBLE_HOST_ACCESS). ETC gets its
address, as it gets a CUDA tensor's, and moves the bytes over the double of NCCL.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import tempfile
import unittest
from typing import Any
from unittest import mock

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

LIBRARIES = os.environ.get("ETC_DOUBLES", "")
GPUS = 8
IS_REAL = os.environ.get("ETC_TORCH_DEVICE") == "cuda"


class GpuTensor(torch.Tensor):
    """One that says it is on a GPU: the one of this process."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    where = torch.device("cuda:0")
    device = property(lambda self: self.where)


class Gpu:
    """A GPU of this process, as PyTorch would use it."""

    def __init__(self, ordinal: int) -> None:
        self.driver = ctypes.CDLL(os.environ["ETC_CUDA_DRIVER"])
        context = ctypes.c_void_p()
        self._check(self.driver.cuInit(0))
        self._check(
            self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), ordinal)
        )
        self.context = context
        self.device = torch.device("cuda", ordinal)
        GpuTensor.where = self.device

    @staticmethod
    def _check(code: int) -> None:
        if code:
            raise RuntimeError(f"the double of the driver returns {code}")

    def empty(self, shape: Any, dtype: torch.dtype) -> torch.Tensor:
        """As torch.empty(shape, dtype=dtype, device="cuda")."""
        return self.plain(shape, dtype).as_subclass(GpuTensor)

    def plain(self, shape: Any, dtype: torch.dtype) -> torch.Tensor:
        """One that says it is the host's."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        count = math.prod(shape)
        if count == 0:
            return torch.empty(shape, dtype=dtype)
        size = count * torch.empty((), dtype=dtype).element_size()
        address = ctypes.c_ulonglong()
        self._check(self.driver.cuCtxSetCurrent(self.context))
        self._check(
            self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))
        )
        memory = (ctypes.c_char * size).from_address(address.value)
        tensor = torch.frombuffer(memory, dtype=dtype, count=count)
        return tensor.reshape(shape)

    def copy(self, tensor: torch.Tensor) -> torch.Tensor:
        return self.plain_copy(tensor).as_subclass(GpuTensor)

    def plain_copy(self, tensor: torch.Tensor) -> torch.Tensor:
        return self.plain(tensor.shape, tensor.dtype).copy_(tensor.detach())

    def free(self, tensor: torch.Tensor) -> bool:
        """What resizing a CUDA tensor's storage to nothing does."""
        if tensor.numel() > 0:
            self._check(self.driver.cuCtxSetCurrent(self.context))
            address = ctypes.c_ulonglong(tensor.data_ptr())
            self._check(self.driver.cuMemFree_v2(address))
        return True

    def synchronize(self, _: Any) -> None:
        self._check(self.driver.cuCtxSetCurrent(self.context))
        self._check(self.driver.cuCtxSynchronize())

    def stands_in(self) -> mock._patch:
        """While it is entered, the package finds this GPU where it asks PyTorch."""
        empty = torch.empty

        def made(*shape: Any, device: Any = None, **options: Any) -> torch.Tensor:
            if device is not None and torch.device(device).type == "cuda":
                return self.empty(shape[0], options["dtype"])
            return empty(*shape, device=device, **options)

        return mock.patch.multiple(
            "torch", empty=made, cuda=mock.Mock(synchronize=self.synchronize)
        )

    def takes_over(self) -> None:
        """From here on migrations of this process have its memory and transport.

        For frameworks that have host tensors: what is handed over is copied to the
        GPU, and what is new lies there.
        """
        import etc.checks
        import etc.memory
        import etc.migration
        import etc.tensors
        from etc.tensors import DTYPES

        def check(plan: Any, device: int, state: Any, where: Any) -> Any:
            for tensors in state.values():
                for name, tensor in tensors.items():
                    tensors[name] = self.plain_copy(tensor)
            return real_check(plan, device, state, where)

        def allocate(memory: Any, kind: Any, name: Any, size: int) -> int:
            if kind is None or name is None:
                made = memory.staging[size] = self.plain(size, torch.uint8)
                return made.data_ptr()
            spec = memory.specs[kind, name]
            made = self.plain(spec.shape, DTYPES[spec.dtype])
            memory.new[kind, name] = made
            return made.data_ptr()

        real_check = etc.checks.check_state
        etc.checks.check_state = check
        etc.tensors.free_storage = self.free
        mock.patch.object(etc.memory.Memory, "allocate", allocate).start()
        native = etc.migration._run.Migration
        etc.migration._run = mock.Mock(
            wraps=etc.migration._run,
            Migration=lambda *given, **options: native(
                *given, **{**options, "gpu": self.device.index}
            ),
        )

    def misuse(self) -> str:
        """The first that the doubles have found in any process."""
        take = self.driver.etcDoubleTakeFault
        take.restype = ctypes.c_char_p
        return take().decode()


class RealGpu:
    """What a process of these tests needs of a GPU, of one that is there."""

    def __init__(self, ordinal: int) -> None:
        import ranks

        ranks.take_gpu(ordinal, GPUS)
        self.device = torch.device("cuda", torch.cuda.current_device())

    def copy(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self.device)

    def stands_in(self) -> contextlib.AbstractContextManager:
        return contextlib.nullcontext()

    def free(self, tensor: torch.Tensor) -> bool:
        tensor.untyped_storage().resize_(0)
        return True

    def misuse(self) -> str:
        return ""


def gpu_of(rank: int) -> Any:
    """This process's GPU: a double's, or, with ETC_TORCH_DEVICE=cuda, the machine's."""
    return RealGpu(rank) if IS_REAL else Gpu(rank)


class Environment:
    """The variables by which processes that are forked find the doubles."""

    def __init__(self, **variables: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.variables: dict[str, str] = {}
        if IS_REAL and variables.keys() - {"ETC_DOUBLE_SEED"}:
            raise unittest.SkipTest("needs the doubles")
        if IS_REAL:
            return
        if not LIBRARIES:
            raise unittest.SkipTest("needs ETC_DOUBLES, the folder of the doubles")
        self.variables = {
            "ETC_CUDA_DRIVER": f"{LIBRARIES}/libcuda.so.1",
            "ETC_NCCL": f"{LIBRARIES}/libnccl.so.2",
            "ETC_DOUBLE_GPUS": str(GPUS),
            "ETC_DOUBLE_HOST_ACCESS": "1",
            "ETC_DOUBLE_SEGMENT": os.path.join(self.folder.name, "segment"),
            **variables,
        }

    def __enter__(self) -> Environment:
        self.patch = mock.patch.dict(os.environ, self.variables)
        self.patch.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.patch.stop()
        self.folder.cleanup()
