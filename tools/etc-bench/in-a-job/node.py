"""The ranks of one node of a job: one plans and hands slices out, or each plans.

  node.py WAY REQUEST      WAY is slices or alone, REQUEST the arguments of etc.plan as JSON

Each rank is a process with etc imported, as in a trainer, before the clock starts. It is
ready once it has checked what it executes and knows the tensors that it holds and will
hold. Prints one line of JSON: seconds until the last rank is ready, and of each rank the
processor seconds and the growth of its peak memory in bytes.
"""

import json
import multiprocessing
import resource
import sys
import time
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

import etc

RANKS = 8  # of a node
FIRST = 0  # the node's first rank


def peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def plan_of(rank: int, way: str, request: dict, pipes: list[Connection]) -> etc.Plan:
    if way == "alone":
        return etc.plan(request)
    if rank != FIRST:
        return etc.Plan.from_bytes(pipes[rank - FIRST].recv_bytes())
    plan = etc.plan(request)
    for other, pipe in enumerate(pipes[1:], start=FIRST + 1):
        pipe.send_bytes(plan.slice(other).to_bytes())
    return plan


def run(rank: int, way: str, request: dict, pipes: list[Connection], start: Barrier, results: Connection):
    before = processor(), peak()
    start.wait()
    plan = plan_of(rank, way, request, pipes)
    held = plan.prev_tensors(rank), plan.curr_tensors(rank)
    assert all(held), rank
    results.send((rank, time.monotonic(), processor() - before[0], peak() - before[1]))


def main() -> None:
    way, request = sys.argv[1], json.loads(sys.argv[2])
    spawn = multiprocessing.get_context("spawn")
    start = spawn.Barrier(RANKS + 1)
    ends = [spawn.Pipe(duplex=False) for _ in range(RANKS)]
    told, tell = spawn.Pipe(duplex=False)
    processes = []
    for rank in range(FIRST, FIRST + RANKS):
        mine = [end[1] if rank == FIRST else end[0] for end in ends]
        arguments = (rank, way, request, mine, start, tell)
        processes.append(spawn.Process(target=run, args=arguments))
        processes[-1].start()
    start.wait()
    begin = time.monotonic()
    rows = sorted(told.recv() for _ in processes)
    for process in processes:
        process.join()
    print(
        json.dumps(
            {
                "seconds": max(row[1] for row in rows) - begin,
                "processor": [row[2] for row in rows],
                "peak": [row[3] for row in rows],
            }
        )
    )


if __name__ == "__main__":
    main()
