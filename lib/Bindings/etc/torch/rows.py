"""What a rank tells of many tensors, in few objects: at hundreds of ranks, to unpack an
object a tensor takes longer than the change itself."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from etc.torch.spans import Box

_SIZE = array("q").itemsize


def pack_boxes(rows: Iterable[tuple[Box, ...]]) -> array[int]:
    """The boxes of each row: how many numbers they take, then begin and end along every
    axis."""
    numbers = array("q")
    for boxes in rows:
        own = [number for box in boxes for span in box for number in span]
        numbers.append(len(own))
        numbers.extend(own)
    return numbers


def rows_of(packed: array[int]) -> Iterator[bytes]:
    """The numbers of each row; equal boxes have equal ones, and no boxes have none."""
    raw, at = packed.tobytes(), 0
    while at < len(packed):
        end = at + 1 + packed[at]
        yield raw[(at + 1) * _SIZE : end * _SIZE]
        at = end


def boxes_in(row: bytes, axes: int) -> list[list[list[int]]]:
    """[box][axis]: its begin and end."""
    numbers = iter(array("q", row))
    spans = [list(span) for span in zip(numbers, numbers)]
    return [spans[first : first + axes] for first in range(0, len(spans), axes)]
