"""The parameters of Megatron-Core's modules, under global names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CUT_MODULES = ("ParallelLinear", "ParallelEmbedding")
GROUPED_LINEAR = "ParallelGroupedLinear"
"""Of Transformer Engine: weight0, weight1, ... are those of the rank's experts."""
GROUPED = "GroupedMLP"
"""Its weight1 and weight2 are each the matrices of all of the rank's experts."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of this rank, and its position in the whole model."""

    local_name: str
    name: str
    template: str
    """The name with {layer} and {expert} in place of numbers."""
    block: str
    """"embed", "layer", "final", "head" or "mtp"."""
    layer: int
    """From 0 on; -1 outside of layers."""
    expert: int
    tensor: Any
    """The torch.nn.Parameter."""
    axis: int | None
    """What tensor parallelism cuts, or None where every rank has a copy."""
    parts: int
    """How many equal parts of that axis are cut each for itself: 2 where gated."""
    among: tuple[int, int] | None = None
    """(i, n): `tensor` has n experts one after the other, and this is number i."""
    inner: tuple[int, ...] | None = None
    """The shape of one of these."""

    @property
    def shape(self) -> tuple[int, ...]:
        """On this rank."""
        return tuple(self.tensor.shape) if self.inner is None else self.inner

    def of(self, whole: Any) -> Any:
        """Its part of a tensor that is shaped like `tensor`: memory of it, no copy."""
        if self.among is None:
            return whole
        index, count = self.among
        return whole.detach().reshape(count, -1)[index].view(self.shape)

    def global_shape(self, ranks: int) -> tuple[int, ...]:
        """Of the trainer, where `ranks` hold a part each."""
        return tuple(
            extent * ranks if i == self.axis else extent
            for i, extent in enumerate(self.shape)
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
    modules = dict(model.named_modules())
    for local_name, tensor in model.named_parameters():
        path, _, leaf = local_name.rpartition(".")
        _check_known(local_name, tensor)
        module = modules[path]
        if type(module).__name__ == GROUPED:
            yield from _grouped(local_name, modules, module, tensor, grid)
            continue
        axis, parts = _cut(local_name, module, leaf, tensor)
        numbered = _numbered(local_name, modules, grid)
        yield Parameter(local_name, *numbered, tensor, axis, parts)


def _grouped(
    local_name: str,
    modules: Mapping[str, Any],
    module: Any,
    tensor: Any,
    grid: Mapping[str, int],
) -> Iterator[Parameter]:
    """The experts of a GroupedMLP's weight, each a matrix of its own."""
    config, count = module.config, module.num_local_experts
    is_first = local_name.endswith("weight1")
    hidden = config.hidden_size
    width = tensor.numel() // count // hidden
    shape = (hidden, width) if is_first else (width, hidden)
    parts = 2 if is_first and config.gated_linear_unit else 1
    name = global_name(local_name, modules)
    layer = _layer(local_name, modules)
    for index in range(count):
        expert = index + grid["ep_rank"] * count
        template = f"{_template(name, layer)}.{{expert}}"
        yield Parameter(
            local_name,
            f"{name}.{expert}",
            template,
            _block(local_name, layer),
            layer,
            expert,
            tensor,
            1 if is_first else 0,
            parts,
            (index, count),
            shape,
        )


def global_name(local_name: str, modules: Mapping[str, Any]) -> str:
    """With the number of the layer in the whole model; experts keep theirs."""
    words = local_name.split(".")
    layer = _layer(local_name, modules)
    if layer >= 0:
        words[2] = str(layer)
    if words[0] == "embedding" and not modules[""].pre_process:
        words.insert(0, "mtp")  # the copy on the stage of multi-token prediction
    return ".".join(words)


def _layer(local_name: str, modules: Mapping[str, Any]) -> int:
    words = local_name.split(".")
    if words[:2] == ["decoder", "layers"]:
        return modules[".".join(words[:3])].layer_number - 1
    return -1


def _template(name: str, layer: int) -> str:
    words = name.split(".")
    if layer >= 0:
        words[2] = "{layer}"
    return ".".join(words)


def _numbered(
    local_name: str, modules: Mapping[str, Any], grid: Mapping[str, int]
) -> tuple[str, str, str, int, int]:
    """(name, template, block, layer, expert)."""
    layer = _layer(local_name, modules)
    name = global_name(local_name, modules)
    words, places = name.split("."), _template(name, layer).split(".")
    expert = -1
    path = local_name.rpartition(".")[0]
    if "local_experts" in words:
        at = words.index("local_experts") + 1
        parent = local_name.split(".")[:at]
        count = len(modules[".".join(parent)])
        expert = int(words[at]) + grid["ep_rank"] * count
        words[at], places[at] = str(expert), "{expert}"
    elif GROUPED_LINEAR in type(modules[path]).__name__:
        leaf = words[-1].rstrip("0123456789")
        index = int(words[-1][len(leaf) :])
        expert = index + grid["ep_rank"] * modules[path].num_gemms
        words[-1], places[-1] = f"{leaf}{expert}", f"{leaf}{{expert}}"
    block = _block(local_name, layer) if words[0] != "mtp" else "mtp"
    if block == "mtp" and expert >= 0:
        raise ValueError(
            f"{local_name}: experts in layers for multi-token prediction are not "
            f"migrated; give these layers a dense MLP"
        )
    return ".".join(words), ".".join(places), block, layer, expert


def _block(local_name: str, layer: int) -> str:
    if layer >= 0:
        return "layer"
    top = local_name.split(".")[0]
    blocks = {
        "embedding": "embed",
        "decoder": "final",
        "output_layer": "head",
        "mtp": "mtp",
    }
    if top not in blocks:
        raise ValueError(
            f"{local_name}: expected a parameter of {', '.join(blocks)}; others can't "
            f"be migrated, so train without {top}"
        )
    return blocks[top]


def _check_known(local_name: str, tensor: Any) -> None:
    if hasattr(tensor, "partition_sizes"):
        raise ValueError(
            f"{local_name}: contains several matrices that are sharded separately "
            f"(partition_sizes), which can't be migrated"
        )
    if not tensor.requires_grad:
        raise ValueError(
            f"{local_name}: is frozen and therefore has no optimizer state; set "
            f"requires_grad, with a learning rate of 0"
        )


def _cut(local_name: str, module: Any, leaf: str, tensor: Any) -> tuple[Any, int]:
    """(axis or None, parts). Without attributes it is a copy, as in Megatron-Core."""
    kind = type(module).__name__
    if GROUPED_LINEAR in kind:
        # Transformer Engine is not told that experts are sharded.
        if "Column" in kind:
            return 0, 2 if module.config.gated_linear_unit else 1
        return (1, 1) if leaf.startswith("weight") else (None, 1)
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
