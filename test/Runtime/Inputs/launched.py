"""Starts the processes of a job as a launcher does, some of which are stopped in the first round, and killed together.

Usage: launched.py COUNT KILLED COMMAND...    KILLED: ranks, as 0,1; none of COMMAND's options says where to meet with
                                              --rendezvous: the processes get an address and a token

Prints what they say, and the exit statuses of the others.
"""

import os
import socket
import subprocess
import sys


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


count, killed, command = int(sys.argv[1]), {int(rank) for rank in sys.argv[2].split(",")}, sys.argv[3:]
if not any(option.startswith("--rendezvous=") for option in command):
    os.environ.update(ETC_JOB_TOKEN="a token of this test")
    command += [f"--control=127.0.0.1:{free_port()}"]
processes = {}
for rank in range(count):
    environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(count))
    if rank in killed:
        environment["ETC_FAULT"] = f"stop@{rank}:0:pack"
    processes[rank] = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
for rank in killed:
    os.waitid(os.P_PID, processes[rank].pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
for rank in killed:
    processes[rank].kill()
for rank, process in processes.items():
    output, _ = process.communicate(timeout=100)
    sys.stdout.write(output)
    if rank not in killed:
        print("exit", process.returncode)
