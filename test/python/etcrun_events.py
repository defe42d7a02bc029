"""Random events in a job: 8 workers of 4 agents.

    etcrun_events.py --events=60 --seed=1 [--first=N] [--stock] [--rate=1gbit] [--minutes=M] [--json=FILE]

After each event the job has to go on; at the end every loss is compared with that of one process, each process that
was not killed, stopped or drained has to be the one that was started, and no step is lost.
--first: only so many of the events. --stock: the agents are torchrun's, and state survives in checkpoints, so that
workers end and steps are repeated; losses are compared all the same.
--rate: every node is a network namespace with a line of that rate, which needs root; otherwise all are 127.0.0.x.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from etcrun_cluster import Cluster, Hosts
from torchrun_cluster import StockCluster

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/etc-bench"))

from bench import machine, write_sealed  # noqa: E402

NODES = 4
SILENCE = 6  # seconds
EVENTS = (
    "kill a worker",
    "stop a worker",
    "kill a node",
    "kill the leader",
    "drain a node",
    "drain too slowly",
    "kill in a change",
    "kill while one joins",
    "stop an agent",
)


class Events:
    def __init__(self, cluster: Cluster, rng: random.Random) -> None:
        self.cluster = cluster
        self.rng = rng
        self.gone: set[int] = set()
        """Processes that an event ends."""
        self.order = list(range(NODES))
        """Nodes by their arrival: the first one leads."""

    def happen(self, event: str) -> None:
        workers = self.cluster.living()
        node = self.rng.choice(self.order)
        victim = self.rng.choice(sorted(workers))
        if event == "kill a worker":
            self._kill(victim)
        elif event == "stop a worker":
            os.kill(victim, signal.SIGSTOP)
            self.gone.add(victim)
        elif event == "kill a node":
            self._kill_node(node)
        elif event == "kill the leader":
            self._kill_node(self.order[0])
        elif event == "drain a node":
            self._drain(node)
        elif event == "drain too slowly":
            here = {pid for pid, where in workers.items() if where == node}
            stopped = self.rng.choice(self._not_replicas(here, workers))
            os.kill(stopped, signal.SIGSTOP)
            self.gone.add(stopped)
            self._drain(node)
        elif event == "kill in a change":
            others = self._not_replicas({victim}, workers)
            self._kill(victim)
            self._wait_for_change()
            time.sleep(self.rng.random() * 0.5)
            self._kill(self._one_of(others))
        elif event == "kill while one joins":
            others = self._not_replicas({victim}, workers)
            self._kill(victim)
            begun = len(self.cluster.begun())
            self.cluster.wait_for(
                lambda: len(self.cluster.begun()) > begun, "a new process"
            )
            self._kill(self._one_of(others))
        else:
            self._stop_agent(node)

    def _stop_agent(self, node: int) -> None:
        agent = self.cluster.agents[node].pid
        workers = self.cluster.living()
        os.kill(agent, signal.SIGSTOP)
        time.sleep(1.5 * SILENCE)
        os.kill(agent, signal.SIGCONT)
        if not self.cluster.agent_goes_on:
            self.gone |= {pid for pid, where in workers.items() if where == node}
            self._restart(node)

    def _not_replicas(self, lost: set[int], workers: dict[int, int]) -> list[int]:
        """Workers that hold nothing of which a lost one has the other copy: a job survives their death, too."""
        ranks = {
            e["pid"]: e["rank"]
            for e in self.cluster.events()
            if e["event"] == "changed" and e["pid"] in workers
        }
        half = len(workers) // 2
        shards = {ranks[pid] % half for pid in lost}
        return [
            pid
            for pid in sorted(workers)
            if pid not in lost and ranks[pid] % half not in shards
        ]

    def _one_of(self, pids: list[int]) -> int:
        """One that still lives; of stock torchrun, none does behind another's death."""
        living = self.cluster.living()
        return self.rng.choice([p for p in pids if p in living] or sorted(living))

    def _kill(self, pid: int) -> None:
        self.gone.add(pid)
        os.kill(pid, signal.SIGKILL)

    def _kill_node(self, node: int) -> None:
        living = self.cluster.living()
        self.gone |= {pid for pid, where in living.items() if where == node}
        self.cluster.kill_node(node)
        self._restart(node)

    def _drain(self, node: int) -> None:
        living = self.cluster.living()
        self.gone |= {pid for pid, where in living.items() if where == node}
        os.kill(self.cluster.agents[node].pid, signal.SIGTERM)
        self._restart(node)

    def _restart(self, node: int) -> None:
        """Once the others know, another agent starts at its address."""
        self.cluster.agents[node].join(60)
        self.cluster.wait_for_steps(1)
        self.order.remove(node)
        self.order.append(node)
        self.cluster.start(node)

    def _wait_for_change(self) -> None:
        begin = time.time()
        self.cluster.wait_for(
            lambda: any(
                e["event"] == "change" and e["time"] > begin
                for e in self.cluster.events()
            ),
            "a change",
        )


class Clock:
    """What events cost, from the times at which steps end."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        firsts = self._firsts()
        self.usual = (firsts[-1] - firsts[1]) / (len(firsts) - 2)
        """Seconds of a step before all events."""

    def _firsts(self) -> list[float]:
        """When each step ended for the first time: one that is repeated is no gain."""
        firsts: dict[int, float] = {}
        for event in self.cluster.events():
            if event["event"] == "step":
                firsts.setdefault(event["step"], event["time"])
        return sorted(firsts.values())

    def since(self, begin: float) -> dict[str, float]:
        """In seconds: the longest time without a new step, and what was lost in all, the usual time of the steps that
        were made taken off."""
        firsts = self._firsts()
        known = [t for t in firsts if t <= begin]
        later = known[-1:] + [t for t in firsts if t > begin]
        pause = max((b - a for a, b in zip(later, later[1:])), default=0.0)
        lost = later[-1] - later[0] - self.usual * (len(later) - 1)
        return {"pause_s": round(pause, 2), "lost_s": round(max(lost, 0.0), 2)}


def make_stock(args: argparse.Namespace, network: Hosts | None) -> Cluster:
    return StockCluster(
        NODES,
        script=["--steps=1000000"],
        options=[
            f"--nnodes=1:{NODES}",
            f"--max-restarts={100 * args.events}",
            "--shutdown-timeout=20",
            "--rdzv-conf=is_host=false,join_timeout=600,last_call_timeout=2",
        ],
        network=network,
    )


def make_cluster(args: argparse.Namespace, network: Hosts | None) -> Cluster:
    if args.stock:
        return make_stock(args, network)
    return Cluster(
        NODES,
        script=["--steps=1000000"],
        options=[
            f"--nnodes=1:{NODES}",
            f"--max-restarts={4 * args.events}",
            "--shutdown-timeout=20",
            f"--rdzv-conf=last_call_timeout=600,silence={SILENCE},patience=60,grace=5",
        ],
        network=network,
    )


def kinds_of(args: argparse.Namespace, rng: random.Random) -> list[str]:
    """Every kind at least once, where there are enough."""
    kinds = list(EVENTS) * (args.events // len(EVENTS) + 1)
    kinds = kinds[: args.events]
    rng.shuffle(kinds)
    return kinds[: args.first]


def run(cluster: Cluster, args: argparse.Namespace) -> tuple[list[dict], list[str]]:
    """What each event cost, and what went wrong."""
    rng = random.Random(args.seed)
    costs: list[dict] = []
    for node in range(NODES):
        cluster.start(node)
    cluster.wait_for_steps(30, size=8)
    clock = Clock(cluster)
    events = Events(cluster, rng)
    try:
        end = time.time() + 60 * (args.minutes or float("inf"))
        for number, kind in enumerate(kinds_of(args, rng)):
            begin = time.time()
            if begin > end:
                break
            print(f"seed {args.seed} event {number}: {kind}", end="", flush=True)
            events.happen(kind)
            cluster.wait_for_steps(2, size=8)
            costs.append({"event": kind, **clock.since(begin)})
            print(f": longest pause {costs[-1]['pause_s']:.1f} s", flush=True)
    except AssertionError as error:
        return costs, [str(error)]
    wrong = cluster.wrong_losses(cluster.step(), 1e-3)
    if args.stock:
        return costs, wrong
    strangers = set(cluster.begun()) - events.gone - cluster.living().keys()
    wrong += [f"process {pid} ended without a reason" for pid in sorted(strangers)]
    return costs, wrong + cluster.lost_steps()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=60)
    parser.add_argument("--minutes", type=float, help="no event begins later")
    parser.add_argument("--first", type=int)
    parser.add_argument("--stock", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    with contextlib.ExitStack() as stack:
        hosts = NODES + 1 if args.stock else NODES
        network = stack.enter_context(Hosts(hosts, 1, args.rate)) if args.rate else None
        cluster = make_cluster(args, network)
        stack.callback(cluster.stop)
        costs, wrong = run(cluster, args)
    for line in wrong:
        print(line)
    if args.json and not wrong:
        write_sealed(described(args, costs), args.json)
    sys.exit(1 if wrong else 0)


def described(args: argparse.Namespace, costs: list[dict]) -> dict:
    options = f"--events={args.events} --seed={args.seed}"
    options += f" --first={args.first}" if args.first else ""
    options += " --stock" if args.stock else ""
    options += f" --minutes={args.minutes:g}" if args.minutes else ""
    options += f" --rate={args.rate}" if args.rate else ""
    asked = ["git", "rev-parse", "--short=10", "HEAD"]
    told = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
    return {
        "command": f"tools/dev/etcrun-events {options}",
        "measured": {"revision": told},
        "machine": machine(),
        "events": costs,
    }


if __name__ == "__main__":
    main()
