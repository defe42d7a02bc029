"""Migrations over the doubles of CUDA and NCCL, as users run them: tools/dev/doubles --help.

Each is planned by etc-opt and executed by the unmodified etc-run, one process a device, which checks every element; a
double that finds a misuse says so on standard error. What may happen in several orders is drawn from a seed. With --gpu
the machine's own driver and NCCL are in the place of the doubles.
"""

import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "Integration" / "Inputs"))
import random_requests  # noqa: E402

# The paper's eight reconfigurations: previous, current, cluster, layers.
EIGHT = [("PP8", "PP16", "1x16", 32), ("PP4TP2", "PP4TP4", "1x16", 36), ("PP4TP4", "PP4TP2", "1x16", 36),
         ("PP4TP2", "PP6TP4", "1x24", 36), ("PP6TP4", "PP4TP2", "1x24", 36), ("PP4TP2DP3", "PP4TP8DP1", "1x32", 36),
         ("PP16", "PP8", "1x16", 32), ("PP4", "PP2", "1x4", 16)]
VERIFIED = "verified: every element on every device, bit for bit"
PHASES = ["pack", "transfer", "wait", "land", "acknowledge", "release"]
# A run that a fault ended says which device, or which transfer, was the matter.
PLACE = re.compile(r"^etc-run: .*device \d+")
SECONDS = 300


# What must not happen between first and last round, and what may.
FORBIDDEN = ["connect", "register", "create", "release", "wait-device"]
COUNTED = [*FORBIDDEN, "map", "unmap", "launch", "group", "wait-stream", "wait-event"]


class Calls:
    """What processes called between their first and last group of a round, from the doubles' log."""

    def __init__(self):
        self.counts, self.lock, self.runs = collections.Counter(), threading.Lock(), 0
        self.mapped = collections.Counter()  # pages, by the number of a process's group

    def add(self, log):
        """Forbidden calls of a run, if there are any. A process's first group connects."""
        kinds = collections.defaultdict(list)
        for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
            process, _, kind, _ = [*line.split(" ", 3), ""][:4]
            kinds[process].append(kind)
        found, mapped = collections.Counter(), collections.Counter()
        for calls in kinds.values():
            groups = [at for at, kind in enumerate(calls) if kind == "group"]
            if len(groups) > 1:
                found.update(kind for kind in calls[groups[1]:groups[-1] + 1] if kind in COUNTED)
            # For the round of the next group.
            for number, (last, this) in enumerate(itertools.pairwise(groups[1:]), start=1):
                mapped[number] += calls[last:this].count("map")
        with self.lock:
            self.counts += found
            self.mapped += mapped
            self.runs += 1
        return ", ".join(f"{found[kind]} {kind}" for kind in FORBIDDEN if found[kind])

    def table(self):
        counts = ", ".join(f"{self.counts[kind]} {kind}" for kind in COUNTED)
        pages = ", ".join(f"{number}: {count}" for number, count in sorted(self.mapped.items()))
        return (f"calls between first and last round of {self.runs} runs: {counts}\n"
                f"pages mapped again before the n-th group of a process, from 0 on: {pages or 'none'}")


class Tools:
    """The programs, and how they find the doubles."""

    def __init__(self, build, on_gpu):
        self.calls = Calls()
        self.programs = build / "bin"
        libraries = build / "test" / "doubles" / "lib"
        doubles = {"ETC_CUDA_DRIVER": str(libraries / "libcuda.so.1"), "ETC_NCCL": str(libraries / "libnccl.so.2"),
                   "ETC_DOUBLE_GPUS": "64"}
        self.environment = {**os.environ, **({} if on_gpu else doubles)}
        # Processes that share a GPU take turns.
        self.most_devices, self.timeout = (8, 30) if on_gpu else (32, 5)

    def plan(self, arguments, output):
        """How many devices take part; 0 where the request is refused."""
        done = subprocess.run([self.programs / "etc-opt", *arguments, "--emit=plan", "-o", output], capture_output=True,
                              text=True, timeout=SECONDS, check=False)
        participants = re.search(r"programs for (\d+) participants", done.stdout + done.stderr)
        return int(participants.group(1)) if done.returncode == 0 and participants else 0

    def run(self, plan, devices, seed, mode, fault=""):
        tool = "etc-run-faulty" if fault else "etc-run"
        command = [self.programs / tool, f"--launch={devices}", "--transport=nccl", "--memory=cuda", f"--mode={mode}",
                   f"--timeout={self.timeout if fault else 120}", "--silence=3", plan]
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "calls"
            environment = {**self.environment, "ETC_DOUBLE_SEED": str(seed), "ETC_DOUBLE_LOG": str(log)}
            if fault:
                environment["ETC_FAULT"] = fault
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment)
            if forbidden := self.calls.add(log):
                done.stderr += f"gpu double: between the first round and the last: {forbidden}\n"
            return done


def misuse(done):
    return "".join(re.findall(r"^(gpu double: .*\n)", done.stderr, re.MULTILINE))


def migrate(tools, arguments, seed):
    """What is wrong with a migration, or nothing; None where the request is refused."""
    mode = "safe" if seed % 2 else "eager"
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder) / "plan.etcplan"
        devices = tools.plan(arguments, plan)
        if not 1 <= devices <= tools.most_devices:
            return None
        try:
            done = tools.run(plan, devices, seed, mode)
        except subprocess.TimeoutExpired:
            return f"no end within {SECONDS} s"
        if done.returncode == 0 and VERIFIED in done.stdout and not misuse(done):
            return ""
        return f"{mode}: exit {done.returncode}: {done.stderr.strip()}"


def one_of_eight(tools, number, seed):
    previous, current, cluster, layers = EIGHT[number]
    hidden = random.Random(seed).choice([64, 96, 128])
    return migrate(tools, ["--model=gpt3-paper", f"--layers={layers}", f"--hidden={hidden}", "--heads=8", "--vocab=512",
                           "--seq=64", f"--prev={previous}", f"--curr={current}", f"--cluster={cluster}",
                           "--memory-budget=1.5x"], seed)


def layout(tools, seed):
    """A random request that is met, and is no larger than a machine can run as processes."""
    generator = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "request.json"
        while True:
            request, options = random_requests.draw_request(generator)
            file.write_text(json.dumps(request))
            wrong = migrate(tools, [file, *options], seed)
            if wrong is not None:
                return wrong


def disturb(tools, plans, seed):
    """A process is killed or stalls: all the others end with one line that says where."""
    generator = random.Random(seed)
    name, devices, rounds = generator.choice([("ring", 4, 8), ("small", 3, 5), ("stages", 4, 2)])
    kind, mode = generator.choice(["kill", "stop", "slow"]), generator.choice(["eager", "safe"])
    device, round_, phase = generator.randrange(devices), generator.randrange(rounds), generator.choice(PHASES)
    where = f"{device}:{round_}:{phase}"
    try:
        done = tools.run(plans / f"{name}.etcplan", devices, seed, mode, f"{kind}@{where}")
    except subprocess.TimeoutExpired:
        return f"{kind}@{where} of {name}, {mode}: no end within {SECONDS} s"
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    met = VERIFIED in done.stdout if done.returncode == 0 else (
        done.returncode == 3 and len(lines) == 1 and PLACE.search(lines[0]))
    if kind == "kill":
        # A round may have begun early: then the device is still in the one before.
        rounds = f"{round_ - 1}|{round_}" if phase in ("pack", "transfer") else round_
        met = met and re.search(rf"device {device}: round ({rounds}):", done.stderr)
    return "" if met and not misuse(done) else f"{kind}@{where} of {name}, {mode}: exit {done.returncode}: {lines}"


def schedules(tools, plans, count, seed, shard):
    """Runs of whole plans in one process, each in another order."""
    done = subprocess.run([tools.programs / "RuntimeScheduleTests", "--gtest_brief=1"], capture_output=True, text=True,
                          check=False, env={**tools.environment, "ETC_SCHEDULE_PLANS": str(plans),
                                            "ETC_PROPERTY_SEED": str(seed + shard * count),
                                            "ETC_PROPERTY_COUNT": str(count),
                                            "ETC_DOUBLE_FIBER_BYTES": "1024"})
    return "" if done.returncode == 0 and "SKIPPED" not in done.stdout else done.stdout[-2000:] + done.stderr[-500:]


def schedule_plans(tools, folder, count, seed):
    """Small plans of random requests, of at most eight devices."""
    folder.mkdir()
    generator, made = random.Random(seed), 0
    words = ["PP2", "TP2", "DP2", "TP4", "PP2TP2", "TP2DP2", "PP2DP2", "DP3", "PP2TP2DP2"]
    while made != count:
        previous, current = generator.sample(words, 2)
        budget = generator.choice(["1.5x", "2x", "3x"])
        made += 0 < tools.plan(["--model=gpt2", f"--layers={generator.choice([2, 4])}", "--hidden=8", "--heads=4",
                                "--vocab=16", "--seq=4", f"--prev={previous}", f"--curr={current}", "--cluster=1x8",
                                f"--memory-budget={budget}"], folder / f"{made}.etcplan") <= 8


def tried(name, wrongs, began):
    found = [wrong for wrong in wrongs if wrong]
    for wrong in found:
        print(f"{name}: WRONG: {wrong}")
    print(f"{name}: {len(wrongs) - len(found)} of {len(wrongs)} as they should be ({time.monotonic() - began:.0f} s)",
          flush=True)
    return not found


def main():
    parser = argparse.ArgumentParser(prog="tools/dev/doubles", description=(
        "The paper's eight reconfigurations, random layouts, killed and stalled processes, and random legal schedules, over "
        "the doubles of CUDA and NCCL."))
    parser.add_argument("--build", metavar="DIR", type=pathlib.Path, default=HERE.parent.parent / "build")
    parser.add_argument("--small", action="store_true", help="a part of it, in a minute: the tests run this")
    parser.add_argument("--gpu", action="store_true", help="with this machine's driver, NCCL and GPUs, which processes "
                        "share where there are fewer; of the eight the smallest, layouts of up to eight devices")
    parser.add_argument("--share", type=float, default=1, metavar="F", help="a share of the layouts, faults and schedules")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ETC_PROPERTY_SEED", random.randrange(1 << 30))))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", choices=["eight", "layouts", "faults", "schedules"])
    options = parser.parse_args()
    tools, seed = Tools(options.build.resolve(), options.gpu), options.seed
    print(f"seed {seed}")
    numbers = [7] if options.gpu else [1, 7] if options.small else range(len(EIGHT))
    layouts, faults, orders, kinds = (50, 5, 1000, 8) if options.small else (
        *(round(options.share * count) for count in (1000, 200, 100_000)), 46)
    everything = True
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(name)
        subprocess.run([tools.programs / "etc-fault-plans", folder], check=True)
        if "built without GPU kernels" in tools.run(folder / "small.etcplan", 3, seed, "safe").stderr:
            print("built without GPU kernels: run tools/dev/kernels, and build again")
            return 77
        works = {
            "eight": lambda: pool.map(lambda number: one_of_eight(tools, number, seed + number), numbers),
            "layouts": lambda: pool.map(lambda at: layout(tools, seed + at), range(layouts)),
            "faults": lambda: pool.map(lambda at: disturb(tools, folder, seed + at), range(faults)),
        }
        for work, start in works.items():
            began = time.monotonic()
            if options.only in (None, work):
                everything &= tried(work, list(start()), began)
        if options.only in (None, "schedules") and not options.gpu:
            began, share = time.monotonic(), orders // options.jobs
            schedule_plans(tools, folder / "plans", kinds, seed)
            wrongs = pool.map(lambda shard: schedules(tools, folder / "plans", share, seed, shard), range(options.jobs))
            everything &= tried(f"schedules, {share} each", list(wrongs), began)
    if tools.calls.runs and not options.gpu:
        print(tools.calls.table())
    return 0 if everything else 1


if __name__ == "__main__":
    sys.exit(main())
