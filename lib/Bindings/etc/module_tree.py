"""The parameters of a module tree, under global names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Entry:
    """A parameter, and its position in the whole model."""

    local_name: str
    name: str
    parameter: Any
    layer: int
    """From 0 on; -1 outside of layers."""
    expert: int
    """From 0 on; -1 where it is no expert's."""
    block: str
    """"embed", "layer", "final" or "head"."""

    @property
    def tensor(self) -> Any:
        """The part that this rank holds."""
        whole = self.parameter
        return whole.to_local() if hasattr(whole, "to_local") else whole


EXPERTS = ("local_experts", "experts")
HEADS = ("output_layer", "lm_head", "head")


def layer_template(entry: Entry) -> str:
    """The name with {layer} and {expert} in place of numbers."""
    parts = entry.name.split(".")
    numbers = [i for i, part in enumerate(parts) if part.isdigit()]
    if entry.layer >= 0:
        parts[numbers[0]] = "{layer}"
    if entry.expert >= 0:
        parts[numbers[1 if entry.layer >= 0 else 0]] = "{expert}"
    return ".".join(parts)


def entries_of(
    model: Any, grid: Mapping[str, int], layer_count: int | None
) -> list[Entry]:
    """All parameters in the order of the modules.

    `grid` has the sizes and ranks that turn local numbers into global ones;
    `layer_count` is that of the whole model.
    """
    import torch

    lists = {
        path: module
        for path, module in model.named_modules()
        if isinstance(module, torch.nn.ModuleList)
    }
    entries, behind = [], False
    for local, parameter in model.named_parameters():
        parts = local.split(".")
        layer = expert = -1
        for i, part in enumerate(parts):
            path = ".".join(parts[:i])
            if path not in lists:
                continue
            if parts[i - 1] in EXPERTS:
                expert = int(part) + grid.get("ep_rank", 0) * len(lists[path])
                parts[i] = str(expert)
            elif layer < 0:
                layer = _layer_number(lists[path], int(part), grid, layer_count)
                parts[i] = str(layer)
        if layer >= 0:
            behind, block = True, "layer"
        elif parts[0] in HEADS or any(part in HEADS for part in parts[:-1]):
            block = "head"
        else:
            block = "final" if behind else "embed"
        name = ".".join(parts)
        entries.append(Entry(local, name, parameter, layer, expert, block))
    return entries


def _layer_number(
    layers: Any, index: int, grid: Mapping[str, int], layer_count: int | None
) -> int:
    stated = getattr(layers[index], "layer_number", None)
    if isinstance(stated, int):
        return stated - 1
    stages = grid.get("pp", 1)
    if stages == 1:
        return index
    if layer_count is None or layer_count != len(layers) * stages:
        raise ValueError(
            f"layers have no layer_number, and {layer_count} layers are not divided "
            f"evenly among {stages} stages: this stage has {len(layers)}"
        )
    return index + grid.get("pp_rank", 0) * len(layers)
