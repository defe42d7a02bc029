"""Random events on a job under etcrun: 8 workers of 4 agents.

    etcrun_events.py --events=60 --seed=1

After each event the job has to go on; at the end every loss is compared with that of one process, and each process
that was not killed, stopped or drained has to be the one that was started. Prints each event with its pause.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time

from etcrun_cluster import Cluster

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
            stopped = self.rng.choice(self._not_replicas(node, workers))
            os.kill(stopped, signal.SIGSTOP)
            self.gone.add(stopped)
            self._drain(node)
        elif event == "kill in a change":
            self._kill(victim)
            self._wait_for_change()
            time.sleep(self.rng.random() * 0.5)
            self._kill(self.rng.choice(sorted(self.cluster.living())))
        elif event == "kill while one joins":
            self._kill(victim)
            begun = len(self.cluster.begun())
            self.cluster.wait_for(
                lambda: len(self.cluster.begun()) > begun, "a new process"
            )
            self._kill(self.rng.choice(sorted(self.cluster.living().keys())))
        else:
            agent = self.cluster.agents[node].pid
            os.kill(agent, signal.SIGSTOP)
            time.sleep(1.5 * SILENCE)
            os.kill(agent, signal.SIGCONT)
            self.gone |= {pid for pid, where in workers.items() if where == node}
            self._restart(node)

    def _not_replicas(self, node: int, workers: dict[int, int]) -> list[int]:
        """Workers of other nodes whose replicas are not on this one either."""
        ranks = {
            e["pid"]: e["rank"]
            for e in self.cluster.events()
            if e["event"] == "changed" and e["pid"] in workers
        }
        half = len(workers) // 2
        here = {ranks[pid] % half for pid, where in workers.items() if where == node}
        return [
            pid
            for pid, where in sorted(workers.items())
            if where != node and ranks[pid] % half not in here
        ]

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


def pause_after(cluster: Cluster, begin: float) -> float:
    """The longest time between two steps since then."""
    times = sorted({e["time"] for e in cluster.events() if e["event"] == "step"})
    times = [t for t in times if t > begin - 5]
    return max((b - a for a, b in zip(times, times[1:]) if b > begin), default=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    cluster = Cluster(
        NODES,
        script=["--steps=1000000"],
        options=[
            f"--nnodes=1:{NODES}",
            f"--max-restarts={4 * args.events}",
            "--shutdown-timeout=20",
            f"--rdzv-conf=last_call_timeout=600,silence={SILENCE},patience=60,grace=5",
        ],
    )
    wrong: list[str] = []
    try:
        for node in range(NODES):
            cluster.start(node)
        cluster.wait_for_steps(2, size=8)
        events = Events(cluster, rng)
        wrong += run(cluster, events, rng, args)
        strangers = set(cluster.begun()) - events.gone - cluster.living().keys()
        wrong += [f"process {pid} ended without a reason" for pid in sorted(strangers)]
        wrong += cluster.wrong_losses(cluster.step(), 1e-3)
    except AssertionError as error:
        wrong.append(str(error))
    finally:
        cluster.stop()
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


def run(cluster: Cluster, events: Events, rng: random.Random, args) -> list[str]:
    # Every kind at least once, where there are enough.
    kinds = list(EVENTS) * (args.events // len(EVENTS) + 1)
    kinds = kinds[: args.events]
    rng.shuffle(kinds)
    for number, kind in enumerate(kinds):
        begin = time.time()
        print(f"seed {args.seed} event {number}: {kind}", end="", flush=True)
        events.happen(kind)
        cluster.wait_for_steps(2, size=8)
        print(f": longest pause {pause_after(cluster, begin):.1f} s", flush=True)
    return []


if __name__ == "__main__":
    main()
