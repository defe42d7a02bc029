"""The keywords of etc.plan.

tools/docs/generate writes this file from the table of a request's fields, and a test
compares the two.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, Optional, TypedDict, Union


class RequestFields(TypedDict, total=False):
    """Fields of a request other than model, sides and cluster; None means absent."""

    hosts: Optional[Sequence[str]]
    """The name of every node, for the files of --emit=ranks. Default: node0, node1,
    ...."""

    failed: Optional[Collection[int]]
    """Devices that are dead: their state is gone, and they take no role. Default:
    none."""

    draining: Optional[Collection[int]]
    """Devices that may send but take no role. Default: none."""

    types: Optional[Collection[str]]
    """State types: with Adam, of param,master,exp_avg,exp_avg_sq. Default: all."""

    optimizer: Optional[
        Literal["adam", "adam-bf16", "muon", "adafactor", "sgd", "lion"]
    ]
    """The optimizer, which says what states there are. Default: adam."""

    precision: Optional[Literal["bf16", "fp16", "fp32", "fp8", "mxfp8"]]
    """The element type of parameters. Default: bf16."""

    derive: Optional[Literal["param", "none"]]
    """What is cast where its source lands, not moved. Default: param."""

    policy: Optional[Literal["best", "paper"]]
    """Planning policy: the best plan, or what the paper does. Default: best."""

    paper_costs: Optional[Literal["merged", "units"]]
    """Under --policy=paper, the matrix to solve: as the paper merges it, or exact units
    (layers x slices). Default: merged."""

    place: Optional[Literal["pack", "tp", "any"]]
    """Where roles may go: tensor-parallel groups inside nodes, on the fewest of them
    (pack) or on all (tp); or any device. Default: pack."""

    objective: Optional[Literal["time", "internode", "total"]]
    """What comes first: the bytes between nodes, on routes that take least time; those
    bytes alone; or all bytes. If it is named, least time is looked for however long
    that takes. Default: time."""

    memory_budget: Optional[Union[int, str]]
    """Live bytes a device, staging included. Default: 1.05x max(prev, curr), or 2%
    above the least found."""

    reserve: Optional[int]
    """Bytes of a memory budget in bytes that the migration leaves free, for what else a
    device holds meanwhile. Default: 0."""

    defer: Optional[Union[Literal["none", "optimizer"], Collection[str]]]
    """What moves after the pause, while the first step of the new configuration
    computes: nothing, all but the parameters, or these types. Default: none."""

    gradient_bytes: Optional[int]
    """Bytes of a gradient for each parameter of a device, beside deferred state.
    Default: 4."""
