"""Plans as objects. Nothing here needs PyTorch."""

import copy
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import threading
import unittest

import etc
from ranks import MODEL

REQUEST = {"model": MODEL, "prev": "PP2TP2", "curr": "PP4", "cluster": "1x4"}


class Planning(unittest.TestCase):
    def test_figures_are_those_of_the_json(self):
        plan = etc.plan(**REQUEST)
        written = plan.to_json()
        expected = written["summary"] | {"time": written["time"]}
        self.assertEqual(plan.summary.to_dict(), expected)
        self.assertEqual(plan.placement, written["placement"])
        self.assertEqual(plan.participants, written["world"]["participants"])
        self.assertEqual(plan.summary.bound.moved_bytes, plan.summary.moved_bytes)
        self.assertIn("moves ", str(plan.summary))
        self.assertIn(f"rounds   {plan.summary.rounds}", str(plan.summary))
        only = plan.to_json(devices=[2])
        self.assertEqual([entry["device"] for entry in only["devices"]], [2])

    def test_figures_do_not_change(self):
        plan = etc.plan(**REQUEST)
        with self.assertRaises(AttributeError):
            plan.summary.moved_bytes = 0

    def test_equal_requests_give_equal_bytes(self):
        plan, again = etc.plan(**REQUEST), etc.plan(REQUEST)
        self.assertEqual(plan, again)
        self.assertEqual(plan.fingerprint, again.fingerprint)
        other = etc.plan(REQUEST, curr="PP2")
        self.assertNotEqual(plan, other)
        self.assertNotEqual(plan.fingerprint, other.fingerprint)

    def test_threads_plan_at_once(self):
        fingerprints = []
        work = [
            threading.Thread(
                target=lambda: fingerprints.append(etc.plan(**REQUEST).fingerprint)
            )
            for _ in range(4)
        ]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
        self.assertEqual(fingerprints, [etc.plan(**REQUEST).fingerprint] * 4)

    def test_ways_to_say_the_same(self):
        plan = etc.plan(**REQUEST)
        for change in (
            {"cluster": [4]},
            {"cluster": "4"},
            {"cluster": {"nodes": 1, "devices_per_node": 4}},
            {"prev": {"pp": 2, "tp": 2}},
        ):
            self.assertEqual(etc.plan(**{**REQUEST, **change}), plan, change)
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "request.json")
            whole = {**REQUEST, "cluster": {"nodes": [4]}}
            with open(path, "w", encoding="utf-8") as file:
                json.dump(whole, file)
            self.assertEqual(etc.plan(path), plan)
            model = os.path.join(directory, "model.json")
            with open(model, "w", encoding="utf-8") as file:
                json.dump(MODEL, file)
            self.assertEqual(etc.plan(**{**REQUEST, "model": model}), plan)

    def test_migrations_chain(self):
        first = etc.plan(**REQUEST)
        second = etc.plan(model=MODEL, prev=first, curr="PP2", cluster="1x4")
        self.assertEqual(second.placement["prev"], first.placement["curr"])

    def test_what_can_not_be_met(self):
        cases = {
            "curr: 4 layers do not divide over pp = 3": {"curr": "PP3"},
            "needs 4 devices, but the cluster has 2": {"cluster": "1x2"},
            "memory budget: 1000 bytes is infeasible": {"memory_budget": 1000},
            "1000 bytes, 600 of them reserved, is infeasible": {
                "memory_budget": 1000,
                "reserve": 600,
            },
            "reserve: is a part of a memory budget in bytes": {"reserve": 600},
        }
        for words, change in cases.items():
            with self.assertRaises(etc.UnsatisfiableError, msg=words) as raised:
                etc.plan(**{**REQUEST, **change})
            self.assertIn(words, str(raised.exception))

    def test_what_is_malformed(self):
        cases = {
            'curr: unknown dimension "QQ"': {"curr": "QQ2"},
            'unknown field "colour"': {"colour": "red"},
            'unknown preset "gpt7"': {"model": "gpt7"},
            "types[0]": {"types": ("weights",)},
            'objective: unknown value "least"': {"objective": "least"},
        }
        for words, change in cases.items():
            with self.assertRaises(etc.PlanError, msg=words) as raised:
                etc.plan(**{**REQUEST, **change})
            self.assertNotIsInstance(raised.exception, etc.UnsatisfiableError)
            self.assertIn(words, str(raised.exception))
        with self.assertRaisesRegex(ValueError, "cluster: expected nodes x devices"):
            etc.plan(**{**REQUEST, "cluster": "four"})


class Files(unittest.TestCase):
    def setUp(self):
        self.plan = etc.plan(**REQUEST)
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.path = os.path.join(holder.name, "m.etcplan")

    def test_requests_and_models_are_regular_files(self):
        fifo = self.path + ".json"
        os.mkfifo(fifo)
        for name in (fifo, "/dev/zero"):
            with self.assertRaisesRegex(ValueError, "expected a regular file"):
                etc.plan(name)
        with self.assertRaisesRegex(ValueError, "expected a regular file"):
            etc.plan(**{**REQUEST, "model": fifo})

    def test_round_trip(self):
        self.plan.save(self.path)
        loaded = etc.Plan.load(self.path)
        self.assertEqual(loaded, self.plan)
        loaded.verify()
        self.assertEqual(pickle.loads(pickle.dumps(loaded)), loaded)
        self.assertEqual(copy.deepcopy(loaded), loaded)

    def test_a_file_stays_where_the_new_one_cannot_be_written(self):
        self.plan.save(self.path)
        before = os.stat(self.path)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            with self.assertRaises(OSError):
                self.plan.save(self.path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        self.assertEqual(os.stat(self.path).st_size, before.st_size)
        names = os.listdir(os.path.dirname(self.path))
        self.assertEqual([name for name in names if name.endswith(".part")], [])

    def test_what_is_no_file_stays_what_it_is(self):
        self.plan.save(os.devnull)
        self.assertFalse(os.path.isfile(os.devnull))
        self.plan.save(self.path)
        os.chmod(self.path, 0o600)
        self.plan.save(self.path)
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)

    def test_damaged_files_are_refused(self):
        data = bytearray(self.plan.to_bytes())
        data[len(data) // 2] ^= 1
        with self.assertRaises(etc.PlanError):
            etc.Plan.from_bytes(bytes(data))
        with self.assertRaises(etc.PlanError):
            etc.Plan.from_bytes(b"")
        with self.assertRaisesRegex(RuntimeError, "absent.etcplan"):
            etc.Plan.load("absent.etcplan")


class Tables(unittest.TestCase):
    def test_roles_in_megatrons_order(self):
        plan = etc.plan(model=MODEL, prev="PP2TP2", curr="TP2DP2", cluster="1x4")
        roles = [plan.prev_role(device) for device in range(4)]
        grid = [(role["pp"], role["tp"], role["dp"]) for role in roles]
        self.assertEqual(grid, [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0)])
        taken = {plan.curr_role(device)["rank"] for device in range(4)}
        self.assertEqual(taken, {0, 1, 2, 3})
        for device in range(4):
            role = plan.curr_role(device)
            self.assertEqual(role["rank"], role["tp"] + 2 * role["dp"])
            self.assertEqual(plan.placement["curr"][role["rank"]], device)

    def test_roles_of_the_other_order(self):
        plan = etc.plan(
            model=MODEL, prev="PP2DP2+order=pp-dp", curr="PP2", cluster="1x4"
        )
        self.assertEqual(plan.prev_role(1)["pp"], 1)
        self.assertEqual(plan.prev_role(2)["dp"], 1)
        self.assertIsNone(plan.prev_role(4))
        self.assertEqual(plan.configuration["prev"]["order"], "tp-cp-ep-pp-dp")

    def test_certificates_are_those_of_the_json_plan(self):
        plan = etc.plan(model=MODEL, prev="PP2TP2", curr="PP2", cluster="2x2")
        self.assertEqual(plan.certificates, plan.to_json()["certificates"])
        bounds = {each["quantity"]: each["bound_bytes"] for each in plan.certificates}
        self.assertEqual(bounds["moved_bytes"], plan.summary.bound.moved_bytes)
        self.assertEqual(bounds["internode_bytes"], plan.summary.bound.internode_bytes)

    def test_configurations_are_numbers(self):
        plan = etc.plan(model=MODEL, prev="PP2TP2", curr="TP2DP2+zero1", cluster="1x4")
        curr = plan.configuration["curr"]
        self.assertEqual(
            [curr[size] for size in ("pp", "tp", "dp", "cp")], [1, 2, 2, 1]
        )
        self.assertEqual([curr[size] for size in ("ep", "etp", "vpp")], [1, 2, 1])
        self.assertTrue(curr["distributed_optimizer"])
        self.assertFalse(plan.configuration["prev"]["distributed_optimizer"])
        self.assertEqual((plan.prev, plan.curr), ("PP2TP2", "PP1TP2DP2+zero1"))

    def test_local_tensors(self):
        plan = etc.plan(**REQUEST)
        spec = plan.prev_tensors(0)["param"]["decoder.layers.0.mlp.linear_fc1.weight"]
        self.assertEqual(spec.shape, (64, 32))
        self.assertEqual(spec.dtype, "bf16")
        self.assertEqual(spec.boxes, (((0, 64), (0, 32)),))
        self.assertEqual(spec.global_shape, (128, 32))
        self.assertEqual(spec.bytes, 64 * 32 * 2)

    def test_gated_layers_have_the_trainers_shape(self):
        model = {**MODEL, "gated": True, "ffn": 96}
        plan = etc.plan(model=model, prev="TP2", curr="PP2", cluster="1x2")
        name = "decoder.layers.0.mlp.linear_fc1.weight"
        half = plan.prev_tensors(0)["param"][name]
        self.assertEqual(half.global_shape, (2, 96, 32))
        self.assertEqual(half.shape, (96, 32))  # [gate; up], half of each
        self.assertEqual(plan.curr_tensors(0)["param"][name].shape, (192, 32))

    def test_ranges_of_the_distributed_optimizer_are_flat(self):
        plan = etc.plan(model=MODEL, prev="DP2+zero1", curr="PP2", cluster="1x2")
        shapes = [spec.shape for spec in plan.prev_tensors(0)["exp_avg"].values()]
        self.assertTrue(any(len(shape) == 1 for shape in shapes))
        self.assertEqual(plan.prev, "PP1DP2+zero1")

    def test_devices_without_a_part(self):
        plan = etc.plan(model=MODEL, prev="PP1", curr="PP2", cluster="1x4")
        with self.assertRaisesRegex(ValueError, "device 3 takes no part"):
            plan.prev_tensors(3)
        self.assertEqual(plan.prev_tensors(plan.participants[1]), {})


class Imports(unittest.TestCase):
    def run_python(self, code):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_planning_does_not_import_torch(self):
        self.run_python(
            "import sys, etc\n"
            "etc.plan(model='gpt2', prev='PP2', curr='PP4', cluster='1x4')\n"
            "assert 'torch' not in sys.modules"
        )

    def test_plans_load_without_the_planner(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "m.etcplan")
            etc.plan(**REQUEST).save(path)
            self.run_python(
                "import sys\n"
                "sys.modules['etc._plan'] = None\n"
                "import etc\n"
                f"plan = etc.Plan.load({path!r})\n"
                "assert plan.summary.moved_bytes > 0\n"
                "assert 'moves ' in str(plan.summary)\n"
                "try:\n"
                "    etc.plan(model='gpt2', prev='PP2', curr='PP4', cluster='1x4')\n"
                "except etc.UsageError as error:\n"
                "    assert 'has no planner' in str(error)\n"
                "else:\n"
                "    raise SystemExit('planned')\n"
            )


if __name__ == "__main__":
    unittest.main()
