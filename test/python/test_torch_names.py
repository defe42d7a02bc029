"""Names that torch does not document, and that this package depends on."""

import ast
import datetime
import inspect
import pathlib
import socket
import unittest
from unittest import mock

import etc
import torch
import torch.distributed as dist
import torch_ranks
from etc.run.main import read_settings
from etc.torch_private import agent as run
from etc.torch_private import groups, stores, tensors


ROOT = pathlib.Path(etc.__file__).parent
# Objects of torch, and what they have that begins as names of this package's own do.
TORCH = {"c10d", "distributed_c10d", "torch", "dist"}
THEIRS = {
    "_buffers",
    "_local_tensor",
    "_non_persistent_buffers_set",
    "_plugins",
    "_op_dispatcher",
    "_orig_mod",
}


def private_names(path):
    """Names of torch with a leading underscore, or in an undocumented module, that a file
    of this package refers to."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch"):
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
            yield from (n for n in names if n[0] == "_" or n == "distributed_c10d")
        if isinstance(node, ast.Attribute) and node.attr in THEIRS:
            if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
                yield node.attr
        if isinstance(node, ast.Constant) and str(node.value).strip(".") in THEIRS:
            yield str(node.value)
        if isinstance(node, ast.Attribute) and node.attr[0] == "_":
            if isinstance(node.value, ast.Name) and node.value.id in TORCH:
                yield f"{node.value.id}.{node.attr}"


class Names(unittest.TestCase):
    def test_they_stand_in_one_folder(self):
        found = {
            str(path.relative_to(ROOT)): names
            for path in ROOT.rglob("*.py")
            if path.parent.name != "torch_private"
            and (names := sorted(set(private_names(path))))
        }
        self.assertEqual(found, {})

    def test_torchrun_parses_its_options(self):
        args = run.parse(["--nnodes=1:2", "--nproc-per-node=2", "a.py", "--b"])
        config, entrypoint, arguments = run.configure(args)
        self.assertEqual((config.min_nodes, config.max_nodes), (1, 2))
        self.assertEqual(config.nproc_per_node, 2)
        self.assertEqual(arguments[-2:], ["a.py", "--b"])
        for name in ("log_line_prefix_template", "start_method", "shutdown_timeout"):
            self.assertTrue(hasattr(config, name), name)

    def test_conf_is_pairs(self):
        self.assertEqual(run.parse_conf("a=1,b=2"), {"a": "1", "b": "2"})

    def test_conf_has_keys_of_etcrun_alone(self):
        words = "timeout is none of grace, .*; etcrun does not support torchrun's keys"
        with self.assertRaisesRegex(ValueError, words):
            read_settings(run.parse(["--rdzv-conf=timeout=9", "a.py"]), None)

    def test_one_node_needs_no_endpoint(self):
        for options in (["--standalone"], ["--nnodes=1"]):
            args = run.parse([*options, "a.py"])
            config, _, _ = run.configure(args)
            settings, _ = read_settings(args, config)
            self.assertEqual(settings.endpoints, [settings.address])
            self.assertEqual(settings.address[0], "127.0.0.1")
            self.assertNotEqual(settings.address[1], 0)

    def test_redirections_are_of_one_rank(self):
        args = run.parse(["--nproc-per-node=2", "--redirects=1:3", "a.py"])
        config, _, _ = run.configure(args)
        for local, expected in ((0, 0), (1, 3)):
            logs = run._logs(config.logs_specs, local, 0, 2)
            self.assertEqual(int(logs._redirects), expected)

    def test_the_agent_calls_what_etcrun_defines(self):
        source = inspect.getsource(run.SimpleElasticAgent.run)
        for name in ("_invoke_run", "_shutdown", "_record_worker_events"):
            self.assertIn(name, source)
        self.assertFalse(inspect.isabstract(run.Agent))

    def test_parts_of_tensors_and_modules(self):
        module = torch.nn.BatchNorm1d(3)
        module.register_buffer("passing", torch.ones(1), persistent=False)
        saved = dict(tensors.saved_buffers(module))
        self.assertEqual(
            sorted(saved), [n for n in sorted(module.state_dict()) if n in saved]
        )
        self.assertEqual(len(saved), 3)
        del module.running_mean
        tensors.put_buffer(module, "running_mean", saved["running_mean"])
        self.assertIn("running_mean", module.state_dict())
        optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
        self.assertFalse(tensors.has_scheduler(optimizer))
        torch.optim.lr_scheduler.StepLR(optimizer, 1)
        self.assertTrue(tensors.has_scheduler(optimizer))
        self.assertIs(tensors.compiled_by(torch.compile(module)), module)
        self.assertIsNone(tensors.compiled_by(module))
        self.assertEqual(tensors.cuts_uneven_strides(), not torch_ranks.OLD)

    def test_stores_do_without_libuv(self):
        """As Debian builds torch."""

        def make(host, port, use_libuv, **options):
            if use_libuv:
                raise RuntimeError("PyTorch was build without libuv support")
            return made(host, port, use_libuv=use_libuv, **options)

        made = dist.TCPStore
        with mock.patch.object(dist, "TCPStore", make):
            server = stores.serve_store("127.0.0.1")
            client = stores.join_store(
                "127.0.0.1", server.port, datetime.timedelta(seconds=30)
            )
            client.set("a", "b")
            self.assertEqual(server.get("a"), b"b")

    def test_a_store_is_served_at_its_address_alone(self):
        server = stores.serve_store("127.0.0.2")
        with socket.create_connection(("127.0.0.2", server.port)):
            pass
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port))

    def test_groups_and_meshes(self):
        group = groups.make_gloo(dist.HashStore(), 0, 1, 5.0)
        tensor = torch.ones(2)
        group.allreduce([tensor]).wait()
        groups.forget_meshes()
        groups.forget_names()
        runs = []

        def run(make):
            runs.append(make())
            return runs[-1]

        groups.create_gloo_by(run)
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        self.assertEqual(len(runs), 1)
        limit = datetime.timedelta(seconds=17)
        groups.limit_groups(limit)
        group = dist.new_group([0])  # as meshes do
        options = group._get_backend(torch.device("cpu")).options
        self.assertEqual(options._timeout, limit)
        groups.forget_groups()
        self.assertFalse(dist.is_initialized())
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        dist.destroy_process_group()


if __name__ == "__main__":
    unittest.main()
