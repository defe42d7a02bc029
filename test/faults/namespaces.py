"""Hosts that are network namespaces on one machine, joined by a bridge, and migrations over them."""

import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

import fault_matrix

PREFIX = "etcf"
PORT = 29555


def ip(*arguments, check=True):
    return subprocess.run(["ip", *arguments], check=check, capture_output=True).returncode


def available():
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
        return False
    name = f"{PREFIX}probe{os.getpid()}"
    try:
        if ip("netns", "add", name, check=False) != 0:
            return False
        return ip("netns", "del", name, check=False) == 0
    except OSError:
        return False


class Network:
    """Namespaces etcf0, etcf1, ... with addresses 10.77.0.1, 10.77.0.2, ... """

    def __init__(self, hosts):
        self.hosts = hosts

    def __enter__(self):
        self.__exit__()
        ip("netns", "add", f"{PREFIX}br")
        ip("-n", f"{PREFIX}br", "link", "add", "br0", "type", "bridge")
        ip("-n", f"{PREFIX}br", "link", "set", "br0", "up")
        for host in range(self.hosts):
            name = f"{PREFIX}{host}"
            ip("netns", "add", name)
            ip("link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", f"port{host}", "netns",
               f"{PREFIX}br")
            ip("-n", f"{PREFIX}br", "link", "set", f"port{host}", "master", "br0", "up")
            ip("-n", name, "addr", "add", f"10.77.0.{host + 1}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        for name in [f"{PREFIX}{host}" for host in range(self.hosts)] + [f"{PREFIX}br"]:
            ip("netns", "del", name, check=False)


class NetworkRun:
    """One migration over namespaces, one of which loses its link or has a slow one."""

    def __init__(self, options, case, directory):
        self.bin, self.case, self.directory = options.bin, case, directory
        self.random = random.Random(case.seed)
        self.plan = os.path.join(options.plans, case.plan.name + ".etcplan")
        self.journal = os.path.join(directory, "journal")
        self.state = tempfile.mkdtemp(prefix="etc-fault-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)

    def start(self, arguments):
        processes = []
        for rank in range(self.case.plan.devices):
            environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(self.case.plan.devices),
                               MASTER_ADDR="10.77.0.1", MASTER_PORT=str(PORT),
                               ETC_JOB_TOKEN="a secret for the fault matrix")
            processes.append(subprocess.Popen(
                ["ip", "netns", "exec", f"{PREFIX}{rank}", os.path.join(self.bin, "etc-run-faulty"),
                 *arguments, "--transport=tcp", f"--host=10.77.0.{rank + 1}", "--timeout=4", "--silence=1.5"],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return processes

    def finish(self, processes):
        end = time.monotonic() + fault_matrix.DEADLINE
        results = []
        for process in processes:
            try:
                out, err = process.communicate(timeout=max(0.1, end - time.monotonic()))
                results.append((process.returncode, out, err))
            except subprocess.TimeoutExpired:
                for other in processes:
                    other.send_signal(signal.SIGKILL)
                raise fault_matrix.Broken("P4: hangs beyond the deadline") from None
        return results

    def inject(self):
        victim = self.random.randrange(self.case.plan.devices)
        name = f"{PREFIX}{victim}"
        arguments = [f"--mode={self.case.mode}", f"--journal={self.journal}", f"--state={self.state}/s", self.plan]
        if self.case.fault == "slow-link":
            rate = self.random.choice(["300kbit", "2mbit", "20mbit", "100mbit"])
            subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst",
                            "16kb", "latency", "100ms"], check=True)
        processes = self.start(arguments)
        if self.case.fault == "cut":
            time.sleep(self.random.uniform(0.02, 0.5))
            ip("-n", name, "link", "set", "eth0", "down")
        try:
            return self.finish(processes)
        finally:
            if self.case.fault == "slow-link":
                subprocess.run(["tc", "-n", name, "qdisc", "del", "dev", "eth0", "root"])
            else:
                ip("-n", name, "link", "set", "eth0", "up")

    def run(self):
        begin = time.monotonic()
        results = self.inject()
        seconds = time.monotonic() - begin
        lines = [line for _, _, err in results for line in err.splitlines()]
        for code, _, err in results:
            fault_matrix.require(code in (0, 2, 3), f"P3: exits {code}: {err}")
        # Each side of a cut has nobody on the other to tell for it; before all have met, each process is alone, and so
        # is each that has lost rank 0.
        alone = re.compile(r"not all of the \d+ processes met at|no welcome from|nobody answers at|: device 0: ")
        fault_matrix.require(len([line for line in lines if not alone.search(line)]) <= 2, f"P3: says {lines}")
        left, text = self.status()
        return left, self.recover(left, text), seconds

    def tool(self, *arguments):
        return subprocess.run([os.path.join(self.bin, "etc-run"), *arguments], capture_output=True, text=True,
                              timeout=fault_matrix.DEADLINE * 2)

    status = fault_matrix.Run.status

    def recover(self, left, text):
        if left == "none" or "every device has" in text.splitlines()[0]:
            return "-"
        results = self.finish(self.start(["resume", self.journal]))
        fault_matrix.require(all(code == 0 for code, _, _ in results) and "verified" in results[0][1],
                             f"P5: resume: {results}")
        return "forward"

    def close(self):
        shutil.rmtree(self.state, ignore_errors=True)
