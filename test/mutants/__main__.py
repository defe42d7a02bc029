"""Whether the verifier finds mistakes that are planted in the planner: tools/dev/mutants --help.

A patch says in its first lines what is wrong and which request shows it:

    A tensor is released after the first of its chunks.
    request: --model=gpt2 --prev=PP2TP2 --curr=PP4DP2 --cluster=2x4

A third line says why nothing finds it, where that is known:

    survives: a plan file's roles are not compared with its placement
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Rules end an error with their number; the table of stages (lib/Verify, too) names the pass to run; plan files have a
# referee of their own. Op verifiers, which run between passes, begin with the op: no pass reports errors so.
FOUND = re.compile(
    r"\((?P<rule>V\d+)\)$|(?P<stages>; run etc-)|(?P<referee>^internal error: the referee)|^(?P<op>'etc\.\w+' op )",
    re.MULTILINE)


def options():
    parser = argparse.ArgumentParser(prog="tools/dev/mutants", description=(
        "Applies each patch of test/mutants to a copy of the sources, builds etc-opt, and plans the patch's request. "
        "Fails where a wrong plan gets past lib/Verify and the referee of plan files though the patch does not say so, "
        "and where the request does not show the mistake."))
    parser.add_argument("names", metavar="NAME", nargs="*", help="patches, without .patch (default: all)")
    parser.add_argument("--check", action="store_true", help="only that each patch still applies; the tests run this")
    parser.add_argument("--work", metavar="DIR", type=pathlib.Path, default=ROOT / "build" / "mutants",
                        help="where the copy and its build are kept (default: build/mutants)")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count(), help="compilers that run at once")
    return parser.parse_args()


def patches_of(names):
    known = {path.stem: path for path in sorted(HERE.glob("*.patch"))}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"mutants: no patch {unknown[0]}; expected one of {', '.join(known)}")
    return [known[name] for name in names or known]


def line_of(patch, name):
    """What a line 'NAME: ...' at the head of the patch says; none where it has no such line."""
    head = patch.read_text().partition("\n--- ")[0]
    return next((line.removeprefix(f"{name}: ") for line in head.splitlines() if line.startswith(f"{name}: ")), None)


def request_of(patch):
    request = line_of(patch, "request")
    if request is None:
        sys.exit(f"mutants: {patch.name}: expected a line 'request: ARGUMENTS'")
    return shlex.split(request)


def apply(patch, source, *flags):
    return subprocess.run(["git", "apply", *flags, patch], cwd=source, capture_output=True, text=True,
                          env={**os.environ, "GIT_CEILING_DIRECTORIES": str(source.parent)}, check=False)


def check(patches):
    """Whether all patches apply; says which do not."""
    stale = 0
    for patch in patches:
        request_of(patch)
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
        if path.is_file() and str(path.relative_to(source)) not in names:
            path.unlink()


def build(folder, jobs):
    subprocess.run(["cmake", "--build", folder, "--target", "etc-opt", "--parallel", str(jobs)], check=True,
                   stdout=subprocess.DEVNULL)


def plan(tool, request, folder):
    """The bytes of the plan, or of both stages, none where the request is refused; the first error."""
    for before in folder.glob("plan*.etcplan"):
        before.unlink()
    output = folder / "plan.etcplan"
    done = subprocess.run([tool, *request, "--emit=plan", "-o", output], capture_output=True, text=True, check=False)
    errors = [line.split("error: ", 1)[1] for line in done.stderr.splitlines() if "error: " in line]
    if done.returncode == 0:
        return b"".join(path.read_bytes() for path in sorted(folder.glob("plan*.etcplan"))), ""
    return None, errors[0] if errors else f"exit status {done.returncode}"


def judge(expected, made, error, survives):
    """Whether it went as the patch says, whether the mistake was found, and what to print of it."""
    if made is not None and made == expected:
        return False, False, "the request does not show it"
    if made is not None:
        return bool(survives), False, f"survives: {survives}" if survives else "SURVIVED"
    found = FOUND.search(error)
    name = found["rule"] or found.lastgroup if found else "NOT THE VERIFIER"
    if found and survives:
        return False, True, f"{name}: {error}: it is found now, take its line 'survives' out"
    return bool(found), bool(found), f"{name}: {error}"


def run(patches, work, jobs):
    """Whether all mistakes are found but those of which it is known; prints a line for each."""
    source, folder = work / "source", work / "build"
    source.mkdir(parents=True, exist_ok=True)
    copy_sources(source)
    subprocess.run(["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-Wno-dev", "--log-level=WARNING",
                    "-DETC_ENABLE_TESTS=OFF", "-DETC_ENABLE_PYTHON=OFF"], check=True, stdout=subprocess.DEVNULL)
    build(folder, jobs)
    tool = work / "etc-opt"
    shutil.copy(folder / "bin" / "etc-opt", tool)
    met = found = 0
    for patch in patches:
        request = request_of(patch)
        expected, error = plan(tool, request, work)
        if expected is None:
            sys.exit(f"mutants: {patch.name}: its request is refused without the mistake: {error}")
        done = apply(patch, source)
        if done.returncode:
            sys.exit(f"mutants: {patch.name}: does not apply: {done.stderr}")
        try:
            build(folder, jobs)
            isMet, isFound, text = judge(expected, *plan(folder / "bin" / "etc-opt", request, work),
                                              line_of(patch, "survives"))
        finally:
            apply(patch, source, "-R")
        met += isMet
        found += isFound
        print(f"{patch.stem:32} {text}", flush=True)
    print(f"{found} of {len(patches)} are found")
    return met == len(patches)


def main():
    args = options()
    patches = patches_of(args.names)
    return 0 if (check(patches) if args.check else run(patches, args.work.resolve(), args.jobs)) else 1


if __name__ == "__main__":
    sys.exit(main())
