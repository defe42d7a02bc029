"""Whether the doubles find mistakes that are planted in engine and kernels: tools/dev/gpu-mutants --help.

A patch against the sources says in its first lines what a GPU would make of it:

    The communicator's stream is not waited for before slabs are packed again.

A line `equivalent:` says why nothing can find it, where that is proved:

    equivalent: the table is never longer than 32 bits count
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
DOUBLES = ["etc-cuda-double", "etc-nccl-double"]
SEEDS = range(1, 5)
SECONDS = 90
RUN = ["--transport=nccl", "--memory=cuda", "--timeout=20"]


def options():
    parser = argparse.ArgumentParser(prog="tools/dev/gpu-mutants", description=(
        "Applies each patch of test/doubles/mutants to a copy of the sources, builds the runtime, and runs the tests that use "
        "the doubles of CUDA and NCCL. Fails where a mistake survives that is not marked as equivalent."))
    parser.add_argument("names", metavar="NAME", nargs="*", help="patches, without .patch (default: all)")
    parser.add_argument("--check", action="store_true", help="only that each patch still applies; the tests run this")
    parser.add_argument("--from", dest="folder", metavar="DIR", type=pathlib.Path, default=HERE,
                        help="other patches than those of test/doubles/mutants")
    parser.add_argument("--work", metavar="DIR", type=pathlib.Path, default=ROOT / "build" / "gpu-mutants",
                        help="where the copy and its build are kept (default: build/gpu-mutants)")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count(), help="compilers that run at once")
    return parser.parse_args()


def patches_of(folder, names):
    known = {path.stem: path for path in sorted(folder.glob("*.patch"))}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"gpu-mutants: no patch {unknown[0]}; expected one of {', '.join(known)}")
    return [known[name] for name in names or known]


def apply(patch, source, *flags):
    return subprocess.run(["git", "apply", *flags, patch.resolve()], cwd=source, capture_output=True, text=True,
                          env={**os.environ, "GIT_CEILING_DIRECTORIES": str(source.parent)}, check=False)


def check(patches):
    """Whether all patches apply; says which do not."""
    stale = 0
    for patch in patches:
        done = apply(patch, ROOT, "--check")
        if done.returncode:
            stale += 1
            print(f"{patch.name}: no longer applies; plant the same mistake in the code as it is now\n{done.stderr}")
    print(f"{len(patches) - stale} of {len(patches)} patches apply")
    return stale == 0


def copy_sources(source):
    """Tracked and new files; those that are equal keep their times, so that little is built again."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for name in names:
        target = source / name
        if not target.is_file() or target.read_bytes() != (ROOT / name).read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
            shutil.copymode(ROOT / name, target)
    for path in source.rglob("*"):
        name = path.relative_to(source)
        if name.parts[0] != "build" and path.is_file() and str(name) not in names:
            path.unlink()


def kernel_compiler():
    """The folder of tools/dev/kernels that the build uses."""
    cache = ROOT / "build" / "CMakeCache.txt"
    found = re.search(r"^ETC_NVRTC_DIR:\w+=(.*)$", cache.read_text(), re.MULTILINE) if cache.is_file() else None
    return found.group(1) if found else str(ROOT / "build-nvrtc")


def configure(source, folder):
    # As the tree itself is built, so that a compiler's cache has nearly all of it.
    subprocess.run(["cmake", "--preset", "default", "-Wno-dev", "--log-level=WARNING", "-B", folder,
                    "-DETC_KERNEL_MUTANTS=OFF", f"-DETC_NVRTC_DIR={kernel_compiler()}"], cwd=source, check=True,
                   stdout=subprocess.DEVNULL)


class Failure(Exception):
    """What a compiler or a test says of a mistake."""


def build(folder, jobs, targets):
    done = subprocess.run(["cmake", "--build", folder, "--parallel", str(jobs), "--target", *targets], check=False,
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout)


def execute(command, environment):
    """Runs a command with a limit of time, and ends the processes that it has started with it."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          env=environment, start_new_session=True) as process:
        try:
            said, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired as late:
            raise Failure(f"no end within {SECONDS} s") from late
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, said


class Checks:
    """The tests over the doubles, shortest first. Each is built when its turn comes."""

    def __init__(self, folder, jobs):
        self.folder, self.jobs = folder, jobs
        self.programs = folder / "bin"
        libraries = folder / "test" / "doubles" / "lib"
        self.environment = {**os.environ, "ETC_CUDA_DRIVER": str(libraries / "libcuda.so.1"),
                            "ETC_NCCL": str(libraries / "libnccl.so.2"), "ETC_DOUBLE_GPUS": "8"}
        self.plans = folder / "plans"

    def commands(self):
        """Name, targets, command and variables of each."""
        old = {"ETC_DOUBLE_NCCL_VERSION": "22602"}
        for name, count, options, over in (("RuntimeTrainerTests", 1, "", {}), ("RuntimeTrainerTests", 1, "", old),
                                           ("RuntimeGpuTests", 1, "", {}), ("RuntimeCallerTests", 1, "", {}),
                                           ("KernelTests", 1, "--gtest_filter=-*MistakesAreFound", {}),
                                           ("RuntimeScheduleTests", 60, "", {}), ("RuntimeRoundTests", 1, "", {})):
            yield name, [name], [self.programs / name, "--gtest_brief=1", *options.split()], {
                "ETC_PROPERTY_SEED": "1", "ETC_PROPERTY_COUNT": str(count), **over}
        for name, devices in (("stages", 4), ("ring", 4), ("relay", 3), ("small", 3)):
            for seed in SEEDS:
                mode = "--mode=eager" if seed % 2 else "--mode=safe"
                yield (f"etc-run {name} {mode} seed {seed}", ["etc-run", "etc-fault-plans"],
                       [self.programs / "etc-run", f"--launch={devices}", mode, *RUN, self.plans / f"{name}.etcplan"],
                       {"ETC_DOUBLE_SEED": str(seed)})

    def killer(self):
        """The check that fails, and its first words; None if none does."""
        for name, targets, command, variables in self.commands():
            build(self.folder, self.jobs, [*DOUBLES, *targets])
            if "etc-fault-plans" in targets and not self.plans.exists():
                self.plans.mkdir()
                subprocess.run([self.programs / "etc-fault-plans", self.plans], check=True)
            try:
                status, said = execute(command, {**self.environment, **variables})
            except Failure as wrong:
                return f"{name}: {wrong}"
            if "SKIPPED" in said:
                sys.exit(f"gpu-mutants: {name} is skipped: {said.strip()}")
            if status != 0 or (command[0].name == "etc-run" and "gpu double: " in said):
                return f"{name}: {words_of(said) or f'exit status {status}'}"
        return None


def words_of(said):
    """What was wrong: a failed test, a fault of a double, or an error."""
    failed = re.findall(r"^\[  FAILED  \] (\w+\.\w+)", said, re.MULTILINE)
    faults = re.findall(r"^gpu double: (.*)$", said, re.MULTILINE)
    errors = re.findall(r"^etc-run: (.*)$", said, re.MULTILINE)
    # Tests that plant faults print them too.
    return ", ".join(failed[:1] or [*faults[-1:], *errors[:1]])


def run(patches, work, jobs):
    """Whether all mistakes are found but those that are none; prints a line for each."""
    source, folder = work, work / "build"
    source.mkdir(parents=True, exist_ok=True)
    copy_sources(source)
    configure(source, folder)
    checks = Checks(folder, jobs)
    try:
        if wrong := checks.killer():
            sys.exit(f"gpu-mutants: without a mistake, too: {wrong}")
    except RuntimeError as error:
        sys.exit(f"gpu-mutants: the runtime does not build:\n{error}")
    survivors = []
    for patch in patches:
        began = time.monotonic()
        done = apply(patch, source)
        if done.returncode:
            sys.exit(f"gpu-mutants: {patch.name}: does not apply: {done.stderr}")
        isCompiled, found = True, None
        try:
            found = checks.killer()
        except RuntimeError:
            isCompiled = False
        finally:
            apply(patch, source, "-R")
        isEquivalent = "\nequivalent: " in patch.read_text().partition("\n--- ")[0]
        if (found is None) != isEquivalent or not isCompiled:
            survivors.append(patch.stem)
        verdict = (f"killed by {found}" if found else "DOES NOT COMPILE" if not isCompiled else
                   "equivalent" if isEquivalent else "SURVIVED")
        print(f"{patch.stem:36} {verdict} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{len(patches) - len(survivors)} of {len(patches)} as expected" +
          (f"; not: {', '.join(survivors)}" if survivors else ""))
    return not survivors


def main():
    args = options()
    patches = patches_of(args.folder, args.names)
    return 0 if (check(patches) if args.check else run(patches, args.work.resolve(), args.jobs)) else 1


if __name__ == "__main__":
    sys.exit(main())
