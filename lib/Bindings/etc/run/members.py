"""What agents tell each other about workers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Member:
    """A worker, as its agent knows it."""

    local: int
    """Its number on the node."""
    life: int
    """How many processes had this number before."""
    phase: str = "starting"
    """starting; arrived: it waits for a world; active: it has one; done; dead."""
    generation: int = 0
    """Of the last world that it was in."""
    version: int = 0
    """How many steps its state has seen."""
    layout: int = -1
    """The generation in which its state was laid out; -1 without state."""
    was: int = 0
    """Its rank in that generation."""
    ready: bool = False
    """It has all gradients of the next step."""
    failed: bool = False
    """It arrived because something raised."""
    draining: bool = False
    multiple: int = 1
    """The number of members has to be a multiple of this."""

    def as_placed(self, node: Report, role: str) -> Placed:
        return Placed(
            key_of(node, self),
            node.id,
            role,
            self.version,
            self.layout,
            self.was,
            self.ready,
        )


@dataclass
class Report:
    """What an agent has."""

    id: str
    order: int
    """By which nodes are numbered: in that of their arrival."""
    name: str
    host: str
    port: int
    """At which it listens to other agents."""
    store_port: int
    """Of its TCPStore."""
    draining: bool = False
    has_trained: bool = False
    """It knows of a step that the job has made."""
    members: list[Member] = field(default_factory=list)


@dataclass
class Placed:
    """A member of a world."""

    key: str
    node: str
    role: str
    """stay; leave: it hands over its state and ends; spare: it does, and waits."""
    version: int
    layout: int
    was: int
    ready: bool


@dataclass
class World:
    """Who trains together: member i that stays is rank i."""

    generation: int
    members: list[Placed]
    """Those that stay come first."""
    host: str
    """Where the store of this generation is: rank 0's agent."""
    port: int
    repeats: int = 0
    """How often these members have met again at the same step."""
    first_failed: str | None = None
    """The member that failed first in the last world."""
    has_trained: bool = False
    """The job has made a step: where no member holds state, it is lost."""


def key_of(node: Report, member: Member) -> str:
    """The name of one process."""
    return f"{node.id}/{member.local}/{member.life}"


def pack(value: Any) -> dict[str, Any]:
    return asdict(value)


def read_report(data: dict[str, Any]) -> Report:
    """Raises TypeError or KeyError where a message is none."""
    members = [Member(**member) for member in data["members"]]
    return Report(**{**data, "members": members})


def read_world(data: dict[str, Any] | None) -> World | None:
    """Raises TypeError or KeyError where a message is none."""
    if data is None:
        return None
    members = [Placed(**member) for member in data["members"]]
    return World(**{**data, "members": members})
