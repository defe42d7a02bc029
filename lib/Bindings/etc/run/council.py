"""Who is a member: what the leading agent decides from the reports of all agents.

No input or output is here, and no clock. A report says all that an agent knows of its
workers; decisions depend on the last report of each agent and on the last world, which
every agent has. So another agent can take over at any time, and decides the same.

A *world* is a list of members with a number, its generation. The next one is formed
when all members of the last one that live have arrived at a boundary of a step, or have
failed in one, and wait.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from etc.run.members import Member, Report, World, key_of


@dataclass(frozen=True)
class Rules:
    """How a job forms worlds."""

    min_nodes: int
    max_nodes: int
    patience: float = 60.0
    """Seconds after which a member that does not arrive is given up."""
    last_call: float = 1.0
    """Seconds to wait for more nodes than needed, at the start."""


@dataclass
class Decisions:
    """What is to be told to all agents."""

    world: World | None = None
    want: tuple[int, bool] | None = None
    """(generation, whether it is void: a member failed, and nothing in it will end)"""
    give_up: dict[str, str] = field(default_factory=dict)
    """{member: why}."""
    over: str = ""
    """Why nobody needs to wait any more."""
    lacks: str = ""
    """What keeps those who have arrived waiting for others."""


class Council:
    """The leading agent's memory."""

    def __init__(self, rules: Rules, world: World | None, awaited: set[str]) -> None:
        self.world = world
        self._rules = rules
        self.awaited = awaited
        """Agents that have not reported to this leader yet."""
        self.has_trained = False
        """Whether any agent has ever known of a step."""
        self._nodes: dict[str, Report] = {}
        self._gone: dict[str, tuple[Report | None, bool]] = {}
        """Agents that were lost: the last report; whether they were silent only."""
        self._changed_at = 0.0
        self._waits_since: tuple[int, float] | None = None
        self._first_failed: str | None = None

    def update(self, report: Report, now: float) -> None:
        """An agent tells what it has."""
        known = self._nodes.get(report.id)
        if known is None or _arrivals(known) != _arrivals(report):
            self._changed_at = now
        self._nodes[report.id] = deepcopy(report)
        self.has_trained |= report.has_trained
        self._gone.pop(report.id, None)
        self.awaited.discard(report.id)
        if self._first_failed is None:
            failed = [m for m in report.members if self._has_failed(report, m)]
            self._first_failed = key_of(report, failed[0]) if failed else None

    def adopt(self, world: World | None) -> None:
        """Another agent may have a later world than this leader."""
        if world and (not self.world or world.generation > self.world.generation):
            self.world = world

    def lost(self, node: str, silent: bool) -> None:
        """An agent's connection was closed, or gives no sign of life."""
        self.awaited.discard(node)
        self._gone[node] = self._nodes.pop(node, None), silent

    @property
    def has_quorum(self) -> bool:
        """Whether agents that may be alive elsewhere are too few to go on without us.

        A closed connection is a death; silence may be a network that fails."""
        if self.world is None:
            return True
        nodes = list(dict.fromkeys(m.node for m in self.world.members))
        silent = [n for n in nodes if n in self._gone and self._gone[n][1]]
        here = [n for n in nodes if n in self._nodes]
        if len(silent) == len(here) and here:
            return nodes.index(here[0]) < nodes.index(silent[0])
        return len(here) >= len(silent)

    def decide(self, now: float) -> Decisions:
        """What follows from all that is known."""
        if self.awaited:
            return Decisions()
        decisions = Decisions(give_up=self._stale())
        if self._is_over():
            decisions.over = "the job is done"
        elif not self.world or not self._alive_in_world():
            self._decide_start(now, decisions)
        else:
            self._decide_change(now, decisions)
        return decisions

    # ---- The first world, and the next one after all members were lost.

    def _decide_start(self, now: float, decisions: Decisions) -> None:
        nodes = [n for n in self._usable_nodes() if _all_arrived(n)]
        complete = len(nodes) >= self._rules.max_nodes
        late = now - self._changed_at >= self._rules.last_call
        if len(nodes) >= self._rules.min_nodes and (complete or late):
            members = [(n, m) for n in nodes for m in n.members if m.phase == "arrived"]
            decisions.lacks = self._too_few(members)
            if not decisions.lacks:
                decisions.world = self._form(members, [])

    # ---- A world after a world.

    def _decide_change(self, now: float, decisions: Decisions) -> None:
        assert self.world is not None
        alive = self._alive_in_world()
        stays = [key for key, (_, m) in alive.items() if not m.draining]
        lost = self._lost_members()
        failed = [m for _, m in alive.values() if self._failed_here(m)]
        placed = [m.key for m in self.world.members if m.role == "stay"]
        here = [m for key, (_, m) in alive.items() if key in placed]
        drains = [m for m in here if m.draining and not _has_none(m)]
        # Who was told of a reason that is gone waits all the same.
        waiting = [m for m in here if self._waits(m)]
        joiners = self._joiners()
        multiple = self._multiple()
        can_grow = (len(stays) + len(joiners)) // multiple * multiple > len(placed)
        void = bool(lost or failed)
        if not (void or drains or waiting or can_grow):
            return
        decisions.want = self.world.generation, void
        late = [
            key
            for key, (_, m) in alive.items()
            if not (self._waits(m) or _has_none(m))
        ]
        if late:
            self._give_up_late(late, alive, now, decisions)
            return
        kept = [(n, m) for n, m in alive.values() if not m.draining] + joiners
        leaving = [(n, m) for n, m in alive.values() if m.draining]
        if self.has_quorum:
            waits = kept and "done" not in self._phases_of_stays()
            decisions.lacks = self._too_few(kept) if waits else ""
            if not decisions.lacks:
                decisions.world = self._form(kept, leaving)

    def _too_few(self, members: list[tuple[Report, Member]]) -> str:
        """A world without ranks would have no place for the state."""
        nodes, needed = len({n.id for n, _ in members}), self._rules.min_nodes
        if nodes < needed:
            return (
                f"the job needs {needed} nodes (--nnodes), and would go on with "
                f"{nodes}; all workers wait for others"
            )
        multiple = self._multiple()
        if len(members) < multiple:
            return (
                f"{len(members)} workers are too few for multiple_of={multiple}; "
                f"they wait for others"
            )
        return ""

    def _give_up_late(
        self,
        late: list[str],
        alive: dict[str, tuple[Report, Member]],
        now: float,
        decisions: Decisions,
    ) -> None:
        """Members for whom others have waited too long; not while all of the state is
        theirs, since nothing would be left. Time-outs of groups end what they do."""
        assert self.world is not None
        holders = [key for key, (_, m) in alive.items() if m.layout >= 0]
        if len(late) == len(alive) or (holders and set(holders) <= set(late)):
            return
        since = self._waits_since
        if since is None or since[0] != self.world.generation:
            self._waits_since = self.world.generation, now
        elif now - since[1] > self._rules.patience:
            why = f"it did not arrive within {self._rules.patience:g} s"
            decisions.give_up.update((key, why) for key in late)

    def _form(
        self,
        kept: list[tuple[Report, Member]],
        leaving: list[tuple[Report, Member]],
    ) -> World:
        """Members in the order of nodes, so that neighbours are on one node."""
        kept = sorted(kept, key=_place)
        multiple = self._multiple()
        count = len(kept) // multiple * multiple
        # Who holds state stays.
        chosen = sorted(kept, key=lambda each: each[1].layout < 0)[:count]
        spare = [e for e in kept if e not in chosen and e[1].layout >= 0]
        listed = [(each, "stay") for each in sorted(chosen, key=_place)]
        listed += [(each, "spare") for each in spare]
        listed += [(each, "leave") for each in leaving if each[1].layout >= 0]
        members = [m.as_placed(n, role) for (n, m), role in listed]
        last = self.world
        generation = (last.generation if last else 0) + 1
        repeats = 0
        if last and not any(m.layout < 0 for m in members if m.role == "stay"):
            same = [m.key for m in members] == [m.key for m in last.members]
            version = max((m.version for m in members), default=0)
            before = max((m.version for m in last.members), default=-1)
            repeats = last.repeats + 1 if same and version <= before + 1 else 0
        host, port = "", 0
        if members:
            first = next(n for (n, _), _ in listed)
            host, port = first.host, first.store_port
        world = World(
            generation,
            members,
            host,
            port,
            repeats,
            self._first_failed,
            self.has_trained,
        )
        self.world = world
        self._first_failed = None
        self._waits_since = None
        return world

    # ---- Who is what.

    def _members(self) -> dict[str, tuple[Report, Member]]:
        return {
            key_of(n, m): (n, m)
            for n in self._nodes.values()
            for m in n.members
            if m.phase in ("starting", "active", "arrived")
        }

    def _alive_in_world(self) -> dict[str, tuple[Report, Member]]:
        """Members of the last world that may take part in the next one."""
        assert self.world is not None
        listed = {m.key for m in self.world.members}
        return {k: each for k, each in self._members().items() if k in listed}

    def _phases(self) -> dict[str, str]:
        reports = [*self._nodes.values(), *(r for r, _ in self._gone.values() if r)]
        return {key_of(n, m): m.phase for n in reports for m in n.members}

    def _is_over(self) -> bool:
        """Whether members of the last world have finished, and none goes on."""
        if self.world is None:
            return False
        stays = self._phases_of_stays()
        return "done" in stays and not {"active", "arrived"} & set(stays)

    def _phases_of_stays(self) -> list[str | None]:
        """Of the last world's ranks; where one is done, nobody comes any more."""
        assert self.world is not None
        phases = self._phases()
        return [phases.get(m.key) for m in self.world.members if m.role == "stay"]

    def _lost_members(self) -> list[str]:
        """Who was to go on; while the change is under way, also who was to hand over
        its state, since all wait for it."""
        assert self.world is not None
        alive, phases = self._members(), self._phases()
        is_under_way = any(
            m.key in alive and alive[m.key][1].layout != self.world.generation
            for m in self.world.members
            if m.role == "stay"
        )
        return [
            m.key
            for m in self.world.members
            if (m.role == "stay" or is_under_way)
            and m.key not in alive
            and phases.get(m.key) != "done"
        ]

    def _joiners(self) -> list[tuple[Report, Member]]:
        """Processes that wait for a place. Those of a node come together."""
        assert self.world is not None
        listed = {m.key for m in self.world.members}
        found = []
        for node in self._usable_nodes():
            new = [m for m in node.members if key_of(node, m) not in listed]
            if not any(m.phase == "starting" for m in new):
                found += [(node, m) for m in new if m.phase == "arrived"]
        return found

    def _usable_nodes(self) -> list[Report]:
        """Not draining, and no more than the job may have: the oldest."""
        nodes = sorted(self._nodes.values(), key=lambda node: node.order)
        return [n for n in nodes if not n.draining][: self._rules.max_nodes]

    def _stale(self) -> dict[str, str]:
        """Members that others went on without."""
        if self.world is None:
            return {}
        listed = {m.key for m in self.world.members}
        return {
            key: "the others went on without it"
            for key, (_, m) in self._members().items()
            if key not in listed and (m.phase == "active" or m.layout >= 0)
        }

    def _waits(self, member: Member) -> bool:
        """At the boundary after the last world."""
        assert self.world is not None
        return member.phase == "arrived" and member.generation == self.world.generation

    def _failed_here(self, member: Member) -> bool:
        return self._waits(member) and member.failed

    def _has_failed(self, report: Report, member: Member) -> bool:
        return self.world is not None and self._failed_here(member)

    def _multiple(self) -> int:
        return max([1, *(m.multiple for _, m in self._members().values())])


def _arrivals(report: Report) -> list[Any]:
    return [(m.local, m.life, m.phase) for m in report.members]


def _has_none(member: Member) -> bool:
    """It waits and has no state, so that it can end at any time."""
    return member.phase == "arrived" and member.layout < 0


def _all_arrived(node: Report) -> bool:
    phases = [m.phase for m in node.members if m.phase not in ("dead", "done")]
    return bool(phases) and all(phase == "arrived" for phase in phases)


def _place(each: tuple[Report, Member]) -> tuple[int, int]:
    node, member = each
    return node.order, member.local
