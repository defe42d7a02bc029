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


def is_in_memory_order(axes: Sequence[Spans]) -> bool:
    """Whether the boxes, each dense, lie one after the other in a dense tensor of all
    positions: in front of an axis that is in pieces no other one may vary."""
    pieces = [axis for axis, spans in enumerate(axes) if len(spans) > 1]
    return all(size_of(spans) == 1 for spans in axes[: max(pieces, default=0)])
