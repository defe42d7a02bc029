"""Random faults in a job of processes that goes on, against an oracle that knows its step.

A driver forks a process for each of 8 devices. All train (a collective of torch's Gloo,
then a step: each element of the state is a function of its place, its tensor and the
step), and prepare and run migrations. At a random moment of a step, prepare, run,
recover, or of the tail of a migration that defers state and of its finish, one process
is killed, stopped for long (and woken after the others have gone on), stopped for less
than a second, raises, or loses one or all of its connections. Every fifth fault is the
hub's or that of the lowest device. The others recover, some of them a step ahead; new
processes join, with every tenth fault as many as there are devices. After each fault
every element of every process is compared, the step with the one that is the newest of
which a replica of each role is left; a process that was given up has to raise Excluded.
Before each optimizer step a process compares its whole state with its step; while
deferred state is under way and after it has failed, a step has to be refused. What is
named as lost must be in no previous tensor of a survivor. Of state on GPUs, which are
doubles, two devices are a node; a process that cannot read its GPU ends.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import statistics
import sys
import tempfile
import time

from recover_driver import Driver, Fault
from recover_oracle import Wrong
from recover_worker import MEMORY, SHAPES, Limits, Process


PHASES = ("step", "prepare", "run", "tail", "recover")
KINDS = ("kill", "stop", "pause", "cut", "raise")


class Tally:
    """What came of all faults."""

    def __init__(self, faults: int) -> None:
        self.faults = faults
        self.done = 0
        self.counts: collections.Counter = collections.Counter()
        self.notices: dict[str, list[float]] = collections.defaultdict(list)
        self.causes: collections.Counter = collections.Counter()

    def add(
        self, seed: int, phase: str, kind: str, outcome: str, seconds: float
    ) -> None:
        self.done += 1
        key = "WRONG" if outcome.startswith("WRONG") else outcome
        self.counts[phase, kind, key] += 1
        print(
            f"{self.done}: job {seed}: {kind} in {phase}: {outcome} ({seconds:.1f} s)",
            flush=True,
        )

    def is_right(self) -> bool:
        return not any(key[-1] == "WRONG" for key in self.counts)

    def show(self) -> None:
        for (phase, kind, outcome), count in sorted(self.counts.items()):
            print(f"  {phase:8} {kind:6} {outcome:60} {count:4}")
        for phase, seconds in sorted(n for n in self.notices.items() if n[1]):
            median, longest = statistics.median(seconds), max(seconds)
            print(f"  {phase:8} noticed after {median:.1f} s, at most {longest:.1f} s")
        print(f"  causes named for a fault of run or tail: {dict(self.causes)}")
        made, refused = (Process.totals[name] for name in ("made", "refused"))
        print(
            f"  optimizer steps: {made}, each on state of one version; "
            f"refused: {refused}"
        )


def run_job(seed: int, per_job: int, cases: list, tally: Tally) -> None:
    """The faults of one job, until one of them has a wrong outcome."""
    with tempfile.TemporaryDirectory() as directory:
        driver = Driver(seed, directory)
        phase, kind = "start", ""
        try:
            driver.start()
            for _ in range(min(per_job, tally.faults - tally.done)):
                number = tally.done + 1
                is_full = number % 10 == 0
                whole = [c for c in cases if c[0] != "recover" and c[1] != "stop"]
                phase, kind = driver.random.choice(is_full and whole or cases)
                begin = time.monotonic()
                driver.notices, driver.causes = [], []
                fault = Fault(phase, kind, number % 5 == 0, is_full)
                outcome = driver.fault(fault)
                tally.notices[phase] += driver.notices
                tally.causes.update(driver.causes)
                seconds = time.monotonic() - begin
                tally.add(seed, phase, kind, outcome, seconds)
        except Wrong as wrong:
            if "built without GPU kernels" in str(wrong):
                print("skipped: built without GPU kernels")
                raise SystemExit(77) from None
            tally.add(seed, phase, kind, f"WRONG: {wrong}", 0)
        finally:
            driver.close()


def stay_calm(seed: int, minutes: float) -> bool:
    """A job without a fault; whether there was no alarm."""
    counts: collections.Counter = collections.Counter()
    end = time.monotonic() + 60 * minutes
    Limits.collective = Limits.answer  # torch's time-outs are not what is tried
    is_right = True
    with tempfile.TemporaryDirectory() as directory:
        driver = Driver(seed, directory)
        loads = []
        try:
            driver.start()
            while time.monotonic() < end:
                counts[driver.be_calm()] += 1
                loads.append(os.getloadavg()[0])
        except Wrong as wrong:
            is_right = False
            print(f"after {dict(counts)}: FALSE ALARM: {wrong}", flush=True)
        finally:
            driver.close()
    print(
        f"job {seed}: {dict(counts)}, processes that are ready to run: "
        f"{statistics.mean(loads):.1f} on average, at most {max(loads):.1f}"
    )
    return is_right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--per-job", type=int, default=25)
    parser.add_argument("--phase", help="faults in this phase alone")
    parser.add_argument("--kind", help="faults of this kind alone")
    parser.add_argument("--slow", type=float, default=1.0, help="times all limits")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="configurations")
    parser.add_argument(
        "--memory",
        choices=("cpu", "cuda"),
        default="cpu",
        help="cuda: state is on GPUs, which are doubles",
    )
    parser.add_argument(
        "--calm", type=float, metavar="MINUTES", help="no fault: is there an alarm?"
    )
    options = parser.parse_args()
    Limits.stretch(options.slow)
    SHAPES[:] = options.shapes.split(",")  # of the processes, too, which are forks
    MEMORY[:] = [options.memory]
    with environment(options.memory, options.seed):
        return run(options)


def environment(memory: str, seed: int) -> contextlib.AbstractContextManager:
    """Of the processes: what state on GPUs needs."""
    if memory == "cpu":
        return contextlib.nullcontext()
    from gpu_doubles import Environment

    return Environment(ETC_DOUBLE_SEED=str(seed))


def run(options: argparse.Namespace) -> int:
    if options.calm:
        return 0 if stay_calm(options.seed, options.calm) else 1
    cases = [
        (phase, kind)
        for phase in PHASES
        for kind in KINDS
        if phase == (options.phase or phase) and kind == (options.kind or kind)
    ]
    if not cases:
        print(f"--phase={options.phase} --kind={options.kind}: no such fault")
        return 2
    tally = Tally(options.faults)
    while tally.done < options.faults:
        run_job(options.seed + tally.done, options.per_job, cases, tally)
    print(f"{tally.done} faults from seed {options.seed}:")
    tally.show()
    return 0 if tally.is_right() else 1


if __name__ == "__main__":
    sys.exit(main())
