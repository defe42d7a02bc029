#!/usr/bin/env python3
"""Makes migrations fail on purpose and looks at what is left.

Each run puts one fault into one migration, waits for its end, asks `etc-run status` what is left and checks every
byte of it, then goes on (`resume`) or back (`rollback`) and checks every byte again. docs/reliability.md numbers the
promises that are tested here.
"""

import argparse
import collections
import concurrent.futures
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PHASES = ["pack", "transfer", "land", "acknowledge", "release"]
ENDS = ["prepare", "decide", "commit"]
# Of a run that has to notice by itself: silence (1.5 s), settling, and the launcher's patience; with room for a busy
# machine. --deadline sets it.
DEADLINE = 20
# Until all processes have met, who is missing is known by rank only.
PLACE = re.compile(r"device \d+: (round \d+: |commit|before the first round)|processes met .* missing: ranks? \d")
Plan = collections.namedtuple("Plan", "name devices rounds")
PLANS = [Plan("ring", 4, 8), Plan("small", 3, 5), Plan("stages", 4, 2), Plan("relay", 3, 3)]
Case = collections.namedtuple("Case", "fault transport mode plan where seed")


class Broken(Exception):
    """A promise that was not kept."""


def require(holds, what):
    if not holds:
        raise Broken(what)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


class Run:
    """One migration with one fault."""

    def __init__(self, options, case, directory):
        self.bin, self.case, self.directory = options.bin, case, directory
        self.random = random.Random(case.seed)
        self.plan = os.path.join(options.plans, case.plan.name + ".etcplan")
        self.journal = os.path.join(directory, "journal")
        # Memory-backed, so that killing a process is all that can lose it.
        self.state = tempfile.mkdtemp(prefix="etc-fault-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)

    def arguments(self):
        out = [f"--mode={self.case.mode}", "--timeout=4", "--silence=1.5", f"--journal={self.journal}",
               f"--state={self.state}/s", self.plan]
        return self.processes() + out

    def processes(self):
        return ["--transport=tcp", f"--launch={self.case.plan.devices}"] if self.case.transport == "tcp" else []

    def start(self, fault):
        environment = dict(os.environ, TMPDIR=self.directory)
        if fault:
            environment["ETC_FAULT"] = fault
        return subprocess.Popen([os.path.join(self.bin, "etc-run-faulty")] + self.arguments(), env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def tool(self, *arguments):
        return subprocess.run([os.path.join(self.bin, "etc-run"), *arguments], capture_output=True, text=True,
                              timeout=DEADLINE * 2, env=dict(os.environ, TMPDIR=self.directory))

    def finish(self, process):
        """Its exit code and what it said; more than the deadline is a hang."""
        try:
            out, err = process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Broken("P4: hangs beyond the deadline") from None
        return process.returncode, out, err

    def inject(self):
        """Starts the migration, makes it fail, and waits for its end."""
        case = self.case
        if case.fault == "disk":  # no room for the state of the new configuration
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.random.choice([64, 900, 3000, 5000])}k", "none",
                            self.state], check=True)
        if case.where != "time":
            process = self.start(f"{case.fault}@{case.where}" if case.fault != "disk" else None)
            if case.fault == "stop" and case.transport == "local":
                time.sleep(0.5)  # all devices are stopped; then they go on
                os.kill(process.pid, signal.SIGCONT)
            return self.finish(process)
        process = self.start(None)
        time.sleep(self.random.uniform(0, 0.6 if case.transport == "tcp" else 0.12))
        victims = children(process.pid) if case.transport == "tcp" else []
        if self.random.random() < 0.15:
            victims = []  # the launcher itself
        victim = self.random.choice(victims or [process.pid])
        try:
            os.kill(victim, signal.SIGKILL if case.fault == "kill" else signal.SIGSTOP)
            if victim == process.pid and case.fault == "stop":
                time.sleep(0.3)
                os.kill(victim, signal.SIGCONT)
        except ProcessLookupError:
            pass
        return self.finish(process)

    def judge(self, code, err):
        """What the user is told: one line that names round and peer."""
        lines = [line for line in err.splitlines() if line.strip()]
        if code in (0, -signal.SIGKILL, 9):
            require(not lines or code == 9, f"P3: says {lines} and exits {code}")
            return
        require(code == 3 or (code == 2 and self.case.fault in ("disk", "full")), f"P3: exits {code}: {lines}")
        require(len(lines) == 1 and lines[0].startswith("etc-run: "), f"P3: not one line: {lines}")
        if code == 3:
            require(PLACE.search(lines[0]),
                    f"P3: does not name the place: {lines[0]}")

    def status(self):
        result = self.tool("status", self.journal)
        if "no migration's journal is here" in result.stderr:
            return "none", ""
        if self.case.fault == "disk" and "cannot read" in result.stderr:
            return "none", ""
        require(result.returncode == 0, f"P1: status: {result.stderr.strip()}{result.stdout[:200]}")
        require(result.stdout.rstrip().endswith("bit for bit"), f"P1: not verified: {result.stdout}")
        return result.stdout.split(":")[0], result.stdout

    def recover(self, left, text):
        if left == "none" or "every device has" in text.splitlines()[0]:
            return "-"
        if self.case.fault == "disk":
            subprocess.run(["mount", "-o", "remount,size=100m", self.state], check=True)
        if "rollback" in text.splitlines()[0] and self.random.random() < 0.5:
            result = self.tool("rollback", self.journal)
            require(result.returncode == 0, f"P6: rollback: {result.stderr.strip()}")
            now, after = self.status()
            require(after.startswith("old: every device has"), f"P6: after rollback: {after}")
            return "back"
        result = self.tool("resume", self.journal)
        require(result.returncode == 0 and "verified: every element on every device" in result.stdout,
                f"P5: resume: {result.stderr.strip()}{result.stdout[-200:]}")
        now, after = self.status()
        require(after.startswith("new: every device has"), f"P5: after resume: {after}")
        return "forward"

    def close(self):
        if self.case.fault == "disk":
            subprocess.run(["umount", self.state], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.state, ignore_errors=True)

    def run(self):
        begin = time.monotonic()
        code, _, err = self.inject()
        seconds = time.monotonic() - begin
        # A launcher that was killed takes its children along, not at once.
        time.sleep(0.05 if code == -signal.SIGKILL else 0)
        self.judge(code, err)
        left, text = self.status()
        if self.case.mode == "safe":
            require(left != "resumable" or "rollback" in text.splitlines()[0], f"P2: the old configuration is gone: {text}")
        return left, self.recover(left, text), seconds


def attempt(options, case):
    with tempfile.TemporaryDirectory() as directory:
        maker = namespaces.NetworkRun if case.transport == "network" else Run
        run = maker(options, case, directory)
        try:
            return case, *run.run(), None
        except (Broken, subprocess.TimeoutExpired) as error:
            return case, "BROKEN", "-", 0.0, str(error)
        finally:
            run.close()


def places(plan, generator):
    """First, middle and last round, each phase of them; and the commit."""
    for round_ in sorted({0, plan.rounds // 2, plan.rounds - 1}):
        for phase in PHASES:
            yield f"{generator.randrange(plan.devices)}:{round_}:{phase}"


def cases(options):
    generator = random.Random(options.seed)
    small, out = options.small, []

    def add(fault, transport, mode, plan, where):
        out.append(Case(fault, transport, mode, plan, where, generator.randrange(1 << 30)))

    for mode in ("eager", "safe"):
        for transport in ("tcp", "local"):
            for fault in ("kill", "stop", "full", "flip", "slow", "exit"):
                for plan in PLANS:
                    spots = list(places(plan, generator))
                    # In a program that ends earlier the last rounds do not exist; those runs just succeed.
                    ends = [f"{0 if end == 'decide' else generator.randrange(plan.devices)}:{plan.rounds}:{end}"
                            for end in ENDS]
                    if fault == "flip":
                        spots = sorted({spot.rsplit(":", 1)[0] + ":land" for spot in spots})
                        ends = []
                    if fault == "exit":
                        spots = []
                    spots += ends
                    count = (1 if plan.name in ("small", "stages") else 0) if small else \
                        (3 if fault in ("stop", "slow") else len(spots))
                    for where in generator.sample(spots, min(count, len(spots))):
                        add(fault, transport, mode, plan, where)
            for _ in range(1 if small else options.random):
                add("kill", transport, mode, PLANS[0], "time")
        for _ in range(0 if small else options.random // 8):
            add("stop", "tcp", mode, PLANS[0], "time")
        if os.geteuid() == 0:
            for transport in ("tcp", "local"):
                for _ in range(1 if small else 6):
                    add("disk", transport, mode, PLANS[0], "start")
    if namespaces.available() and not small:
        for mode in ("eager", "safe"):
            for fault in ("cut", "slow-link"):
                for _ in range(options.network):
                    add(fault, "network", mode, PLANS[0], "time")
    return out


def table(results):
    rows = collections.defaultdict(lambda: collections.Counter())
    slowest = collections.defaultdict(float)
    for case, left, recovery, seconds, _ in results:
        key = (case.fault, case.transport, case.mode)
        rows[key].update(["runs", {"none": "old"}.get(left, left), recovery])
        slowest[key] = max(slowest[key], seconds)
    columns = ["runs", "not begun", "old", "new", "resumable", "forward", "back", "BROKEN"]
    print(f"{'fault':10} {'transport':9} {'mode':6}" + "".join(f"{c:>10}" for c in columns) + f"{'slowest':>9}")
    for key in sorted(rows):
        print(f"{key[0]:10} {key[1]:9} {key[2]:6}" + "".join(f"{rows[key][c]:>10}" for c in columns) +
              f"{slowest[key]:>7.1f} s")
    total = sum(rows.values(), collections.Counter())
    print(f"{'all':27}" + "".join(f"{total[c]:>10}" for c in columns) + f"{max(slowest.values()):>7.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="where etc-run, etc-run-faulty and etc-fault-plans are")
    parser.add_argument("--small", action="store_true", help="a few runs of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", type=int, default=40, help="runs with random times, by transport and mode")
    parser.add_argument("--network", type=int, default=6, help="runs in network namespaces, by fault and mode")
    parser.add_argument("--only", default="", help="run cases whose fault/transport/mode contain this")
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--deadline", type=int, default=DEADLINE, help="seconds after which a run hangs")
    options = parser.parse_args()
    globals()["DEADLINE"] = options.deadline
    with tempfile.TemporaryDirectory() as plans:
        options.plans = plans
        subprocess.run([os.path.join(options.bin, "etc-fault-plans"), plans], check=True)
        todo = [c for c in cases(options) if options.only in f"{c.fault}/{c.transport}/{c.mode}"]
        alone = [c for c in todo if c.transport == "network"]  # they share the namespaces
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(lambda c: attempt(options, c), [c for c in todo if c.transport != "network"]))
        if alone:
            with namespaces.Network(4):
                results += [attempt(options, case) for case in alone]
    table(results)
    if not namespaces.available():
        print("no network namespaces here: cut and slow links were not tried")
    broken = [r for r in results if r[1] == "BROKEN"]
    for case, _, _, _, error in broken:
        print(f"{case.fault} {case.transport} {case.mode} {case.plan.name} {case.where} seed {case.seed}: {error}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    # One module under one name, whoever imports it.
    sys.modules["fault_matrix"] = sys.modules["__main__"]
    import namespaces
    main()
