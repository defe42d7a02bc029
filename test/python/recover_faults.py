"""Random faults in a job of processes that goes on, against an oracle that knows its step.

A driver forks a process for each of 8 devices. All train (each element of the state is
a function of its place, its tensor and the step), and prepare and run migrations. At
a random moment of a step, prepare, run, recover, or of the tail of a migration that
defers state, one process is killed, stopped for long (and woken after the others have
gone on), stopped for less than a second, or raises. The others recover, some of them a
step ahead; new processes join. After each fault every element of every process is
compared, the step with the one that is the newest of which a replica of each role is
left; a process that was given up has to raise Excluded. Before each optimizer step a
process compares its whole state with its step; while deferred state is under way and
after it has failed, a step has to be refused. What is named as lost must be in no
previous tensor of a survivor.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import signal
import sys
import tempfile
import time
from typing import Any

import etc
import training
from recover_oracle import Wrong, check_atomic, check_loss, newest, size, size_of
from recover_worker import DEVICES, SHAPES, Limits, Process


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
        self.plan = plan.to_bytes()
        self.last: dict[int, dict] = {}
        self.gone: Process | None = None

    def start(self) -> None:
        self.tell_all("start", plan=self.plan, step=0)
        self.last = self.must_hear(self.processes)

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
        is_new = phase == "tail" and check_atomic(answers)
        if phase == "tail" and any(a["result"] for a in answers.values()):
            raise Wrong(f"parameters changed in the tail: {answers}")
        may_lose = phase in ("run", "tail") and mode == "eager" and not is_new
        outcome = self.recover(members, answers, phase, kind, may_lose)
        if self.gone is not None:
            self.wake(members)
        if phase == "tail":
            outcome = f"{mode}{', committed' if is_new else ''}: {outcome}"
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
        if kind == "pause" or self.random.random() < 0.4:
            self.tell_all("finish", then_train=True)
            self.injure(self.processes[victim], kind, self.random.choice([0.1, 0.5, 2]))
            return
        taking_part = [d for d, a in self.last.items() if d != victim and a["role"]]
        busy = self.random.choice(taking_part)
        for device, process in self.processes.items():
            if device != busy and self.random.random() < 0.4:
                process.tell("finish")
            else:
                process.tell("compute", seconds=1.2)
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
            if answer["error"] == "AssertionError":
                raise Wrong(f"device {device}: {answer}")
            answers[device] = answer
        return answers

    # -- recovery and what is expected of it

    def recover(
        self, members: list, answers: dict, phase: str, kind: str, may_lose: bool
    ) -> str:
        """All who are left go on; others may join."""
        expected = newest(answers)
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
        if phase == "tail" and kind == "kill" and self.random.random() < 0.7:
            devices = sorted(self.processes)  # a scheduler says who died
        self.tell_all("recover", devices=devices, mode=mode)
        if second is not None:
            self.injure(self.processes[second], kind, Limits.patience + 1.5)
            if kind != "pause":
                self.give_up(second, kind)
                expected = None
        outcome = "recovered"
        for attempt in range(4):
            told = self.collect()
            errors = {d: a for d, a in told.items() if a["error"]}
            if not errors and (second is None or kind == "pause"):
                break
            lost = [
                a["message"] for a in errors.values() if "nobody holds" in a["message"]
            ]
            if lost:
                outcome = "loss named, restored from a checkpoint"
                if expected is not None and not may_lose:
                    raise Wrong(f"nothing is lost, step {expected}: {errors}")
                if may_lose and phase == "tail":
                    self.check_loss(lost)
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

    def check_loss(self, messages: list[str]) -> None:
        self.tell_all("held")
        answers = self.must_hear(self.processes)
        for message in messages:
            check_loss(message, {d: a["result"] for d, a in answers.items()})

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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--per-job", type=int, default=10)
    parser.add_argument("--phase", help="faults in this phase alone")
    parser.add_argument("--kind", help="faults of this kind alone")
    parser.add_argument("--slow", type=float, default=1.0, help="times all limits")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="configurations")
    options = parser.parse_args()
    Limits.stretch(options.slow)
    SHAPES[:] = options.shapes.split(",")  # of the processes, too, which are forks
    counts: collections.Counter = collections.Counter()
    failures = 0
    cases = [
        (p, k)
        for p in ("step", "prepare", "run")
        for k in ("kill", "stop", "pause", "raise")
    ]
    cases += [(p, k) for p in ("recover", "tail") for k in ("kill", "stop", "pause")]
    chosen = [(options.phase or p, options.kind or k) for p, k in cases]
    cases = [case for case in cases if case in chosen]
    if not cases:
        parser.error(f"--phase={options.phase} --kind={options.kind}: no such fault")
    done = 0
    while done < options.faults:
        seed = options.seed + done
        with tempfile.TemporaryDirectory() as directory:
            driver = Driver(seed, directory)
            phase, kind = "start", ""
            try:
                driver.start()
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
                done += phase == "start"
                counts[phase, kind, "WRONG"] += 1
                print(
                    f"{done}: job {seed}: {kind} in {phase}: WRONG: {wrong}", flush=True
                )
            finally:
                driver.close()
    print(f"{done} faults from seed {options.seed}:")
    for (phase, kind, outcome), count in sorted(counts.items()):
        print(f"  {phase:8} {kind:6} {outcome:60} {count:4}")
    made, refused = (Process.totals[name] for name in ("made", "refused"))
    print(
        f"  optimizer steps: {made}, each on state of one version; refused: {refused}"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
