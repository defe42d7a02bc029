"""Builds one table of tensors from the descriptions of all ranks."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from etc.megatron.modules import Parameter

WORDS = "embedding.word_embeddings.weight"
HEAD = "output_layer.weight"
PREDICTING = f"mtp.{WORDS}"
"""The copy that the stage of multi-token prediction has."""


def summary_of(parameter: Parameter, grid: Mapping[str, int]) -> dict[str, Any]:
    """The properties of a parameter that other ranks need."""
    ranks = grid["etp"] if parameter.expert >= 0 else grid["tp"]
    return {
        "template": parameter.template,
        "block": parameter.block,
        "layer": parameter.layer,
        "expert": parameter.expert,
        "shape": parameter.global_shape(ranks),
        "axis": parameter.axis,
        "parts": parameter.parts,
    }


def table_of(
    chunks: Sequence[Sequence[dict[str, Any]]], tied: bool, vocab: int | None
) -> list[dict[str, Any]]:
    """The rows of a request's "tensors".

    `chunks` are the summaries of all chunks, in the order of the whole model and of
    the modules within a chunk; replicas and tensor ranks may be among them. `vocab` is
    the vocabulary without padding, if its padding depends on the configuration.

    Raises ValueError if ranks disagree.
    """
    rows: list[dict[str, Any]] = []
    layers: dict[str, set[int]] = {}
    for chunk in chunks:
        at = len(rows) - 1
        for each in chunk:
            at = _merge(rows, _row(each), at)  # new rows follow the last one
            if each["layer"] >= 0:
                layers.setdefault(each["template"], set()).add(each["layer"])
    _say_layers(rows, layers)
    _say_vocabulary(rows, tied, vocab)
    blocks = ["embed", "layer", "final", "mtp", "head"]
    return sorted(rows, key=lambda row: blocks.index(row["block"]))


def layer_count(chunks: Sequence[Sequence[dict[str, Any]]]) -> int:
    """Of the whole model."""
    return 1 + max((each["layer"] for chunk in chunks for each in chunk), default=-1)


def expert_count(chunks: Sequence[Sequence[dict[str, Any]]]) -> int:
    """Of a layer; 0 where there are none."""
    return 1 + max((each["expert"] for chunk in chunks for each in chunk), default=-1)


def _row(each: dict[str, Any]) -> dict[str, Any]:
    shape = list(each["shape"])
    row = {"name": each["template"], "block": each["block"], "shape": shape}
    axis, parts = each["axis"], each["parts"]
    if axis is None:
        return row
    row["split"] = axis
    if parts > 1:
        if shape[axis] % parts:
            raise ValueError(
                f"{each['template']}: {shape[axis]} are not {parts} equal parts"
            )
        inside = [parts, shape[axis] // parts]
        row.update(
            shape=[*shape[:axis], *inside, *shape[axis + 1 :]],
            split=axis + 1,
            view=shape,
        )
    return row


def _merge(rows: list[dict[str, Any]], row: dict[str, Any], at: int) -> int:
    """Inserts a row after the one at `at` unless it exists; returns its position."""
    for place, other in enumerate(rows):
        if other["name"] != row["name"]:
            continue
        if other != row:
            raise ValueError(
                f"{row['name']}: is {row} on one rank or layer and {other} on another"
            )
        return place
    rows.insert(at + 1, row)
    return at + 1


def _say_layers(rows: list[dict[str, Any]], layers: Mapping[str, set[int]]) -> None:
    count = 1 + max((max(have) for have in layers.values()), default=-1)
    for row in rows:
        have = sorted(layers.get(row["name"], []))
        if not have or len(have) == count:
            continue
        if have != list(range(have[0], have[-1] + 1)):
            raise ValueError(
                f"{row['name']}: the layers that have it are not in one run: {have}"
            )
        row["layers"] = [have[0], have[-1] + 1]


def _say_vocabulary(rows: list[dict[str, Any]], tied: bool, vocab: int | None) -> None:
    named = {row["name"]: row for row in rows}
    if tied and WORDS in named and HEAD not in named:
        # It exists as soon as the ends of the model are on different stages.
        named[HEAD] = {**named[WORDS], "name": HEAD, "block": "head"}
        rows.append(named[HEAD])
    if tied and HEAD in named:
        named[HEAD]["tied_to"] = WORDS
    if any(row["block"] == "mtp" for row in rows) and WORDS in named:
        if PREDICTING not in named:
            named[PREDICTING] = {**named[WORDS], "name": PREDICTING, "block": "mtp"}
            rows.append(named[PREDICTING])
        named[PREDICTING]["tied_to"] = WORDS
    if vocab is None:
        return
    for name in (WORDS, HEAD, PREDICTING):
        if name in named:
            named[name].update(
                shape=[vocab, *named[name]["shape"][1:]], vocab_rows=True
            )
