"""Whether every whole tensor is after a change what it was before.

A tensor's sum is that of its elements' bits, each times a number of its global index,
modulo 2**64. So it does not depend on who has which part, and elements that change their
places change it. Elements of a row that make up eight bytes have one number, times a power
of two each: where a part begins and ends at such eight bytes, they are read as one.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from etc.errors import VerificationError
from etc.torch.entries import Entry
from etc.torch.layout import planned_boxes
from etc.torch.ranks import on_every_rank, pack, unpack
from etc.torch.rows import pack_boxes, rows_of
from etc.torch.spans import Box

Sums = dict[tuple[str, str], int]
Parts = dict[tuple[str, str], tuple[tuple[Box, ...], int]]
Told = tuple[bytes, "array[int]", "array[int]"]
"""The keys, packed, since most ranks say the same; the boxes of each; and their sums."""
_Weights = Callable[[int, int, int, Any], torch.Tensor]

# Elements at a time: temporaries stay in the cache.
_BLOCK = 1 << 17


def sums(said: Sequence[Told]) -> Sums:
    """Of every whole tensor, by type and name, of what all ranks tell.

    Raises a ValueError where two ranks have the same part with different contents.
    """
    found, different, is_buffer = _compared(said)
    if different:
        reason = "as if one had skipped a step; make them equal"
        if is_buffer:
            reason = "as a buffer does that each rank computes of its own batches; "
            reason += "broadcast it from one rank"
        raise ValueError(f"{different}, {reason}, or pass verify=False to take either")
    return found


def check(
    before: Sums, entries: Callable[[], Iterable[Entry]], given: Parts | None = None
) -> None:
    """Compares with what was before the change. Collective; each rank reads its entries,
    except those whose parts are given.

    Raises VerificationError on all ranks where a tensor is not what it was."""
    after, different, _ = _compared(on_every_rank(lambda: told(entries(), given)))
    wrong = [key for key in before if before[key] != after.get(key)]
    wrong += [key for key in after if key not in before]
    if wrong and not different:
        kind, name = wrong[0]
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        different = f"{name} ({kind}): is not what it was before the change{more}"
    if different:
        raise VerificationError(
            f"{different}; the state of this job is not to be used, so go back to a "
            f"checkpoint"
        )


def told(entries: Iterable[Entry], given: Parts | None = None) -> Told:
    """What this rank tells of its entries."""
    tensors = list(entries)
    parts = parts_of(tensors, given)
    boxes = pack_boxes(held for held, _ in parts.values())
    keys = pack((list(parts), [each.key for each in tensors if each.is_buffer]))
    return keys, boxes, array("Q", (s for _, s in parts.values()))


def _compared(said: Sequence[Told]) -> tuple[Sums, str, bool]:
    """The sums, the first replicas that differ, and whether they are of a buffer."""
    found: dict[tuple[str, str], dict[bytes, tuple[int, int]]] = {}
    different, is_buffer = "", False
    keys_of = functools.cache(unpack)
    for rank, (keys, boxes, values) in enumerate(said):
        names, buffers = keys_of(keys)
        for key, part, value in zip(names, rows_of(boxes), values):
            known = found.setdefault(key, {}).setdefault(part, (value, rank))
            if known[0] != value and not different:
                different = (
                    f"{key[1]} ({key[0]}): ranks {known[1]} and {rank} have replicas "
                    f"that differ"
                )
                is_buffer = key in buffers
    whole = {
        key: sum(value for value, _ in shards.values()) % 2**64
        for key, shards in found.items()
    }
    return whole, different, is_buffer


def parts_of(entries: Iterable[Entry], given: Parts | None = None) -> Parts:
    """What this rank has: its boxes and their sum."""
    weights = functools.cache(_weights)  # tensors of one shape have the same
    found = dict(given or {})
    for entry in entries:
        boxes = planned_boxes(entry)
        local = entry.local if boxes and entry.key not in found else None
        if local is not None:
            found[entry.key] = boxes, _sum(local, boxes, weights)
    return found


def _sum(flat: torch.Tensor, boxes: tuple[Box, ...], weights_of: _Weights) -> int:
    total, first = 0, 0
    for box in boxes:
        outer_axes = enumerate(box[:-1])
        weights = [weights_of(axis, *span, flat.device) for axis, span in outer_axes]
        extents = [end - begin for begin, end in box]
        part = flat[first : first + _volume(extents)]
        rows, inner = _columns(part, len(box) - 1, *box[-1], weights_of)
        # One weight a row.
        outer = weights[0] if weights else inner.new_ones(1)
        if len(box) == 3:
            outer = (outer[:, None] * weights[1]).view(-1)
        total += _weighted(rows, outer, inner)
        first += _volume(extents)
    return total % 2**64


def _columns(
    part: torch.Tensor, axis: int, begin: int, end: int, weights_of: _Weights
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of integers, and the weight of each column: columns [begin, end) of the last
    axis, eight bytes at a time where they divide."""
    size = part.element_size()
    lanes = 8 // size
    first, last = begin // lanes, -(-end // lanes)
    weights = weights_of(axis, first, last, part.device)
    place = part.storage_offset()
    if begin % lanes == end % lanes == place % lanes == 0:
        return part.view(torch.int64).view(-1, last - first), weights
    rows = part.view(_INTEGERS[size]).view(-1, end - begin)
    if lanes == 1:
        return rows, weights
    # Each without its sign, times two to the power of its place in the eight bytes.
    rows = rows.to(torch.int64) & ((1 << 8 * size) - 1)
    shifts = torch.arange(lanes, device=part.device) * (8 * size)
    spread = (weights[:, None] << shifts).view(-1)
    return rows, spread[begin - first * lanes :][: end - begin]


def _weighted(rows: Any, outer: Any, inner: Any) -> int:
    """The sum of rows[i][j] * outer[i] * inner[j], with wrap-around."""
    count, width = rows.shape
    total = 0
    height = max(1, _BLOCK // width)
    for top in range(0, count, height):
        lines = slice(top, top + height)
        for left in range(0, width, _BLOCK):
            columns = slice(left, left + _BLOCK)
            in_rows = (rows[lines, columns] * inner[columns]).sum(1)
            total += (in_rows * outer[lines]).sum()
    return int(total)


_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_SALTS = (0x1E3779B97F4A7C15, 0x3F58476D1CE4E5B9, 0x14D049BB133111EB)


def _weights(axis: int, begin: int, end: int, device: Any) -> torch.Tensor:
    """A random odd number for every position of an axis."""
    x = torch.arange(begin + 1, end + 1, dtype=torch.int64, device=device)
    for salt in (_SALTS[axis], _SALTS[1], _SALTS[2]):
        x = x * salt
        x = x ^ ((x >> 29) & 0x7FFFFFFFF)
    return x | 1


def _volume(extents: list[int]) -> int:
    volume = 1
    for extent in extents:
        volume *= extent
    return volume
