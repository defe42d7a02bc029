"""Faults in a job of processes, and what is expected of it then."""

from __future__ import annotations

import signal
import tempfile
from dataclasses import dataclass

import etc
import training
from recover_attempts import Attempts
from recover_injury import Injury
from recover_job import Job
from recover_oracle import (
    Wrong,
    causes,
    check_loss,
    has_committed,
    newest,
    noticed,
    size,
    size_of,
)
from recover_worker import DEVICES, SHAPES, Limits, Process


@dataclass
class Fault:
    """What happens, when, and to whom."""

    phase: str
    kind: str
    leads: bool  # the victim is the hub or the lowest device
    is_full: bool  # as many join as there are devices

    @property
    def is_fatal(self) -> bool:
        """The others go on without the victim."""
        return self.kind in ("kill", "stop")


@dataclass
class Expected:
    """What a recovery has to lead to."""

    version: int | None  # the newest step that is complete, where that is certain
    may_lose: bool


class Driver(Job):
    """Faults, one after another."""

    def __init__(self, seed: int, directory: str) -> None:
        super().__init__(seed, directory)
        self.injury = Injury("", self.random)
        self.notices: list[float] = []
        self.causes: list[int] = []

    @property
    def kind(self) -> str:
        return self.injury.kind

    def choose(self, leads: bool) -> int:
        """The victim: one with a role, or the hub, or the first of all."""
        if not leads:
            return self.random.choice(
                [d for d in self.processes if self.last[d]["role"]]
            )
        hub = next(iter(self.last.values()))["hub"]
        lowest = min(self.processes)
        return hub if hub in self.processes and self.random.random() < 0.5 else lowest

    def give_up(self, device: int, kind: str) -> None:
        """The job goes on without it."""
        process = self.processes.pop(device)
        if kind == "stop":
            self.gone = process
        else:
            process.end()

    def fault(self, fault: Fault) -> str:
        """One fault, and the recovery; what came of it."""
        victim = self.choose(fault.leads)
        self.injury = Injury(fault.kind, self.random)
        mode = self.random.choice(["eager", "safe"])
        members = list(self.processes)
        late = self.begin(fault.phase, victim, mode)
        if fault.phase == "recover" or fault.is_fatal:
            self.give_up(victim, "kill" if fault.phase == "recover" else fault.kind)
        answers = self.collect()
        is_new = self.check_tail(answers) if fault.phase == "tail" else False
        if fault.phase != "recover":
            self.look(fault.phase, answers, victim)
            if not late and not fault.is_fatal and self.is_unharmed(answers):
                self.verify()
                return "nobody noticed"
        is_unreadable = self.end_unreadable(answers)
        is_fatal = is_unreadable or fault.is_fatal
        version = newest(answers)
        is_on_its_way = fault.phase in ("run", "tail") and not is_new
        expected = Expected(
            version,
            version is None or (is_on_its_way and is_fatal and mode == "eager"),
        )
        outcome = self.recover(fault, members, answers, expected)
        if self.gone is not None:
            self.wake(members)
        if fault.phase == "tail":
            outcome = f"{mode}{', committed' if is_new else ''}: {outcome}"
        if is_unreadable:
            outcome += ", a GPU could not be read"
        return outcome + (", some a step behind" if late else "")

    def begin(self, phase: str, victim: int, mode: str) -> list:
        """What the job does while it happens; who stays a step behind."""
        if phase == "step":
            return self.train_without(victim)
        if phase == "tail":
            self.fail_in_tail(victim, mode)
        elif phase in ("prepare", "run"):
            self.migrate(phase, victim, mode)
        else:
            self.tell_all("check")
            self.processes[victim].process.kill()
        return []

    def end_unreadable(self, answers: dict) -> bool:
        """Ends those whose GPUs have not done what was begun: the library says so, and
        that a new process is needed. Whether there are any."""
        found = [d for d, a in answers.items() if a["is_unreadable"]]
        for device in found:
            del answers[device]
            if device in self.processes:
                self.give_up(device, "kill")
        return bool(found)

    def check_tail(self, answers: dict) -> bool:
        """Whether all have committed, or none."""
        if any(a["result"] for a in answers.values()):
            raise Wrong(f"parameters changed in the tail: {answers}")
        return has_committed(answers, self.kind == "cut")

    def is_unharmed(self, answers: dict) -> bool:
        """A connection that was cut may be one that only training uses."""
        if any(a["error"] for a in answers.values()):
            return False
        self.tell_all("train")
        answers.update(self.collect())
        return not any(a["error"] for a in answers.values())

    def look(self, phase: str, answers: dict, victim: int) -> None:
        """When and how the others learned of it."""
        seconds = noticed(answers, victim, self.injury.at)
        if seconds is None:
            return
        self.notices.append(seconds)
        if seconds > Limits.notice:
            raise Wrong(f"noticed after {seconds:.1f} s: {answers}")
        if phase in ("run", "tail"):
            found = causes(answers, victim)
            self.causes.append(len(found))
            if len(found) > 1:
                print(f"  causes, of {victim}: {found}")

    def train_without(self, victim: int) -> list:
        """Two steps, of which some of the others make none."""
        late = []
        if self.random.random() < 0.4:
            late = [
                d
                for d, a in self.last.items()
                if d != victim and a["role"] and a["role"]["dp"] == 0
            ]
        raise_at = self.random.random() if self.kind == "raise" else None
        for device, process in self.processes.items():
            mine = raise_at if device == victim else None
            process.tell("train", steps=2, raise_at=mine, is_late=device in late)
        if self.kind != "raise":
            self.injury.inflict(self.processes[victim], 0.15)
        return late

    def migrate(self, phase: str, victim: int, mode: str) -> None:
        """prepare and run of a change to another configuration."""
        raise_at = self.random.random() if self.kind == "raise" else None
        count = len(self.processes)
        curr = self.random.choice([s for s in SHAPES if 4 <= size(s) <= count])
        plan = self.next_plan(curr)
        pause = 0.3 / (1 + etc.Plan.from_bytes(plan).summary.to_dict()["rounds"])
        for device, process in self.processes.items():
            mine = raise_at if device == victim and phase == "run" else None
            if phase == "prepare" and self.kind == "raise" and device == victim:
                process.tell("fail")
            else:
                process.tell(
                    "prepare", plan=plan, mode=mode, raise_at=mine, round_pause=pause
                )
        if phase == "prepare":
            if self.kind != "raise":
                self.injury.inflict(self.processes[victim], 0.4)
            return
        answers = {d: p.hear() for d, p in self.processes.items()}
        if any(a is None or a["error"] for a in answers.values()):
            raise Wrong(f"prepare: {answers}")
        for process in self.processes.values():
            process.tell("run")
        if self.kind != "raise":
            self.injury.inflict(self.processes[victim], 0.35)

    def fail_in_tail(self, victim: int, mode: str) -> None:
        """After the pause of a change, while deferred state is under way at a rate that
        lets it take about a second. Either all wait for it and make a step, or some
        wait, the others compute, and nobody commits."""
        count = len(self.processes)
        now = next(a["curr"] for a in self.last.values() if a["role"])
        shapes = [
            s for s in SHAPES if 4 <= size(s) <= count and size_of(s) != size_of(now)
        ]
        plan = self.next_plan(self.random.choice(shapes), defer="optimizer")
        rate = self.random.uniform(1e5, 4e5)
        self.tell_all("prepare", plan=plan, mode=mode, tail_rate=rate)
        self.must_hear(self.processes)
        self.tell_all("pause")
        self.must_hear(self.processes)
        # Who has no part in it ends nothing, nor does who goes on.
        is_harmless = self.kind in ("pause", "cut") or not self.last[victim]["role"]
        if is_harmless or self.random.random() < 0.4:
            self.tell_all("finish", then_train=True)
            within = self.random.choice([0.1, 0.5, 2])
            self.injury.inflict(self.processes[victim], within)
            return
        taking_part = [d for d, a in self.last.items() if d != victim and a["role"]]
        busy = self.random.choice(taking_part)
        computing = {busy, victim} if self.kind == "raise" else {busy}
        for device, process in self.processes.items():
            if device not in computing and self.random.random() < 0.4:
                process.tell("finish")
            else:
                process.tell("compute", seconds=1.2)
        self.injury.inflict(self.processes[victim], 1.0)

    # -- recovery and what is expected of it

    def recover(
        self, fault: Fault, members: list, answers: dict, expected: Expected
    ) -> str:
        """All who are left go on; others may join."""
        mode = self.random.choice(["eager", "safe"])
        second = None
        if fault.phase == "recover" and len(self.processes) > 4:
            self.last = {d: answers[d] for d in self.processes}
            second = self.choose(fault.leads)
        joining = self.join(fault, next(iter(answers.values()))["contact"])
        devices = sorted({*members, *joining})
        if (fault.phase, fault.kind) == ("tail", "kill") and self.random.random() < 0.7:
            devices = sorted(self.processes)  # a scheduler says who died
        self.tell_all("recover", devices=devices, mode=mode)
        if second is not None:
            self.injure_again(fault, second)
            if fault.is_fatal:
                left = {d: a for d, a in answers.items() if d in self.processes}
                expected = Expected(None, mode == "eager" or newest(left) is None)
        outcome = self.attempts(fault, second, devices, mode, expected)
        self.conclude(fault, expected)
        return outcome

    def join(self, fault: Fault, contact: str) -> list:
        """New processes, where few are left or all devices are to have one."""
        if len(self.processes) >= 5 and not fault.is_full:
            return []
        known = {*self.processes, *([self.gone.device] if self.gone else [])}
        joining = [d for d in DEVICES if d not in known]
        for device in joining:
            self.processes[device] = Process(device, self.path, contact)
        return joining

    def injure_again(self, fault: Fault, second: int) -> None:
        """The fault during a recovery."""
        self.injury.inflict(self.processes[second], Limits.patience + 1.5)
        if fault.is_fatal:
            self.give_up(second, fault.kind)

    def attempts(
        self,
        fault: Fault,
        second: int | None,
        devices: list,
        mode: str,
        expected: Expected,
    ) -> str:
        """Until all have recovered, after `second` failed in the first attempt."""
        generation = max(a["generation"] for a in self.last.values())
        attempts = Attempts(
            self.processes, generation, {"devices": devices, "mode": mode}
        )
        answers = attempts.wait()
        if attempts.unreadable:
            expected.version, expected.may_lose = None, True
        if second is not None:
            self.look(fault.phase, attempts.first, second)
        if second is not None and fault.is_fatal and not attempts.are_several:
            attempts.again()  # it failed when the others had recovered
            answers = attempts.wait()
        errors = {d: a for d, a in answers.items() if a["error"]}
        if not errors:
            again = "recovered at the next attempt"
            return again if attempts.are_several else "recovered"
        if self.restored(answers, errors, devices, mode, expected):
            return "loss named, restored from a checkpoint"
        raise Wrong(f"no recovery: {errors}")

    def conclude(self, fault: Fault, expected: Expected) -> None:
        """All is as it has to be, and training goes on."""
        self.connect()
        self.tell_all("check")
        final = self.must_hear(self.processes)
        versions = {a["version"] for a in final.values() if a["role"]}
        if expected.version is not None and versions != {expected.version}:
            raise Wrong(f"recovered step {versions}, not {expected.version}")
        roles = sum(1 for a in final.values() if a["role"])
        is_whole = fault.is_full and len(self.processes) == len(DEVICES)
        if is_whole and roles != len(DEVICES):
            raise Wrong(f"{len(self.processes)} processes, {roles} have roles")
        self.verify()

    def restored(
        self, told: dict, errors: dict, devices: list, mode: str, expected: Expected
    ) -> bool:
        """What is named as lost is lost, and comes from a checkpoint."""
        lost = [a["message"] for a in errors.values() if "nobody holds" in a["message"]]
        if not lost:
            return False
        if not expected.may_lose:
            raise Wrong(f"nothing is lost, step {expected.version}: {errors}")
        self.check_loss(lost)
        self.restore(told, devices, mode)
        expected.version = None
        return True

    def check_loss(self, messages: list[str]) -> None:
        self.tell_all("held")
        answers = self.must_hear(self.processes)
        for message in messages:
            check_loss(message, answers)

    def restore(self, told: dict, devices: list, mode: str) -> None:
        """All go on, with a checkpoint of the newest step that any of them holds."""
        step = max(a["version"] for a in told.values() if a["version"] is not None)
        directory = tempfile.mkdtemp(dir=self.directory)
        training.save(step, directory)
        for attempt in range(4):
            self.tell_all(
                "recover",
                devices=devices,
                mode=mode,
                restore_from=directory,
                restore_version=step,
            )
            answers = self.collect()
            errors = [a for a in answers.values() if a["error"]]
            if not errors:
                return
        raise Wrong(f"no recovery with a checkpoint of step {step}: {errors}")

    def wake(self, members: list) -> None:
        """Who was given up is told so, and changes nothing."""
        gone, self.gone = self.gone, None
        assert gone is not None
        gone.signal(signal.SIGCONT)
        if gone.hear() is None:
            raise Wrong("the woken process does not answer")
        for attempt in range(3):
            gone.tell("recover", devices=members, mode="eager")
            answer = gone.hear()
            if answer is None or answer["error"] != "PeerError" or not answer["holds"]:
                break
        gone.end()
        # One that holds nothing would join: it waits for a recovery that there is not.
        if answer is None or (answer["error"] != "Excluded" and answer["holds"]):
            raise Wrong(f"the woken process is not excluded: {answer}")
        self.verify()
