"""tools/etc-bench/gpu/run and cluster from end to end over the doubles, with small plans: gpu_scripts.py BUILD.

What one GPU or two nodes would be asked is asked; the steps that need NVIDIA's own tools fail, and no other.
"""

import os
import pathlib
import re
import secrets
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "tools" / "etc-bench" / "gpu"
SECONDS = 120
PLANS = {"gpt3-2.7b.8": ("PP2TP2", "PP4TP2", "1x8"), "small.2": ("PP2", "TP2", "1x2"),
         "small.4": ("PP2TP2", "PP4", "1x4"), "tiny.4": ("PP2TP2", "PP4", "1x4"), "two-nodes": ("PP2TP2", "PP4", "2x2")}
# What the doubles count as a GPU would; groups are predicted for one node only.
EQUAL = ["groups", "peak of a device, bytes", "calls in rounds that create or release"]
MOST = "launches a stream and round, at most"


def make_plans(programs, folder):
    for name, (previous, current, cluster) in PLANS.items():
        subprocess.run([programs / "etc-opt", "--model=gpt2", "--layers=4", "--hidden=64", "--heads=4", "--vocab=64",
                        "--seq=16", f"--prev={previous}", f"--curr={current}", f"--cluster={cluster}", "--quiet",
                        "--emit=plan", "-o", folder / f"{name}.etcplan"], check=True)


def check(summary, runs):
    """Whether each run has its rows, and what was counted is what was predicted."""
    rows = dict(re.findall(r"^\| (.+: .+?) \| (.+) \| .+ \|$", summary, re.MULTILINE))
    for run in runs:
        for name in [*EQUAL, MOST]:
            predicted, measured = rows[f"{run}: {name}"].split(" | ")
            if predicted == "-" and name == "groups":
                continue
            met = float(measured) <= float(predicted) if name == MOST else float(measured) == float(predicted)
            assert met, f"{run}: {name}\n{summary}"


def failed(summary):
    return [line for line in summary.partition("Failed:")[2].splitlines() if line.strip()]


def run_one_machine(binaries, plans, results, environment):
    done = subprocess.run([SCRIPTS / "run", plans, results, f"--bin={binaries}", "--timeout=60"], env=environment,
                          timeout=SECONDS, check=False, capture_output=True, text=True)
    summary = (results / "summary.md").read_text()
    wrong = failed(summary)
    # The kernel's benchmark is not among the programs: all else goes on.
    assert done.returncode == 1 and len(wrong) == 2, done.stdout + done.stderr
    assert "- kernel:" in wrong[0] and "compute-sanitizer" in wrong[1], summary
    check(summary, [f"nccl-{count}-{mode}" for count in (2, 4) for mode in ("eager", "safe")])


def run_two_nodes(binaries, plans, results, environment):
    environment = environment | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20_000 + secrets.randbelow(10_000)),
                                 "ETC_JOB_TOKEN": secrets.token_hex(32), "ETC_DOUBLE_SEGMENT": str(results / "segment")}
    results.mkdir()
    command = [SCRIPTS / "cluster", plans / "two-nodes.etcplan", f"--bin={binaries}", "--gpus=2", "--timeout=40",
               f"--log={binaries / 'libetc-call-log.so'}"]
    # Both are on this machine: by its name, NCCL would take them for one host.
    nodes = [subprocess.Popen([*command, f"--node={node}", f"--results={results / str(node)}"],
                              env=environment | {"NCCL_HOSTID": f"node-{node}"}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) for node in (0, 1)]
    for node in nodes:
        said, _ = node.communicate(timeout=SECONDS)
        assert node.returncode == 0, said
    check((results / "0" / "summary.md").read_text(), ["two nodes, eager", "two nodes, safe"])


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    libraries = build / "test" / "doubles" / "lib"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        binaries, plans, tools = folder / "bin", folder / "plans", folder / "tools"
        for made in (binaries, plans, tools):
            made.mkdir()
        (binaries / "etc-run").symlink_to(build / "bin" / "etc-run")
        (binaries / "libetc-call-log.so").symlink_to(build / "tools" / "etc-bench" / "gpu" / "libetc-call-log.so")
        (tools / "nvidia-smi").write_text("#!/bin/sh\n")
        (tools / "nvidia-smi").chmod(0o755)
        # A toolkit of this machine would bring a compute-sanitizer, which does nothing for doubles.
        path = [folder for folder in os.get_exec_path() if not (pathlib.Path(folder) / "compute-sanitizer").exists()]
        environment = {**os.environ, "PATH": os.pathsep.join([str(tools), *path]), "ETC_DOUBLE_GPUS": "4",
                       "ETC_CUDA_DRIVER": str(libraries / "libcuda.so.1"), "ETC_NCCL": str(libraries / "libnccl.so.2")}
        make_plans(build / "bin", plans)
        tried = subprocess.run([binaries / "etc-run", "--memory=cuda", plans / "small.2.etcplan"], env=environment,
                               capture_output=True, text=True, check=False)
        if "built without GPU kernels" in tried.stderr:
            print("built without GPU kernels: run tools/dev/kernels, and build again")
            return 77
        run_one_machine(binaries, plans, folder / "one", environment)
        run_two_nodes(binaries, plans, folder / "two", environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
