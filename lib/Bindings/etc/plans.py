"""Plans: what moves where, as objects."""

from __future__ import annotations

import functools
import importlib
import json
import math
import os
import pathlib
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from etc import _run
from etc.errors import UsageError
from etc.roles import Role

PREV, CURR = 0, 1


def planner() -> Any:
    """The planner's module, or None if it is not installed."""
    try:
        return importlib.import_module("etc._plan")
    except ImportError:
        return None


Box = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class TensorSpec:
    """The shard of one tensor that a device holds."""

    shape: tuple[int, ...]
    """Of the local tensor, which is contiguous; one axis where there are several
    boxes."""
    dtype: str
    """"bf16", "fp16", "fp32", "fp64", "i64" or "u8"."""
    boxes: tuple[Box, ...]
    """Where that is in the whole tensor: (begin, end) of every axis of
    `global_shape`. Memory holds the boxes one after the other."""
    global_shape: tuple[int, ...]
    """The planning shape, which may factor an axis: [2, F, h] for gated fc1."""
    bytes: int
    deferred: bool = False
    """Whether it moves after the pause."""


class _Figures:
    """Read-only attributes from a dictionary."""

    def __init__(self, figures: dict[str, Any]) -> None:
        for name, value in figures.items():
            nested = _Figures(value) if isinstance(value, dict) else value
            object.__setattr__(self, name, nested)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name}: figures do not change")

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain dictionaries."""
        return {
            name: value.to_dict() if isinstance(value, _Figures) else value
            for name, value in vars(self).items()
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Figures) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__.lstrip('_')}({inside})"


class Summary(_Figures):
    """What a plan moves, keeps and needs; str() gives a few lines of text.

    Bytes are over all devices: moved_bytes, kept_bytes, zeroed_bytes,
    derived_bytes, internode_bytes, relayed_bytes (forwarded by devices that
    received them), transit_bytes (received only to be passed on); of the
    busiest device: max_send_bytes, max_recv_bytes. `bound` has lower bounds over all
    assignments of roles, tied copies counted separately (moved_bytes, internode_bytes,
    bottleneck_bytes), which are 0 for slices. `paper_policy` is what the paper's method moves, or None.
    deferred_rounds are the last ones, after the pause.
    peak_ratio and peak_ratio_safe are the worst device's peak over max(prev, curr) in
    eager and safe mode. `time` has seconds at the rates of `cluster`, which is assumed
    (`assumed`) if the request named none: bound_s, which no routing of the plan's roles
    is below (0 if unknown), for the reason that `witness` gives; port_s of the busiest
    link or NIC; predicted_s, simulated; and roles_bound_s, which no roles that the
    request allows are below (0 if unknown), with roles_witness. It is None for slices.
    """

    moved_bytes: int
    internode_bytes: int
    deferred_rounds: int
    bound: Any
    _text: str

    def __init__(self, figures: dict[str, Any], text: str) -> None:
        super().__init__(figures)
        object.__setattr__(self, "_text", text)

    def to_dict(self) -> dict[str, Any]:
        figures = super().to_dict()
        del figures["_text"]
        return figures

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in self.to_dict().items())
        return f"Summary({inside})"

    def __str__(self) -> str:
        return self._text


def _format_bytes(count: int) -> str:
    value = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.995:
            break
        value /= 1000
    else:
        unit = "PB"
    return f"{count} B" if unit == "B" else f"{value:.2f} {unit}"


class Plan:
    """A checked migration plan. It is immutable; threads may share it."""

    def __init__(self, handle: _run.Plan) -> None:
        """Use `etc.plan`, `Plan.load` or `Plan.from_bytes`."""
        self._handle = handle

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Opens a plan file and checks it completely.

        Raises PlanError if it is damaged, of another version or breaks a rule, and
        UsageError if it cannot be read.
        """
        return cls(_run.Plan.open(os.fspath(path)))

    @classmethod
    def from_bytes(cls, data: bytes) -> Plan:
        """The plan in `data`, the contents of a plan file, with the same checks."""
        return cls(_run.Plan.read(data))

    def to_bytes(self) -> bytes:
        """The contents of the plan file: equal plans give equal bytes."""
        return self._handle.bytes()

    def slice(self, participant: int) -> Plan:
        """The part of the plan that one participant runs: kilobytes, not the whole.

        One process plans and hands the slices out, as bytes. A slice has the plan's
        fingerprint, so that participants with slices and with the whole plan migrate
        together. It describes its own participant only, has no placements, and cannot
        be shown or continued from.
        """
        return Plan(self._handle.slice(participant))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan file that `Plan.load` and etc-run read.

        It is written under a temporary name beside: what `path` names stays until the
        file is whole.
        """
        target = pathlib.Path(path).resolve()
        exists = target.exists()
        if exists and not target.is_file():  # a pipe or a device stays what it is
            pathlib.Path(path).write_bytes(self.to_bytes())
            return
        unique = f"{os.getpid()}-{threading.get_ident()}"
        draft = target.with_name(f"{target.name}.{unique}.part")
        try:
            draft.write_bytes(self.to_bytes())
            if exists:
                draft.chmod(target.stat().st_mode & 0o7777)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)

    def to_json(self, devices: Iterable[int] | None = None) -> dict[str, Any]:
        """The plan in its public interchange form, as json.dump would write it.

        `devices` selects devices; None selects all. Needs the planner.
        """
        module = planner()
        if module is None:
            raise UsageError("to_json needs the planner (libetc-plan.so)")
        wanted = None if devices is None else list(devices)
        return json.loads(module.json(self.to_bytes(), wanted))

    def ranks(self, hosts: Iterable[str] = ()) -> dict[str, Any]:
        """The rank of every device, and files for launchers.

        `hosts` names the nodes; by default they are node0, node1, ... The format is
        that of docs/ranks.md. Needs the planner.
        """
        module = planner()
        if module is None:
            raise UsageError("ranks needs the planner (libetc-plan.so)")
        return json.loads(module.ranks(self.to_bytes(), list(hosts)))

    def report(self, rates: tuple[float, float] | None = None) -> str:
        """The plan as one self-contained HTML page.

        Times are predicted for `rates`, GB/s of a device between nodes and inside
        one; by default, for the cluster of the plan. Needs the planner.
        """
        module = planner()
        if module is None:
            raise UsageError("report needs the planner (libetc-plan.so)")
        return module.report(self.to_bytes(), rates)

    def verify(self) -> None:
        """Checks the plan's rules again, box by box, and the proofs of its bounds.

        Rules are also checked when a Plan is created, and proofs when it first shows
        bounds. Raises PlanError.
        """
        self._handle.verify()

    @functools.cached_property
    def fingerprint(self) -> int:
        """A 64-bit hash, which is the same for equal plans on any machine."""
        return self._handle.fingerprint()

    @property
    def model(self) -> str:
        """The model's name: "gpt2"."""
        return self._handle.model()

    @property
    def prev(self) -> str:
        """The configuration before: "PP4TP2"."""
        return self._handle.label(PREV)

    @property
    def curr(self) -> str:
        """The configuration after."""
        return self._handle.label(CURR)

    @functools.cached_property
    def configuration(self) -> dict[str, dict[str, Any]]:
        """{"prev": {"pp": 4, "tp": 2, ...}, "curr": {...}}: the sizes of the grids,
        "order" of their ranks, "distributed_optimizer", and "inventory" if the side has
        no grid."""
        return {
            "prev": self._handle.configuration(PREV),
            "curr": self._handle.configuration(CURR),
        }

    @functools.cached_property
    def nodes(self) -> list[int]:
        """The number of devices of each node."""
        return self._handle.nodes()

    @functools.cached_property
    def participants(self) -> list[int]:
        """The participating devices, ascending; process rank r runs entry r."""
        return self._handle.participants()

    @functools.cached_property
    def placement(self) -> dict[str, list[int]]:
        """{"prev": [device of rank 0, 1, ...], "curr": [...]}."""
        return {
            "prev": self._handle.placement(PREV),
            "curr": self._handle.placement(CURR),
        }

    @functools.cached_property
    def summary(self) -> Summary:
        """What the plan moves, keeps and needs."""
        figures = self._handle.summary()
        # A slice has no placements, and the planner describes whole plans.
        module = planner() if self.placement["curr"] else None
        text = module.summary(self.to_bytes()) if module else self._describe(figures)
        return Summary(figures, text.rstrip("\n"))

    @functools.cached_property
    def _deferred_rounds(self) -> int:
        """The summary's, without its text, for which the planner reads the whole plan."""
        return int(self._handle.summary()["deferred_rounds"])

    @functools.cached_property
    def certificates(self) -> list[dict[str, Any]]:
        """The proofs of the summary's bounds: quantity, scope, bytes, covers,
        bound_bytes, row_duals and column_duals; docs/plan-format.md has them."""
        return self._handle.certificates()

    def prev_role(self, device: int) -> Role | None:
        """The role that the device had: {"pp": 0, "tp": 1, "dp": 0, "cp": 0,
        "rank": 1}, or None. Raises UsageError for a slice, which has no placements."""
        return self._role(PREV, device)

    def curr_role(self, device: int) -> Role | None:
        """The role that the device takes, or None. Raises UsageError for a slice."""
        return self._role(CURR, device)

    def _role(self, side: int, device: int) -> Role | None:
        placement = self._handle.placement(side)
        if not self.placement["curr"]:
            raise UsageError(
                "a slice has no placements; ask the whole plan, where it was made"
            )
        if device not in placement:
            return None
        rank = placement.index(device)
        if self._handle.configuration(side)["inventory"]:
            return {"rank": rank}
        return {**self._handle.coordinates(side, rank), "rank": rank}

    def prev_tensors(self, device: int) -> dict[str, dict[str, TensorSpec]]:
        """{type: {name: TensorSpec}} of the device's previous state."""
        return self._tensors(PREV, device)

    def curr_tensors(self, device: int) -> dict[str, dict[str, TensorSpec]]:
        """{type: {name: TensorSpec}} of the device's current state."""
        return self._tensors(CURR, device)

    def rank_of(self, device: int) -> int:
        """The process rank that runs a device. Raises ValueError if none does."""
        try:
            return self.participants.index(device)
        except ValueError:
            raise ValueError(
                f"device {device} takes no part in this plan; its participants are "
                f"{_shorten(self.participants)}"
            ) from None

    def _tensors(self, side: int, device: int) -> dict[str, dict[str, TensorSpec]]:
        tensors: dict[str, dict[str, TensorSpec]] = {}
        for (kind, name), spec in self._specs(side, device).items():
            tensors.setdefault(kind, {})[name] = spec
        return tensors

    def _specs(self, side: int, device: int) -> dict[tuple[str, str], TensorSpec]:
        """The same by (type, name), in the order of the C API's indices."""
        rows = self._handle.tensors(side, self.rank_of(device))
        return {
            (kind, name): TensorSpec(shape, dtype, boxes, whole, size, deferred)
            for kind, name, dtype, shape, size, whole, boxes, deferred in rows
        }

    def _describe(self, figures: dict[str, Any]) -> str:
        held = sum(
            figures[f"{what}_bytes"] for what in ("moved", "kept", "zeroed", "derived")
        )
        share = 100 * figures["moved_bytes"] / held if held else 0.0
        prev, curr = (
            math.prod(side[size] for size in ("pp", "tp", "cp", "dp"))
            for side in self.configuration.values()
        )
        moved, internode = (
            _format_bytes(figures[f"{what}_bytes"]) for what in ("moved", "internode")
        )
        bound = figures["bound"]
        bounds = ""  # a slice has no proof of them
        if self.placement["curr"]:
            bounds = (
                f"  bound    {_format_bytes(bound['moved_bytes'])}, "
                f"{_format_bytes(bound['internode_bytes'])} between nodes\n"
            )
        return (
            f"{self.model}: {self.prev} -> {self.curr}, {prev} -> {curr} devices\n"
            f"  moves    {moved} of {_format_bytes(held)} ({share:.1f}%), {internode} "
            f"between nodes\n"
            f"{bounds}"
            f"  memory   peak {figures['peak_ratio']:.4f} x max(prev, curr) at worst\n"
            f"  rounds   {figures['rounds']}"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        return Plan.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return (
            f"Plan({self.model}: {self.prev} -> {self.curr}, "
            f"{len(self.participants)} participants, "
            f"moves {_format_bytes(self.summary.moved_bytes)})"
        )


def _shorten(values: list[int], most: int = 16) -> str:
    text = ", ".join(str(value) for value in values[:most])
    return text + (", ..." if len(values) > most else "")
