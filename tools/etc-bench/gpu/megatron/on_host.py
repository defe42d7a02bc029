"""Lets Megatron-Core train on a machine without a GPU: what it asks of CUDA, the host
answers. Import this before `megatron.core`, and only where there is no GPU.

Nothing here has a parameter or a state of the model, except that the generator of the
GPU is the host's.
"""

import contextlib
import logging
import warnings
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

warnings.filterwarnings("ignore")


class OnHost(TorchFunctionMode):
    """Tensors that would be made on, or moved to, the GPU stay on the host."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is torch.Tensor.cuda:
            return args[0]
        if "cuda" in str(kwargs.get("device")):
            kwargs = {**kwargs, "device": "cpu"}
        if kwargs.get("pin_memory"):
            kwargs = {**kwargs, "pin_memory": False}
        result = function(*args, **kwargs)
        if function is torch.Tensor.type and isinstance(result, str):
            # Its optimizer sorts parameters by the names of CUDA's tensor types.
            return result.replace("torch.", "torch.cuda.")
        return result


def stand_in() -> None:
    """From here on, in this process."""
    OnHost().__enter__()
    cuda = torch.cuda
    cuda.current_device = lambda: "cpu"
    cuda.synchronize = lambda *_: None
    cuda.empty_cache = lambda: None
    cuda.manual_seed = torch.manual_seed
    cuda.get_rng_state = lambda *_: torch.get_rng_state()
    cuda.set_rng_state = lambda state, *_: torch.set_rng_state(state)
    cuda.Stream = cuda.Event = cuda.current_stream = mock.MagicMock()
    cuda.default_stream = mock.MagicMock()
    cuda.stream = lambda *_: contextlib.nullcontext()
    from megatron.core.tensor_parallel import random

    # It warns that the host's generator has changed, which is the GPU's here.
    logging.getLogger(random.__name__).setLevel(logging.ERROR)
    # The tracker takes the generators of the device by its number.
    random._get_cuda_rng_state = lambda *_, **__: torch.get_rng_state()
    random._set_cuda_rng_state = lambda state, *_, **__: torch.set_rng_state(state)
    from megatron.core.transformer.moe import moe_utils

    if not hasattr(moe_utils, "te_general_gemm"):  # asked for without a default
        moe_utils.te_general_gemm = None
