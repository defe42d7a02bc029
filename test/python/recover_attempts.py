"""How the processes of a trainer recover: whoever gets an error tries again at once."""

from __future__ import annotations

from typing import Any

from recover_oracle import Wrong
from recover_worker import Process, hear_any

_MOST = 5


class Attempts:
    """Processes that were told to recover, once so far.

    One that fails tries again, with a later recovery if it was part of this one. Who
    has succeeded joins it: the trainer's next collective fails. What nobody holds ends
    the attempts.
    """

    def __init__(
        self, processes: dict[int, Process], generation: int, options: dict[str, Any]
    ) -> None:
        self.processes = processes
        self.options = options
        self.tries = dict.fromkeys(processes, 1)
        self.goal = generation + 1
        self.answers: dict[int, dict] = {}
        self.first: dict[int, dict] = {}
        """The answers to the first attempt."""
        self.unreadable: list[int] = []
        """Ended, since their GPUs have not done what an attempt began."""

    @property
    def are_several(self) -> bool:
        return max(self.tries.values()) > 1

    def again(self) -> None:
        """All try once more."""
        for device in self.processes:
            self._tell(device)

    def wait(self) -> dict[int, dict]:
        """The last answers: all are fine, or one names what is lost."""
        while len(self.answers) < len(self.processes):
            waiting = set(self.processes) - set(self.answers)
            device, answer = hear_any({d: self.processes[d] for d in waiting})
            self.answers[device] = answer
            self.first.setdefault(device, answer)
            is_lost = any("nobody holds" in a["message"] for a in self.answers.values())
            if answer["error"] and not is_lost:
                self._try_again(device, answer)
            if not is_lost:
                self._follow()
        return self.answers

    def _try_again(self, device: int, answer: dict) -> None:
        if answer["is_unreadable"]:
            self.unreadable.append(device)
            del self.answers[device]
            self.processes.pop(device).end()
            return
        is_expected = answer["error"] in ("PeerError", "KeyboardInterrupt")
        if not is_expected or self.tries[device] == _MOST:
            raise Wrong(f"device {device}, attempt {self.tries[device]}: {answer}")
        self._tell(device)

    def _follow(self) -> None:
        """Who is done with a recovery after which others have begun one."""
        for device, answer in list(self.answers.items()):
            if answer["generation"] < self.goal:
                self._tell(device)

    def _tell(self, device: int) -> None:
        self.tries[device] += 1
        self.goal = max(self.goal, self.answers.pop(device)["generation"] + 1)
        self.processes[device].tell("recover", **self.options)
