"""Random faults in a job of processes that goes on, against an oracle that knows its step.

recover_faults.py [--faults=N] [--seed=S] [--per-job=N] [--phase=P] [--kind=K]

A driver forks a process for each of 8 devices. All train (each element of the state is
a function of its place, its tensor and the step), and prepare and run migrations. At
a random moment of a step, prepare, run, recover, or of the tail of a migration that
defers state, one process is killed, stopped for long (and woken after the others have
gone on), stopped for less than a second, or raises. The others recover, some of them a step ahead; new processes join. After
each fault every element of every process is compared, the step with the one that is
the newest of which a replica of each role is left; a process that was given up has to
raise Excluded.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import re
import signal
import sys
import tempfile
import time
from typing import Any

import etc
import training
from recover_worker import DEVICES, PATIENCE, SHAPES, Process


class Wrong(Exception):
    """The job is not as the oracle says."""


class Driver:
    """A job, its faults, and what is expected of it."""

    def __init__(self, seed: int, directory: str) -> None:
        self.random = random.Random(seed)
        self.directory = directory
        self.path = os.path.join(directory, "store")
        self.processes: dict[int, Process] = {}
        plan = etc.plan(training.REQUEST, prev=SHAPES[0], curr=SHAPES[0])
        for device in DEVICES:
            self.processes[device] = Process(device, self.path)
        self.tell_all("start", plan=plan.to_bytes(), step=0)
        self.last = self.must_hear(self.processes)
        self.gone: Process | None = None

    def close(self) -> None:
        for process in [*self.processes.values(), *([self.gone] if self.gone else [])]:
            process.end()

    def tell_all(self, verb: str, **arguments: Any) -> None:
        for process in self.processes.values():
            process.tell(verb, **arguments)

    def must_hear(self, processes: dict) -> dict[int, dict]:
        """What all answer, none of which is an error."""
        answers = {}
        for device, process in processes.items():
            answer = process.hear()
            if answer is None or answer["error"]:
                raise Wrong(f"device {device}: {answer}")
            answers[device] = answer
        return answers

    # -- faults

    def injure(self, victim: Process, kind: str, within: float) -> None:
        """Does it to the victim after a random time."""
        time.sleep(self.random.uniform(0, within))
        if kind == "kill":
            victim.process.kill()
        elif kind in ("stop", "pause"):
            victim.signal(signal.SIGSTOP)
        if kind == "pause":
            time.sleep(self.random.uniform(0, 0.8))
            victim.signal(signal.SIGCONT)

    def give_up(self, device: int, kind: str) -> None:
        """The job goes on without it."""
        process = self.processes.pop(device)
        if kind == "stop":
            self.gone = process
        else:
            process.end()

    def fault(self, phase: str, kind: str) -> str:
        """One fault, and the recovery; what came of it."""
        victim = self.random.choice([d for d in self.processes if self.last[d]["role"]])
        late: list[int] = []
        raise_at = self.random.random() if kind == "raise" else None
        mode = self.random.choice(["eager", "safe"])
        members = list(self.processes)
        if phase == "step":
            late = self.train_without(victim, kind, raise_at)
        elif phase in ("prepare", "run"):
            self.migrate(phase, victim, kind, raise_at, mode)
        elif phase == "tail":
            self.fail_in_tail(victim, kind, mode)
        else:
            self.tell_all("check")
            self.processes[victim].process.kill()
        if phase == "recover" or kind in ("kill", "stop"):
            self.give_up(victim, "kill" if phase == "recover" else kind)
        answers = self.collect()
        is_unharmed = not late and not any(a["error"] for a in answers.values())
        if kind == "pause" and phase != "recover" and is_unharmed:
            self.verify()
            return "nobody noticed"
        may_lose = phase in ("run", "tail") and mode == "eager"
        outcome = self.recover(members, answers, phase, kind, may_lose)
        if self.gone is not None:
            self.wake(members)
        if phase == "tail":
            outcome = f"{mode}: {outcome}"
        return outcome + (", some a step behind" if late else "")

    def train_without(self, victim: int, kind: str, raise_at: float | None) -> list:
        """A step, which some of the others do not make."""
        late = []
        if self.random.random() < 0.4:
            late = [
                d
                for d, a in self.last.items()
                if d != victim and a["role"] and a["role"]["dp"] == 0
            ]
        for device, process in self.processes.items():
            if device == victim:
                process.tell("train", raise_at=raise_at)
            elif device not in late:
                process.tell("train")
        if kind != "raise":
            self.injure(self.processes[victim], kind, 0.08)
        for device in late:
            self.processes[device].tell("check")
        return late

    def migrate(
        self, phase: str, victim: int, kind: str, raise_at: float | None, mode: str
    ) -> None:
        """prepare and run of a change to another configuration."""
        count = len(self.processes)
        curr = self.random.choice([s for s in SHAPES if 4 <= size(s) <= count])
        plan = self.next_plan(curr)
        for device, process in self.processes.items():
            mine = raise_at if device == victim else None
            if phase == "prepare" and mine is not None:
                process.tell("fail")
            else:
                process.tell("prepare", plan=plan, mode=mode, raise_at=mine)
        if phase == "prepare":
            if kind != "raise":
                self.injure(self.processes[victim], kind, 0.4)
            return
        answers = {d: p.hear() for d, p in self.processes.items()}
        if any(a is None or a["error"] for a in answers.values()):
            raise Wrong(f"prepare: {answers}")
        for process in self.processes.values():
            process.tell("run")
        if kind != "raise":
            self.injure(self.processes[victim], kind, 0.3)

    def fail_in_tail(self, victim: int, kind: str, mode: str) -> None:
        """After the pause of a change, while deferred state is under way at a rate that
        lets it take about a second. Some wait for it, the others compute; all have
        an answer to give when it is over."""
        count = len(self.processes)
        now = next(a["curr"] for a in self.last.values() if a["role"])
        shapes = [s for s in SHAPES if 4 <= size(s) <= count and size_of(s) != size_of(now)]
        plan = self.next_plan(self.random.choice(shapes), defer="optimizer")
        rate = self.random.uniform(1e5, 4e5)
        self.tell_all("prepare", plan=plan, mode=mode, tail_rate=rate)
        self.must_hear(self.processes)
        self.tell_all("pause")
        self.must_hear(self.processes)
        # Where one does not finish, nobody commits.
        busy = self.random.choice([d for d in self.processes if d != victim])
        for device, process in self.processes.items():
            is_done = device != busy and self.random.random() < 0.4
            process.tell("finish" if is_done or kind == "pause" else "check")
        self.injure(self.processes[victim], kind, 1.0)

    def next_plan(self, curr: str, **fields: Any) -> bytes:
        device = next(d for d in self.processes if self.last[d]["role"])
        self.processes[device].tell(
            "plan_to", curr=curr, devices=list(self.processes), **fields
        )
        answer = self.processes[device].hear()
        if answer is None or answer["error"]:
            raise Wrong(f"plan to {curr}: {answer}")
        return answer["result"]

    def collect(self) -> dict[int, dict]:
        """What those who are left answer."""
        answers = {}
        for device, process in self.processes.items():
            answer = process.hear()
            if answer is None:
                raise Wrong(f"device {device} does not answer")
            answers[device] = answer
        return answers

    # -- recovery and what is expected of it

    def recover(
        self, members: list, answers: dict, phase: str, kind: str, may_lose: bool
    ) -> str:
        """All who are left go on; others may join."""
        expected = self.newest(answers)
        mode = self.random.choice(["eager", "safe"])
        joining = []
        if len(self.processes) < 5 or self.random.random() < 0.3:
            known = {*self.processes, *([self.gone.device] if self.gone else [])}
            joining = [d for d in DEVICES if d not in known]
        second = None
        if phase == "recover" and len(self.processes) > 4:
            second = self.random.choice(list(self.processes))
        for device in joining:
            self.processes[device] = Process(device, self.path)
        devices = sorted({*members, *joining})
        self.tell_all("recover", devices=devices, mode=mode)
        if second is not None:
            self.injure(self.processes[second], kind, PATIENCE + 1.5)
            if kind != "pause":
                self.give_up(second, kind)
                expected = None
        outcome = "recovered"
        for attempt in range(4):
            told = self.collect()
            errors = {d: a for d, a in told.items() if a["error"]}
            if not errors and (second is None or kind == "pause"):
                break
            if any("nobody holds" in a["message"] for a in errors.values()):
                outcome = "loss named, restored from a checkpoint"
                if expected is not None and not may_lose:
                    raise Wrong(f"nothing is lost, step {expected}: {errors}")
                self.restore(told, devices, mode)
                expected = None
                break
            for device, answer in errors.items():
                if answer["error"] != "PeerError":
                    raise Wrong(f"device {device}: {answer}")
            second = None
            outcome = "recovered at the next attempt"
            self.tell_all("recover", devices=devices, mode=mode)
        else:
            raise Wrong(f"no recovery: {errors}")
        self.tell_all("check")
        final = self.must_hear(self.processes)
        versions = {a["version"] for a in final.values() if a["role"]}
        if expected is not None and versions != {expected}:
            raise Wrong(f"recovered step {versions}, not {expected}")
        self.verify()
        return outcome

    def newest(self, answers: dict) -> int | None:
        """The newest step that has a holder of each role that the job had. During a
        migration all are at one step, so it is the same then."""
        needed = {replica_of(a["role"]) for a in self.last.values() if a["role"]}
        versions = {a["version"] for a in answers.values()} - {None}
        for version in sorted(versions, reverse=True):
            held = {
                replica_of(self.last[d]["role"])
                for d, a in answers.items()
                if self.last[d]["role"] and a["version"] == version
            }
            if held == needed:
                return version
        return None

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

    def verify(self) -> None:
        """All are at one step, and every element is of it; a step later, too."""
        for verb in ("check", "train", "check"):
            self.tell_all(verb)
            self.last = self.must_hear(self.processes)
            wrong = {d: a["result"] for d, a in self.last.items() if a["result"]}
            versions = {a["version"] for a in self.last.values() if a["role"]}
            if wrong or len(versions) != 1:
                raise Wrong(f"steps {versions}, wrong: {wrong}")

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
            if answer is None or answer["error"] != "PeerError":
                break
        gone.end()
        # One that holds nothing would join: it waits for a recovery that there is not.
        if answer is None or (answer["error"] != "Excluded" and answer["holds"]):
            raise Wrong(f"the woken process is not excluded: {answer}")
        self.verify()


def replica_of(role: dict) -> tuple:
    """What devices of equal contents have in common."""
    return tuple(v for k, v in sorted(role.items()) if k not in ("dp", "edp"))


def size(shape: str) -> int:
    product, number = 1, ""
    for letter in shape + "x":
        if letter.isdigit():
            number += letter
        elif number:
            product, number = product * int(number), ""
    return product


def size_of(shape: str) -> tuple:
    """The sizes of a configuration, in one order, those of 1 left out."""
    found = re.findall(r"([A-Z]+)(\d+)", shape)
    return tuple(sorted((name, n) for name, n in found if n != "1"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--per-job", type=int, default=10)
    parser.add_argument("--phase", help="faults in this phase alone")
    parser.add_argument("--kind", help="faults of this kind alone")
    options = parser.parse_args()
    counts: collections.Counter = collections.Counter()
    failures = 0
    cases = [
        (p, k)
        for p in ("step", "prepare", "run")
        for k in ("kill", "stop", "pause", "raise")
    ]
    cases += [(p, k) for p in ("recover", "tail") for k in ("kill", "stop", "pause")]
    cases = [
        (p, k)
        for p, k in cases
        if options.phase in (None, p) and options.kind in (None, k)
    ]
    if not cases:
        parser.error(f"--phase={options.phase} --kind={options.kind}: no such fault")
    done = 0
    while done < options.faults:
        seed = options.seed + done
        with tempfile.TemporaryDirectory() as directory:
            driver = Driver(seed, directory)
            try:
                for _ in range(min(options.per_job, options.faults - done)):
                    phase, kind = driver.random.choice(cases)
                    begin = time.monotonic()
                    done += 1
                    outcome = driver.fault(phase, kind)
                    seconds = time.monotonic() - begin
                    counts[phase, kind, outcome] += 1
                    print(
                        f"{done}: job {seed}: {kind} in {phase}: {outcome} ({seconds:.1f} s)",
                        flush=True,
                    )
            except Wrong as wrong:
                failures += 1
                counts[phase, kind, "WRONG"] += 1
                print(
                    f"{done}: job {seed}: {kind} in {phase}: WRONG: {wrong}", flush=True
                )
            finally:
                driver.close()
    print(f"{done} faults from seed {options.seed}:")
    for (phase, kind, outcome), count in sorted(counts.items()):
        print(f"  {phase:8} {kind:6} {outcome:60} {count:4}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
