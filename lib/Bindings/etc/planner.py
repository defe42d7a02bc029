"""Planning: a request becomes a plan."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from etc.errors import UsageError
from etc.inventory import inventory_of, is_inventory, join
from etc.plans import Plan, planner
from etc.request_fields import RequestFields

if TYPE_CHECKING:
    from typing_extensions import Unpack

Path = Union[str, "os.PathLike[str]"]
Layout = Union[str, Mapping[str, Any], Plan]
Inventories = Sequence[Mapping[str, Any]]


def plan(
    request: Mapping[str, Any] | Path | None = None,
    *,
    model: str | Mapping[str, Any] | Path | None = None,
    prev: Layout | Inventories | None = None,
    curr: Layout | None = None,
    cluster: str | Mapping[str, Any] | Sequence[int] | None = None,
    **fields: Unpack[RequestFields],
) -> Plan:
    """Plans a migration, in this process.

    The same request gives the same plan wherever the same build runs, so every rank of
    a job can plan for itself.

    Args:
        request: a request as etc-opt takes it: a dictionary, or the path of a JSON
            file. The arguments below override its fields.
        model: the name of a preset ("gpt2"); a dictionary, for instance with a table
            of "tensors"; or the path of a JSON file with one, or of a Hugging Face
            config.json.
        prev, curr: the configurations: "PP4TP2DP3", a dictionary such as {"pp": 4,
            "tp": 2, "devices": [...]}, or a Plan: its resulting configuration or
            inventory, on its devices. Or an inventory, such as `Migration.inventory()`
            of one process, or a list of those of several.
        cluster: "6x4" (nodes x devices per node), "4,4,8" or [4, 4, 8] (the devices of
            each node), or a dictionary. "6x4@h100" also names what links and NICs
            carry: a cluster that is shipped, or a file.
        **fields: all other fields of a request: etc.request_fields.RequestFields
            documents their types, meanings and defaults.

    Raises:
        PlanError: the request is malformed; the message names the field.
        UnsatisfiableError: it cannot be met; the message says what could be.
        UsageError: this installation has no planner.
    """
    whole = whole_request(request, model, prev, curr, cluster, fields)
    return Plan.from_bytes(planner_for("plan").make(whole))


def chain(
    requests: Sequence[Mapping[str, Any] | Path], *, journal: Path | None = None
) -> Plan:
    """Plans requests that follow each other as one migration, in this process.

    What a device would receive only to pass on goes straight to its final device, and
    the last configuration is on the devices where planning the requests one by one
    places it.

    Args:
        requests: one or more, each as `plan` takes it. Those after the first begin
            where the one before ends, and may leave "prev" out.
        journal: the directory of the first migration's journal, where it has one: the
            chain is refused if that migration has begun. In a trainer, ask its
            `Migration.outcome` instead: after "mixed", prev is an inventory of what
            `state` and `received` hold.

    Raises:
        PlanError: a request is malformed, or the requests do not follow each other;
            the message names the request, such as requests[1].
        UnsatisfiableError: the chain cannot be met, or has begun.
        UsageError: this installation has no planner.
    """
    if not requests:
        raise ValueError("requests: expected one request or more, got none")
    texts = [json.dumps(_read_request(request)) for request in requests]
    where = None if journal is None else os.fspath(journal)
    return Plan.from_bytes(planner_for("chain").chain(texts, where))


def planner_for(verb: str) -> Any:
    """The planner's module. Raises UsageError if there is none."""
    module = planner()
    if module is None:
        raise UsageError(
            f"this installation of ETC has no planner (libetc-plan.so), which {verb} "
            "needs; plan with etc-opt elsewhere, and use Plan.load"
        )
    return module


def whole_request(
    request: Mapping[str, Any] | Path | None,
    model: str | Mapping[str, Any] | Path | None,
    prev: Layout | Inventories | None,
    curr: Layout | None,
    cluster: str | Mapping[str, Any] | Sequence[int] | None,
    fields: Mapping[str, Any],
) -> str:
    """The request in JSON; the arguments are those of `plan`."""
    whole = dict(_read_request(request))
    given = {
        "model": None if model is None else _read_model(model),
        "prev": None if prev is None else _read_layout(prev),
        "curr": None if curr is None else _read_layout(curr),
        "cluster": None if cluster is None else _read_cluster(cluster),
        **{name: _plain(value) for name, value in fields.items()},
    }
    whole.update({name: value for name, value in given.items() if value is not None})
    return json.dumps(whole)


def _read_request(request: Mapping[str, Any] | Path | None) -> Mapping[str, Any]:
    if request is None:
        return {}
    if isinstance(request, Mapping):
        return request
    return _read_json(request)


def _open_at_once(path: str, flags: int) -> int:
    """Opening a FIFO would wait for a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def _read_json(path: Path) -> Any:
    with open(path, encoding="utf-8", opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{os.fspath(path)}: expected a regular file")
        try:
            return json.load(file)
        except json.JSONDecodeError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None


def _read_model(model: str | Mapping[str, Any] | Path) -> Any:
    if isinstance(model, Mapping):
        return model
    name = os.fspath(model)
    if not name.endswith(".json"):
        return name
    read = _read_json(name)
    if isinstance(read, dict) and "model_type" in read:
        return {"hf_config": os.path.abspath(name)}
    return read


def _read_layout(layout: Layout | Inventories) -> Any:
    if is_inventory(layout):
        return {"inventory": layout}
    if isinstance(layout, (list, tuple)) and all(map(is_inventory, layout)):
        return {"inventory": join(layout)}
    if not isinstance(layout, Plan):
        return layout
    if not layout.placement["curr"]:
        raise UsageError("a slice cannot be continued from; use the whole plan")
    if layout.configuration["curr"]["inventory"]:
        return {"inventory": inventory_of(layout)}
    return {"parallel": layout.curr, "devices": layout.placement["curr"]}


def _read_cluster(cluster: str | Mapping[str, Any] | Sequence[int]) -> Any:
    if isinstance(cluster, Mapping):
        return cluster
    if not isinstance(cluster, str):
        return {"nodes": list(cluster)}
    sizes, at, name = cluster.partition("@")
    rates = {"rates": name} if at else {}
    nodes, cross, size = sizes.partition("x")
    try:
        if cross:
            return {"nodes": int(nodes), "devices_per_node": int(size), **rates}
        return {"nodes": [int(count) for count in sizes.split(",")], **rates}
    except ValueError:
        raise ValueError(
            f'cluster: expected nodes x devices a node such as "6x4", or the devices '
            f'of each node such as "4,4,8", got {cluster!r}'
        ) from None


def _plain(value: Any) -> Any:
    """Converts sets, tuples and ranges to lists."""
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        return value
    return sorted(value) if isinstance(value, (set, frozenset)) else list(value)
