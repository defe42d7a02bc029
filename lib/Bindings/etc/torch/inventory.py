"""What all ranks hold, as an inventory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from etc.torch.spans import Box


class Row(NamedTuple):
    """A tensor on one rank."""

    type: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    """The planning shape."""
    boxes: tuple[Box, ...]
    """What the rank holds of it."""
    mesh_ranks: tuple[int, ...]
    """The ranks of its mesh; none where it has no mesh."""
    layout: str
    """Its mesh and its placements: the same on all ranks of the mesh."""


def make_inventory(
    ranks: Sequence[list[Row]], numbers: Sequence[int | None]
) -> dict[str, Any]:
    """The etc-inventory (docs/inventory-format.md) of the rows of every rank; meshes
    have the ranks by `numbers`.

    Raises ValueError where ranks do not agree on a tensor.
    """
    tensors: dict[tuple[str, str], _Tensor] = {}
    shards: dict[tuple[int, tuple[Box, ...]], int] = {}
    devices = []
    for rank, rows in enumerate(ranks):
        has = []
        for row in rows:
            tensor = tensors.setdefault(
                (row.type, row.name), _Tensor(row, len(tensors))
            )
            tensor.check(rank, numbers[rank], row)
            if row.boxes:
                has.append(shards.setdefault((tensor.number, row.boxes), len(shards)))
        if has:
            devices.append({"device": rank, "has": has})
    return {
        "format": "etc-inventory",
        "version": 1,
        "tensors": [
            {"name": t.row.name, "type": t.row.type, "dtype": t.row.dtype}
            | {"shape": list(t.row.shape)}
            for t in tensors.values()
        ],
        "shards": [
            {"tensor": tensor, "boxes": [[list(span) for span in box] for box in boxes]}
            for tensor, boxes in shards
        ],
        "devices": devices,
    }


class _Tensor:
    """A tensor of the job, as the first rank that has it says."""

    def __init__(self, row: Row, number: int) -> None:
        self.row = row
        self.number = number
        self.seen: dict[str, tuple[int, Row]] = {}
        """By layout, a rank that sees it so."""
        self.layout_of: dict[int | None, str] = {}
        """Of every rank: its own, or that of a mesh that lists it."""

    def check(self, rank: int, number: int | None, row: Row) -> None:
        """Whether another rank says the same of it."""
        if row.shape != self.row.shape:
            first = next(iter(self.seen.values()))[0]
            raise ValueError(
                f"{row.name} ({row.type}): is {list(self.row.shape)} for rank {first}, "
                f"{list(row.shape)} for rank {rank}; make it of one shape on all ranks"
            )
        is_new = row.layout not in self.seen
        self.seen.setdefault(row.layout, (rank, row))
        for member in row.mesh_ranks if is_new and row.mesh_ranks else (number,):
            layout = self.layout_of.setdefault(member, row.layout)
            if layout != row.layout:
                other = self.seen[layout][0]
                raise ValueError(
                    f"{row.name} ({row.type}): is on {layout or 'no mesh'} for rank "
                    f"{other}, on {row.layout or 'no mesh'} for rank {rank}; make it of "
                    f"one DeviceMesh on all ranks"
                )
