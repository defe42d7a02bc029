"""Positions along an axis, as PyTorch's placements cut them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

Span = tuple[int, int]
Spans = list[Span]  # ascending, apart
Box = tuple[Span, ...]


def size_of(spans: Spans) -> int:
    """Positions in all."""
    return sum(end - begin for begin, end in spans)


def take(spans: Spans, first: int, last: int) -> Spans:
    """Positions [first, last), counted from the first one on."""
    taken: Spans = []
    for begin, end in spans:
        left, right = max(begin, begin + first), min(end, begin + last)
        if left < right:
            taken.append((left, right))
        first, last = first - (end - begin), last - (end - begin)
    return taken


def chunk(spans: Spans, count: int, index: int) -> Spans:
    """Part `index` of `count`, as torch.chunk cuts them: the last may be empty."""
    size = size_of(spans)
    share = -(-size // count)
    return take(spans, min(size, share * index), min(size, share * (index + 1)))


def strided_chunk(spans: Spans, factor: int, count: int, index: int) -> Spans:
    """Part `index` of `count` of each of `factor` chunks, as _StridedShard cuts."""
    parts = (chunk(chunk(spans, factor, i), count, index) for i in range(factor))
    return _join(itertools.chain.from_iterable(parts))


def _join(spans: itertools.chain[Span]) -> Spans:
    joined: Spans = []
    for begin, end in spans:
        if joined and joined[-1][1] == begin:
            begin, _ = joined.pop()
        joined.append((begin, end))
    return joined


def boxes(axes: Sequence[Spans]) -> tuple[Box, ...]:
    """The boxes of all combinations, in row-major order."""
    return tuple(itertools.product(*axes))


def planned_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of at most three axes: those from the third on are planned as one."""
    if len(shape) <= 3:
        return shape or (1,)
    inner = 1
    for extent in shape[2:]:
        inner *= extent
    return (*shape[:2], inner)


def range_boxes(shape: Sequence[int], first: int, last: int) -> tuple[Box, ...]:
    """The boxes of the elements [first, last) in row-major order: their parts of the
    first row, whole rows, and of the last one."""
    if first == last:
        return ()
    if not shape:
        return ((),)
    width = 1
    for extent in shape[1:]:
        width *= extent
    if width == 1 or first % width == last % width == 0:
        rest = tuple((0, extent) for extent in shape[1:])
        return (((first // width, last // width), *rest),)
    row = first // width
    middle = min(last, (row + 1) * width) if first % width else last // width * width
    if middle == first:  # less than a row
        middle = last
    if middle > first and first % width == 0 and middle % width == 0:
        return range_boxes(shape, first, middle) + range_boxes(shape, middle, last)
    inner = range_boxes(shape[1:], first - row * width, middle - row * width)
    begun = tuple(((row, row + 1), *box) for box in inner)
    return begun + range_boxes(shape, middle, last)


def is_in_memory_order(axes: Sequence[Spans]) -> bool:
    """Whether the boxes, each dense, lie one after the other in a dense tensor of all
    positions: in front of an axis that is in pieces no other one may vary."""
    pieces = [axis for axis, spans in enumerate(axes) if len(spans) > 1]
    return all(size_of(spans) == 1 for spans in axes[: max(pieces, default=0)])
