"""How the participants of a job's next migration find each other."""

from __future__ import annotations

import json
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from etc.attendance import Attendance, Recovering, withdraw
from etc.errors import PeerError, UsageError
from etc.plans import Plan
from etc.rendezvous import StoreAdapter

_LOOK = 0.001
_SLICE = 0.25
"""Between two looks at who failed or left."""
_PAUSE = 0.05
_STALE = 10.0
"""For how long who holds state waits behind a meeting that had failed before."""


@dataclass
class Attendee:
    """What a process says of itself."""

    device: int
    holds: bool
    """State, all of one step: otherwise it goes by what the others say."""
    version: int | None
    nonce: str = field(default_factory=lambda: uuid.uuid4().hex)

    def pack(self) -> str:
        return json.dumps([self.device, self.holds, self.version, self.nonce])

    @classmethod
    def unpack(cls, text: bytes | str) -> Attendee:
        return cls(*json.loads(text))


@dataclass(frozen=True)
class Met:
    tag: str
    """Of this meeting alone: every participant has it."""
    generation: int
    version: int | None
    """The step that all who hold state are at."""


class _LaterRecovery(Exception):
    """The job has recovered since."""


class Meeting:
    """Participants meet under a number that the first of them draws for each attempt.
    The others answer it, whether they were there at earlier attempts or not, so a
    process needs no memory of them. Who waits learns who failed in the meantime.

    A process that holds nothing joins the job as it is after its last recovery."""

    def __init__(
        self,
        adapter: StoreAdapter,
        attendance: Attendance,
        *,
        tag: str,
        plan: Plan,
        timeout: float,
    ) -> None:
        self._adapter = adapter
        self._attendance = attendance
        self._recovering = Recovering(adapter, tag, plan)
        self._tag = tag
        self._plan = plan
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._generation = 0
        self._base = ""
        self._number: str | None = None  # of the attempt that this process is in

    def hold(self, me: Attendee, generation: int) -> Met:
        """Raises PeerError if another participant does not come, fails or leaves, and
        UsageError if those who hold state hold it of different steps."""
        self._generation = generation
        rank = self._plan.rank_of(me.device)
        while True:
            withdraw(self._adapter, self._tag, me.device, self._generation)
            self._base = f"{self._tag}/{self._generation}/{self._plan.fingerprint}"
            self._number = None
            try:
                attendees = self._lead(me) if rank == 0 else self._follow(me, rank)
                break
            except _LaterRecovery:
                if me.holds:
                    raise PeerError(
                        f"the others have agreed on recovery {self._generation + 1} "
                        f"without this process; call etc.recover"
                    ) from None
                self._generation += 1
            except BaseException as error:
                self._fail(me.device, error)
                raise
        return Met(
            f"{self._base}/{self._number}", self._generation, _one_version(attendees)
        )

    def _lead(self, me: Attendee) -> list[Attendee]:
        self._number = uuid.uuid4().hex
        self._adapter.set(f"{self._base}/meeting", self._number.encode())
        attendees = [me]
        for rank in range(1, len(self._plan.participants)):
            key = self._key(str(rank))
            while (answer := self._adapter.get(key, _SLICE)) is None:
                self._check()
            attendees.append(Attendee.unpack(answer))
        met = json.dumps([each.pack() for each in attendees])
        self._adapter.set(self._key("met"), met.encode())
        return attendees

    def _follow(self, me: Attendee, rank: int) -> list[Attendee]:
        begin = time.monotonic()
        over = None  # an attempt that this process has no part in
        cause = ""
        while True:
            number = self._adapter.get(f"{self._base}/meeting", _SLICE)
            if number is None or number == over:
                time.sleep(_PAUSE)
            elif number.decode() != self._number:
                self._number = number.decode()
                cause = self._cause()
                if cause:
                    over, self._number = number, None
                else:
                    self._adapter.set(self._key(str(rank)), me.pack().encode())
            else:
                met = self._adapter.get(self._key("met"), _SLICE) or b"[]"
                attendees = [Attendee.unpack(each) for each in json.loads(met)]
                if me.nonce in (each.nonce for each in attendees):
                    return attendees
                if attendees:
                    over, self._number = number, None
            if cause and me.holds and time.monotonic() - begin > _STALE:
                raise PeerError(cause)
            self._check()

    def _key(self, name: str) -> str:
        return f"{self._base}/{self._number}/{name}"

    def _cause(self) -> str:
        """Why the meeting has failed, or ""."""
        if self._number is None:
            return ""
        return (self._adapter.get(self._key("failed"), _LOOK) or b"").decode()

    def _check(self) -> None:
        """Raises what ends the wait."""
        cause = self._cause()
        if cause:
            raise PeerError(cause)
        later = f"{self._tag}/recovery/{self._generation + 1}/members"
        if self._adapter.get(later, _LOOK) is not None:
            raise _LaterRecovery
        self._attendance.check()
        self._recovering.check(self._generation)
        if time.monotonic() > self._deadline:
            raise PeerError(f"{self._missing()} within {self._timeout:g} s")

    def _missing(self) -> str:
        for rank, device in enumerate(self._plan.participants):
            key = self._key(str(rank)) if rank else f"{self._base}/meeting"
            if self._adapter.get(key, _LOOK) is None:
                return f"participant {rank} (device {device}) is not there"
        return f"participant 0 (device {self._plan.participants[0]}) does not answer"

    def _fail(self, device: int, error: BaseException) -> None:
        """Tells the others, unless one of them has told this process."""
        if self._number is None:
            return
        text = str(error)
        if not isinstance(error, PeerError):
            text = f"device {device}: {type(error).__name__}: {error}"
        with suppress(Exception):  # of the store: the first error counts
            if not self._cause():
                self._adapter.set(self._key("failed"), text.encode())


def _one_version(attendees: list[Attendee]) -> int | None:
    holders = [each for each in attendees if each.holds]
    for each in holders:
        if each.version is None:
            raise UsageError(
                f"device {each.device} holds state of a step that did not end; call "
                f"etc.recover"
            )
        if each.version != holders[0].version:
            raise different_steps(
                f"device {holders[0].device} of step {holders[0].version}",
                f"device {each.device} of step {each.version}",
            )
    return holders[0].version if holders else None


def different_steps(*who: Any) -> UsageError:
    return UsageError(
        f"participants hold state of different steps, {' and '.join(who)}; call "
        f"etc.recover"
    )
