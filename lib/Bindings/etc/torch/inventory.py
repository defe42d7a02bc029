"""What all ranks hold, as an inventory."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from etc.torch.rows import boxes_in, rows_of


class Row(NamedTuple):
    """A tensor, as a rank sees it: most ranks see it alike."""

    type: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    """The planning shape."""
    mesh_ranks: tuple[int, ...]
    """The ranks of its mesh; none where it has no mesh."""
    layout: str
    """Its mesh and its placements: the same on all ranks of the mesh."""


class Held(NamedTuple):
    """What one rank holds."""

    rows: Sequence[Row]
    """One object for ranks that see the same tensors alike."""
    boxes: array[int]
    """Of each row (pack_boxes)."""


def make_inventory(
    ranks: Sequence[Held], numbers: Sequence[int | None]
) -> dict[str, Any]:
    """The etc-inventory (docs/inventory-format.md) of what every rank holds; meshes
    have the ranks by `numbers`.

    Raises ValueError where ranks do not agree on a tensor.
    """
    tables = _Tables()
    shards: dict[tuple[tuple[int, ...], bytes], int] = {}
    devices = []
    for rank, (rows, boxes) in enumerate(ranks):
        # Most layers have tensors of the same shapes, and so of the same boxes.
        alike: dict[tuple[int, bytes], list[int]] = {}
        for tensor, row in zip(tables.read(rank, numbers[rank], rows), rows_of(boxes)):
            if row:
                axes = len(tensor.row.shape)
                alike.setdefault((axes, row), []).append(tensor.number)
        has = [
            shards.setdefault((tuple(tensors), row), len(shards))
            for (_, row), tensors in alike.items()
        ]
        if has:
            devices.append({"device": rank, "has": has})
    stated = [tensor.row for tensor in tables.tensors.values()]
    return {
        "format": "etc-inventory",
        "version": 1,
        "tensors": [
            {"name": row.name, "type": row.type, "dtype": row.dtype}
            | {"shape": list(row.shape)}
            for row in stated
        ],
        "shards": [
            {
                "tensors": list(tensors),
                "boxes": boxes_in(row, len(stated[tensors[0]].shape)),
            }
            for tensors, row in shards
        ],
        "devices": devices,
    }


_ByMesh = list[tuple[frozenset[int], "list[tuple[Row, _Tensor]]"]]


class _Tables:
    """The rows of all ranks; those that ranks see alike are gone through once."""

    def __init__(self) -> None:
        self.tensors: dict[tuple[str, str], _Tensor] = {}
        """By type and name, in the order of their numbers."""
        self._known: dict[int, tuple[Sequence[Row], list[_Tensor], _ByMesh]] = {}

    def read(self, rank: int, number: int | None, rows: Sequence[Row]) -> list[_Tensor]:
        """The tensors of one rank's rows."""
        if id(rows) not in self._known:
            tensors = [self._add(rank, number, row) for row in rows]
            by_mesh: dict[tuple[int, ...], list[tuple[Row, _Tensor]]] = {}
            for row, tensor in zip(rows, tensors):
                by_mesh.setdefault(row.mesh_ranks, []).append((row, tensor))
            meshes = [(frozenset(ranks), seen) for ranks, seen in by_mesh.items()]
            self._known[id(rows)] = rows, tensors, meshes
            return tensors
        _, tensors, meshes = self._known[id(rows)]
        for ranks, seen in meshes:
            if number not in ranks:  # for those that it lists, the first one spoke
                for row, tensor in seen:
                    tensor.check(rank, number, row)
        return tensors

    def _add(self, rank: int, number: int | None, row: Row) -> _Tensor:
        key = row.type, row.name
        if key not in self.tensors:
            self.tensors[key] = _Tensor(row, len(self.tensors))
        tensor = self.tensors[key]
        tensor.check(rank, number, row)
        return tensor


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
