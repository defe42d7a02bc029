"""The parameters of Megatron-Core's modules, under global names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CUT_MODULES = ("ParallelLinear", "ParallelEmbedding")
SEVERAL_EXPERTS = ("GroupedMLP", "TEGroupedMLP")


@dataclass(frozen=True)
class Parameter:
    """A parameter of this rank, and its position in the whole model."""

    local_name: str
    name: str
    template: str
    """The name with {layer} and {expert} in place of numbers."""
    block: str
    """"embed", "layer", "final" or "head"."""
    layer: int
    """From 0 on; -1 outside of layers."""
    expert: int
    tensor: Any
    """The torch.nn.Parameter."""
    axis: int | None
    """What tensor parallelism cuts, or None where every rank has a copy."""
    parts: int
    """How many equal parts of that axis are cut each for itself: 2 where gated."""

    def global_shape(self, ranks: int) -> tuple[int, ...]:
        """Of the trainer, where `ranks` hold a part each."""
        return tuple(
            extent * ranks if i == self.axis else extent
            for i, extent in enumerate(self.tensor.shape)
        )


def unwrapped(chunk: Any) -> Any:
    """The model inside DistributedDataParallel and Float16Module."""
    while not is_model(chunk) and hasattr(chunk, "module"):
        chunk = chunk.module
    return chunk


def is_model(module: Any) -> bool:
    return "GPTModel" in [each.__name__ for each in type(module).__mro__]


def parameters_of(
    chunks: Sequence[Any], grid: Mapping[str, int]
) -> list[list[Parameter]]:
    """The parameters of every chunk in the order of its modules.

    Raises ValueError if something cannot be moved correctly; the message names it.
    """
    return [list(_of_chunk(unwrapped(chunk), grid)) for chunk in chunks]


def _of_chunk(model: Any, grid: Mapping[str, int]) -> Iterator[Parameter]:
    if not is_model(model):
        raise ValueError(
            f"{type(model).__name__}: is not a GPTModel of Megatron-Core; use "
            f"etc.describe and etc.prepare for other models"
        )
    _check_buffers(model)
    modules = dict(model.named_modules())
    for local_name, tensor in model.named_parameters():
        path, _, leaf = local_name.rpartition(".")
        _check_known(local_name, modules, tensor)
        axis, parts = _cut(local_name, modules[path], leaf, tensor)
        numbered = _numbered(local_name, modules, grid)
        yield Parameter(local_name, *numbered, tensor, axis, parts)


def _numbered(
    local_name: str, modules: Mapping[str, Any], grid: Mapping[str, int]
) -> tuple[str, str, str, int, int]:
    """(name, template, block, layer, expert)."""
    words, places = local_name.split("."), local_name.split(".")
    layer = expert = -1
    if words[:2] == ["decoder", "layers"]:
        layer = modules[".".join(words[:3])].layer_number - 1
        words[2], places[2] = str(layer), "{layer}"
    if "local_experts" in words:
        at = words.index("local_experts")
        count = len(modules[".".join(local_name.split(".")[: at + 1])])
        expert = int(words[at + 1]) + grid["ep_rank"] * count
        words[at + 1], places[at + 1] = str(expert), "{expert}"
    return ".".join(words), ".".join(places), _block(local_name, layer), layer, expert


def _block(local_name: str, layer: int) -> str:
    if layer >= 0:
        return "layer"
    top = local_name.split(".")[0]
    blocks = {"embedding": "embed", "decoder": "final", "output_layer": "head"}
    if top not in blocks:
        raise ValueError(
            f"{local_name}: expected a parameter of embedding, decoder or "
            f"output_layer; others can't be migrated, so train without {top}"
        )
    return blocks[top]


def _check_known(local_name: str, modules: Mapping[str, Any], tensor: Any) -> None:
    parents = local_name.split(".")[:-1]
    for i in range(len(parents)):
        kind = type(modules[".".join(parents[: i + 1])]).__name__
        if kind in SEVERAL_EXPERTS:
            raise ValueError(
                f"{local_name}: the expert numbers of {kind} are not supported; "
                f"train with moe_grouped_gemm=False"
            )
    if hasattr(tensor, "partition_sizes"):
        raise ValueError(
            f"{local_name}: contains several matrices that are sharded separately "
            f"(partition_sizes); this is supported in attention and MLP layers only"
        )
    if not tensor.requires_grad:
        raise ValueError(
            f"{local_name}: is frozen and therefore has no optimizer state; set "
            f"requires_grad, with a learning rate of 0"
        )


def _check_buffers(model: Any) -> None:
    """Raises ValueError if there is state other than parameters."""
    for path, module in model.named_modules():
        for leaf, buffer in module._buffers.items():
            if buffer is not None and leaf not in module._non_persistent_buffers_set:
                raise ValueError(
                    f"{path}.{leaf}: is a buffer with state, but only parameters are "
                    f"migrated; disable the feature that needs it"
                )


def _cut(local_name: str, module: Any, leaf: str, tensor: Any) -> tuple[Any, int]:
    """(axis or None, parts). Without attributes it is a copy, as in Megatron-Core."""
    stated = getattr(tensor, "tensor_model_parallel", False)
    if not stated and leaf == "weight" and _is_cut_module(module):
        raise ValueError(
            f"{local_name}: its tensor-parallel axis is not set, as with "
            f"perform_initialization=False; set its tensor_model_parallel and "
            f"partition_dim"
        )
    if not stated:
        return None, 1
    parts = max(tensor.partition_stride, 1)
    config = getattr(module, "config", None)
    if local_name.split(".")[-2] == "linear_fc1" and config is not None:
        # Older versions set 1 for the gate and the up projection, which is wrong.
        parts = 2 if config.gated_linear_unit else parts
    return tensor.partition_dim, parts


def _is_cut_module(module: Any) -> bool:
    return any(word in type(module).__name__ for word in CUT_MODULES)
