"""Jobs under etcrun: processes join, drain and die, and losses stay those of one process."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import etcrun_trainer
from etcrun_cluster import Cluster, Hosts

EXAMPLE = pathlib.Path(os.environ["ETC_SOURCE_DIR"]) / "docs/examples/torch/elastic.py"
SLOWER = 8 if etcrun_trainer.DEVICE == "cuda" else 1
"""How many more steps others have to make until a process joins, which is not forked."""
CONF = "last_call_timeout=30,silence=10,patience=60"


class Jobs(unittest.TestCase):
    def cluster(self, nodes, steps, *options, conf=CONF, limit=None):
        cluster = Cluster(
            nodes,
            script=[f"--steps={steps * SLOWER}"],
            options=[f"--nnodes=1:{limit or nodes}", f"--rdzv-conf={conf}", *options],
        )
        self.addCleanup(cluster.stop)
        for node in range(limit or nodes):
            cluster.start(node)
        return cluster

    def check(self, cluster, steps, **codes):
        ended = cluster.join()
        expected = dict.fromkeys(ended, 0)
        expected |= {int(name[1:]): code for name, code in codes.items()}
        self.assertEqual(ended, expected, cluster.output()[-3000:])
        self.assertEqual(cluster.wrong_losses(steps), [])  # at least these

    def test_nothing_happens(self):
        cluster = self.cluster(2, 8)
        self.check(cluster, 8)
        self.assertEqual(len(cluster.begun()), 4)

    def test_a_worker_of_two_is_killed(self):
        """The other one of its node, and all others, go on in the same processes."""
        cluster = self.cluster(2, 40)
        cluster.wait_for_steps(3)
        workers = cluster.living()
        victim = next(pid for pid, node in workers.items() if node == 1)
        os.kill(victim, signal.SIGKILL)
        cluster.wait_for_steps(4, size=2)
        self.assertEqual(cluster.living().keys(), workers.keys() - {victim})
        self.check(cluster, 40)
        self.assertEqual(len(cluster.begun()), 4)

    def test_a_killed_worker_is_replaced(self):
        cluster = self.cluster(2, 40, "--max-restarts=1")
        cluster.wait_for_steps(3)
        workers = cluster.living()
        os.kill(min(workers), signal.SIGKILL)
        cluster.wait_for_steps(4, size=4)
        self.assertEqual(len(cluster.living().keys() & workers.keys()), 3)
        self.check(cluster, 40)
        self.assertEqual(len(cluster.begun()), 5)

    def test_state_that_is_lost_is_restored(self):
        """Without replicas a death loses state; a new process has seeds of its own."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        cluster = Cluster(
            2,
            script=["--steps=40", "--multiple=4", f"--checkpoints={folder}"],
            options=["--nnodes=2", "--max-restarts=1", f"--rdzv-conf={CONF}"],
        )
        self.addCleanup(cluster.stop)
        for node in range(2):
            cluster.start(node)
        cluster.wait_for_steps(7)
        workers = cluster.living()
        victim = min(workers)
        os.kill(victim, signal.SIGKILL)
        cluster.wait_for_steps(4, size=4)
        others = workers.keys() - {victim}
        self.assertEqual(cluster.living().keys() & workers.keys(), others)
        self.check(cluster, 40)
        restored = [e for e in cluster.events() if e["event"] == "restored"]
        self.assertEqual({e["pid"] for e in restored}, set(cluster.begun()) - {victim})
        self.assertTrue(all(e["version"] >= 5 for e in restored), restored)
        seeds = {e["pid"]: e["seed"] for e in cluster.events() if e["event"] == "step"}
        self.assertEqual({seeds[pid] for pid in workers}, {0})
        self.assertNotIn(0, [seeds[pid] for pid in seeds.keys() - workers.keys()])

    def lonely(self, *script, limit=1):
        """A job of one node, and maybe another one that waits."""
        options = ["--nnodes=1", "--max-restarts=1", f"--rdzv-conf={CONF}"]
        cluster = Cluster(limit, script=list(script), options=options)
        self.addCleanup(cluster.stop)
        cluster.start(0)
        return cluster

    def kill_all(self, cluster):
        victims = cluster.living()
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        return set(victims)

    def check_restored(self, cluster, victims):
        """By all that came after them, and no step is made that was in the checkpoint."""
        restored = [e for e in cluster.events() if e["event"] == "restored"]
        self.assertEqual({e["pid"] for e in restored}, set(cluster.begun()) - victims)
        self.assertTrue(all(e["version"] >= 5 for e in restored), restored)
        later = [e for e in cluster.events() if e["event"] == "step"]
        later = [e["step"] for e in later if e["pid"] not in victims]
        self.assertEqual(min(later), restored[0]["version"])

    def test_the_state_of_a_job_whose_members_all_die_is_restored(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        cluster = self.lonely("--steps=20", f"--checkpoints={folder}")
        cluster.wait_for_steps(8)
        victims = self.kill_all(cluster)
        self.check(cluster, 20)
        self.check_restored(cluster, victims)

    def test_a_node_that_only_waited_knows_that_there_was_state(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        cluster = self.lonely("--steps=60", f"--checkpoints={folder}", limit=2)
        cluster.wait_for_steps(2)
        cluster.start(1)
        cluster.wait_for(lambda: len(cluster.begun()) == 4, "processes that wait")
        cluster.wait_for_steps(6)
        victims = {pid for pid, node in cluster.living().items() if node == 0}
        cluster.kill_node(0)
        self.check(cluster, 60, n0=-signal.SIGKILL)
        self.check_restored(cluster, victims)

    def test_a_job_whose_members_all_die_says_that_its_state_is_lost(self):
        cluster = self.lonely("--steps=20")
        cluster.wait_for_steps(3)
        victims = self.kill_all(cluster)
        self.assertEqual(cluster.join(), {0: 1})
        self.assertIn("all state is lost, since no process", cluster.output())
        made = [e["pid"] for e in cluster.events() if e["event"] == "step"]
        self.assertLessEqual(set(made), victims)

    def test_a_job_whose_members_all_die_before_a_step_starts_again(self):
        """Nothing is lost, and no checkpoint is asked for: there is none."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        cluster = self.lonely("--steps=4", "--pace=2", f"--checkpoints={folder}")
        cluster.wait_for(
            lambda: sum(e["event"] == "changed" for e in cluster.events()) == 2,
            "both in a world",
        )
        victims = self.kill_all(cluster)
        self.check(cluster, 4)
        seen = [(e["pid"], e["event"]) for e in cluster.events()]
        self.assertNotIn("restored", [event for _, event in seen])
        self.assertFalse([p for p, event in seen if event == "step" and p in victims])

    def test_hosts_have_networks_of_their_own(self):
        """Two namespaces, in which this machine's name is no address for others."""
        try:
            network = self.enterContext(Hosts(2, 1, "1gbit"))
        except (OSError, RuntimeError) as error:
            self.skipTest(f"no network namespaces: {error}")
        options = ["--nnodes=2", "--max-restarts=1", f"--rdzv-conf={CONF}"]
        cluster = Cluster(2, script=["--steps=40"], options=options, network=network)
        self.addCleanup(cluster.stop)
        for node in range(2):
            cluster.start(node)
        cluster.wait_for_steps(3)
        os.kill(max(cluster.living()), signal.SIGKILL)
        cluster.wait_for_steps(4, size=4)
        self.check(cluster, 40)
        self.assertEqual(len(cluster.begun()), 5)

    def test_the_leading_node_is_lost(self):
        cluster = self.cluster(3, 40)
        cluster.wait_for_steps(3)
        cluster.kill_node(0)
        cluster.wait_for_steps(4, size=4)
        self.check(cluster, 40, n0=-signal.SIGKILL)

    def test_a_node_drains_and_another_one_joins(self):
        cluster = self.cluster(3, 60, limit=2)
        cluster.wait_for_steps(3)
        os.kill(cluster.agents[0].pid, signal.SIGTERM)
        cluster.wait_for_steps(3, size=2)
        cluster.agents[0].join(30)
        cluster.start(2)
        cluster.wait_for_steps(3, size=4)
        self.check(cluster, 60)

    def test_a_drain_below_min_nodes_waits_for_another_node(self):
        """And says so; a node that joins receives what the drained one holds."""
        conf = CONF.replace("last_call_timeout=30", "last_call_timeout=3")
        options = ["--nnodes=2:3", f"--rdzv-conf={conf}", "--shutdown-timeout=200"]
        cluster = Cluster(3, script=["--steps=40"], options=options)
        self.addCleanup(cluster.stop)
        for node in range(2):
            cluster.start(node)
        cluster.wait_for_steps(3)
        os.kill(cluster.agents[1].pid, signal.SIGTERM)
        said = "needs 2 nodes (--nnodes), and would go on with 1; all workers wait"
        cluster.wait_for(lambda: said in cluster.output(), said)
        self.assertTrue(cluster.agents[1].is_alive())
        cluster.start(2)
        cluster.wait_for_steps(3, size=4)
        self.check(cluster, 40)
        self.assertEqual(cluster.lost_steps(), [])

    def test_a_worker_is_stopped(self):
        """Its agent gives it up, and the collectives behind it end."""
        cluster = self.cluster(2, 30)
        cluster.wait_for_steps(3)
        os.kill(max(cluster.living()), signal.SIGSTOP)
        cluster.wait_for_steps(4, size=2)
        self.check(cluster, 30)

    def test_an_error_of_its_own_ends_a_worker(self):
        cluster = Cluster(
            1,
            workers=1,
            script=["--steps=5", "--multiple=1", "--raise-at=2"],
            options=["--nnodes=1", f"--rdzv-conf={CONF}"],
        )
        self.addCleanup(cluster.stop)
        cluster.start(0)
        self.assertEqual(cluster.join(), {0: 1})
        self.assertIn("an error of the trainer's own", cluster.output())


class Example(unittest.TestCase):
    def test_prints_the_loss_through_the_change(self):
        command = [sys.executable, "-W", "ignore", "-m", "etc.run", "--standalone"]
        command += ["--nproc-per-node=4", "--max-restarts=1", str(EXAMPLE)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
        self.assertEqual(ran.returncode, 0, ran.stderr[-3000:])
        found = re.findall(r"^step (\d+): loss ([\d.]+)", ran.stdout, re.MULTILINE)
        self.assertEqual([int(step) for step, _ in found], list(range(len(found))))
        self.assertIn("2 members", ran.stdout)
        self.assertNotIn("pending", ran.stderr)  # as asyncio says of a task left behind
        self.assertLessEqual(len(EXAMPLE.read_text().splitlines()), 80)


if __name__ == "__main__":
    unittest.main()
