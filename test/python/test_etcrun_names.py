"""Names that torch does not document, and that etcrun and World depend on."""

import datetime
import inspect
import unittest

import torch
import torch.distributed as dist
from etc.run import torch_private as run
from etc.torch import world_private


class Names(unittest.TestCase):
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

    def test_groups_and_meshes(self):
        group = world_private.make_gloo(dist.HashStore(), 0, 1, 5.0)
        tensor = torch.ones(2)
        group.allreduce([tensor]).wait()
        world_private.forget_meshes()
        world_private.forget_names()
        runs = []

        def run(make):
            runs.append(make())
            return runs[-1]

        world_private.create_gloo_by(run)
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        self.assertEqual(len(runs), 1)
        limit = datetime.timedelta(seconds=17)
        world_private.limit_groups(limit)
        group = dist.new_group([0])  # as meshes do
        options = group._get_backend(torch.device("cpu")).options
        self.assertEqual(options._timeout, limit)
        world_private.abort_groups()


if __name__ == "__main__":
    unittest.main()
