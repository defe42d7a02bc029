"""Interpreters that end while a migration is alive: each way, in real processes."""

import os
import subprocess
import sys
import tempfile
import unittest

import etc
import ranks

try:
    import torch.distributed  # noqa: F401
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

COUNT = 2

# A rank up to the point where its migration is prepared.
PREPARE = """
import atexit, sys, threading, time
late = []
atexit.register(lambda: [each() for each in late])
import torch.distributed as dist
import etc, ranks
path, rank, plan = sys.argv[1], int(sys.argv[2]), etc.Plan.load(sys.argv[3])
state = ranks.make(plan.prev_tensors(plan.participants[rank]))
def prepare(**options):
    return etc.prepare(
        plan, state, store=dist.FileStore(path, 2), rank=rank, world_size=2,
        host="127.0.0.1", timeout=60, **options)
"""

MIGRATE = """
migration = prepare()
state = migration.run()
"""

# How a script ends: what it does, and its exit status.
ENDS = {
    "at its end": (MIGRATE, 0),
    "by sys.exit": (MIGRATE + "sys.exit(3)", 3),
    "by an exception": (MIGRATE + "raise ValueError('ours')", 1),
    "in a cycle": (
        MIGRATE
        + """
class Holder: pass
holder = Holder()
holder.itself, holder.migration = holder, migration
del migration, state
""",
        0,
    ),
    "prepared only": ("migration = prepare()", 0),
    "in an exit handler": (
        """
atexit.register(lambda: migration.run())
migration = prepare()
""",
        0,
    ),
    "after ETC's own exit handler": (
        """
def migrate():
    global migration
    first.abort()
    try:
        first.run()
    except etc.UsageError as error:
        assert "closed" in str(error), error
    migration = prepare(tag="second")
    migration.run()
late.append(migrate)
first = prepare()
""",
        0,
    ),
    "in a daemon thread that is done": (
        """
done = threading.Event()
def work():
    migration = prepare()
    state = migration.run()
    done.set()
    time.sleep(600)
threading.Thread(target=work, daemon=True).start()
done.wait()
""",
        0,
    ),
    "in a daemon thread that migrates": (
        """
begun = threading.Event()
def progress(*_):
    begun.set()
    time.sleep(0.05)
def work():
    prepare(progress=progress).run()
threading.Thread(target=work, daemon=True).start()
begun.wait()
""",
        0,
    ),
}

# A process that waits for another one, which does not come, in a daemon thread.
ALONE = """
import sys, tempfile, threading, time
import torch.distributed as dist
import etc, training
base = etc.plan(training.REQUEST, prev="DP2", curr="DP2")
first = dist.FileStore(tempfile.mktemp(dir=sys.argv[1]), -1)
"""

RECOVER = """
job = training.start(0, store, base)
def work():
    while True:
        try:
            etc.recover(job, "DP2", devices=range(2), request=training.REQUEST)
        except Exception:
            pass
"""

WAITS = {
    "recover over a FileStore": "store = first" + RECOVER,
    "recover over a JobStore": "store = etc.JobStore(first, 0, host='127.0.0.1')"
    + RECOVER,
    "prepare": """
state = training.make(base.prev_tensors(0), 0)
def work():
    etc.prepare(base, state, store=first, rank=0, world_size=2, host="127.0.0.1")
""",
}


# The same inside a store, again and again: one wait ends as Python's exit begins.
STORE = "store = etc.JobStore(first, 0, host='127.0.0.1')"
LOOP = """
def work():
    while True:
        try:
            once()
        except Exception:
            pass
"""
STORE_WAITS = {
    "get": STORE + "\nonce = lambda: store.get('never')" + LOOP,
    "wait": f"""
import datetime
{STORE}
once = lambda: store.wait(['never'], datetime.timedelta(seconds=0.05))
{LOOP}""",
    "compare_set": f"""
{STORE}
keys = map(str, range(1 << 40))
once = lambda: store.compare_set(next(keys), '', 'x')
{LOOP}""",
    "JobStore": f"""
class Slow:
    def set(self, key, value): pass
    def get(self, key): time.sleep(0.01); return b''
    def compare_set(self, *_): time.sleep(0.01); raise RuntimeError
once = lambda: etc.JobStore(Slow(), 1, host='127.0.0.1')
{LOOP}""",
}
STORE_ENDS = {
    "": 0,
    "sys.exit(3)": 3,
    "raise ValueError('ours')": 1,
    "import atexit; atexit.register(time.sleep, 0.2)": 0,
}


class Exit(unittest.TestCase):
    def end(self, body, **request):
        """The (exit status, stderr) of every rank that runs this."""
        plan = etc.plan(
            model=ranks.MODEL, prev="TP2", curr="PP2", cluster="1x2", **request
        )
        here = os.path.dirname(os.path.abspath(__file__))
        package = os.path.dirname(os.path.dirname(etc.__file__))
        environment = {**os.environ, "PYTHONPATH": f"{here}{os.pathsep}{package}"}
        with tempfile.TemporaryDirectory() as directory:
            file = os.path.join(directory, "m.etcplan")
            plan.save(file)
            command = [sys.executable, "-W", "ignore", "-c", PREPARE + body]
            store = os.path.join(directory, "store")
            processes = [
                subprocess.Popen(
                    [*command, store, str(rank), file],
                    env=environment,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                for rank in range(COUNT)
            ]
            try:
                errors = [process.communicate(timeout=120)[1] for process in processes]
            finally:
                for process in processes:
                    process.kill()
            return [(p.returncode, e) for p, e in zip(processes, errors)]

    def test_every_way(self):
        for name, (body, expected) in ENDS.items():
            with self.subTest(name):
                for status, errors in self.end(body):
                    self.assertEqual(status, expected, errors)
                    if expected == 1:
                        self.assertIn("ValueError: ours", errors)

    def test_while_a_daemon_thread_waits(self):
        here = os.path.dirname(os.path.abspath(__file__))
        package = os.path.dirname(os.path.dirname(etc.__file__))
        environment = {**os.environ, "PYTHONPATH": f"{here}{os.pathsep}{package}"}
        end = """
threading.Thread(target=work, daemon=True).start()
time.sleep(0.5)
"""
        for name, body in WAITS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as directory:
                ended = subprocess.run(
                    [sys.executable, "-W", "ignore", "-c", ALONE + body + end, directory],
                    env=environment,
                    stderr=subprocess.PIPE,
                    text=True,
                    timeout=60,
                )
                self.assertEqual(ended.returncode, 0, ended.stderr)
                self.assertNotIn("AttributeError", ended.stderr)

    def test_while_a_daemon_thread_waits_in_a_store(self):
        here = os.path.dirname(os.path.abspath(__file__))
        package = os.path.dirname(os.path.dirname(etc.__file__))
        environment = {**os.environ, "PYTHONPATH": f"{here}{os.pathsep}{package}"}
        start = "threading.Thread(target=work, daemon=True).start()\ntime.sleep(0.5)\n"
        for name, body in STORE_WAITS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as directory:
                ended = [
                    subprocess.Popen(
                        [sys.executable, "-W", "ignore", "-c", script, directory],
                        env=environment,
                        stderr=subprocess.PIPE,
                        text=True,
                    )
                    for script in (ALONE + body + start + end for end in STORE_ENDS)
                ]
                errors = [process.communicate(timeout=120)[1] for process in ended]
                statuses = [process.returncode for process in ended]
                self.assertEqual(statuses, list(STORE_ENDS.values()), errors)

    def test_while_state_is_under_way(self):
        """The others learn what it was that ended."""
        body = """
migration = prepare(mode="safe")
try:
    migration.run()
    if rank == 1:
        migration.finish()
except etc.PeerError as error:
    sys.exit(f"{error}, {migration.outcome}")
"""
        (first, _), (second, said) = self.end(body, defer="optimizer")
        self.assertEqual((first, second), (0, 1))
        self.assertRegex(said, "^device 0: the process exits before .* is over, old$")


if __name__ == "__main__":
    unittest.main()
