"""Who is a member, decided from reports alone: no processes, no clock."""

import random
import unittest

from etc.run.council import Council, Rules
from etc.run.members import Member, Report, key_of


class Job:
    """Agents and workers that do what they are told."""

    def __init__(self, nodes, workers=2, **rules):
        self.now = 0.0
        rules = {"min_nodes": 1, "max_nodes": nodes, "patience": 5.0, **rules}
        self.rules = Rules(**rules)
        self.council = Council(self.rules, None, set())
        self.nodes = [self.node(n, workers) for n in range(nodes)]

    def node(self, number, workers):
        report = Report(f"n{number}", number, "", "10.0.0.1", 1, 2)
        report.members = [Member(local, 0) for local in range(workers)]
        return report

    def member(self, key):
        node, local, _ = key.split("/")
        report = next(n for n in self.nodes if n.id == node)
        return next(m for m in report.members if m.local == int(local))

    def arrive(self, *members, failed=False):
        for member in members:
            member.phase, member.failed = "arrived", failed

    def everyone(self):
        return [m for n in self.nodes for m in n.members if m.phase != "dead"]

    def tell(self):
        """All agents report; what is decided is done."""
        for node in self.nodes:
            self.council.update(node, self.now)
        decisions = self.council.decide(self.now)
        if decisions.world:
            for placed in decisions.world.members:
                member = self.member(placed.key)
                member.phase, member.generation = "active", decisions.world.generation
                member.failed = False
        return decisions

    def enter(self, world):
        """Those that stay have their state, those that leave are done."""
        for rank, placed in enumerate(world.members):
            member = self.member(placed.key)
            if placed.role == "stay":
                member.layout, member.was = world.generation, rank
            elif placed.role == "leave":
                member.phase = "done"
            else:
                member.layout, member.phase = -1, "arrived"

    def start(self):
        self.arrive(*self.everyone())
        world = self.tell().world
        self.enter(world)
        return world


def keys(world):
    return [member.key for member in world.members]


class Decisions(unittest.TestCase):
    def test_starts_when_all_nodes_have_all_workers(self):
        job = Job(2)
        job.arrive(*job.everyone()[:3])
        self.assertIsNone(job.tell().world)
        job.arrive(*job.everyone())
        world = job.tell().world
        self.assertEqual(keys(world), ["n0/0/0", "n0/1/0", "n1/0/0", "n1/1/0"])
        self.assertEqual((world.host, world.port), ("10.0.0.1", 2))

    def test_starts_with_fewer_nodes_after_the_last_call(self):
        job = Job(1, max_nodes=3, last_call=2.0)
        job.arrive(*job.everyone())
        self.assertIsNone(job.tell().world)
        job.now = 2.0
        self.assertEqual(len(job.tell().world.members), 2)

    def test_a_death_makes_the_world_void_and_leaves_its_neighbour(self):
        job = Job(2)
        job.start()
        job.nodes[1].members[0].phase = "dead"
        decisions = job.tell()
        self.assertEqual(decisions.want, (1, True))
        self.assertIsNone(decisions.world)
        job.arrive(*job.everyone(), failed=True)
        self.assertEqual(keys(job.tell().world), ["n0/0/0", "n0/1/0", "n1/1/0"])

    def test_a_world_after_a_step_says_so_also_by_another_leader(self):
        """Else nobody would know that a world without state has lost it."""
        job = Job(2)
        self.assertFalse(job.start().has_trained)
        for node in job.nodes:
            node.members = [Member(local, 1, "arrived") for local in range(2)]
        self.assertFalse(job.tell().world.has_trained)
        job.nodes[1].has_trained = True
        job.tell()
        for leader in (job.council, Council(job.rules, job.council.world, set())):
            job.council = leader
            for node in job.nodes:
                node.members = [
                    Member(m.local, m.life + 1, "arrived") for m in node.members
                ]
            self.assertTrue(job.tell().world.has_trained)

    def test_a_drain_waits_for_the_boundary(self):
        job = Job(2)
        job.start()
        for member in job.nodes[0].members:
            member.draining = True
        job.nodes[0].draining = True
        self.assertEqual(job.tell().want, (1, False))
        job.arrive(*job.everyone())
        world = job.tell().world
        self.assertEqual([m.role for m in world.members], ["stay"] * 2 + ["leave"] * 2)
        self.assertEqual(world.members[0].key, "n1/0/0")

    def test_a_drain_below_min_nodes_says_what_it_waits_for(self):
        job = Job(2, min_nodes=2, max_nodes=3, last_call=0.0)
        job.start()
        job.nodes[1].draining = True
        for member in job.nodes[1].members:
            member.draining = True
        self.assertEqual(job.tell().lacks, "")
        job.arrive(*job.everyone())
        decisions = job.tell()
        self.assertIsNone(decisions.world)
        self.assertIn("and would go on with 1", decisions.lacks)
        job.nodes.append(job.node(2, 2))
        job.arrive(*job.nodes[2].members)
        roles = [m.role for m in job.tell().world.members]
        self.assertEqual(roles, ["stay"] * 4 + ["leave"] * 2)

    def test_a_death_in_a_change_keeps_who_leaves(self):
        job = Job(2)
        job.start()
        job.nodes[0].draining = True
        for member in job.nodes[0].members:
            member.draining = True
        job.tell()
        job.arrive(*job.everyone())
        self.assertEqual(job.tell().world.generation, 2)
        job.nodes[1].members[0].phase = "dead"
        self.assertEqual(job.tell().want, (2, True))
        job.arrive(*job.everyone(), failed=True)
        world = job.tell().world
        self.assertEqual([m.role for m in world.members], ["stay", "leave", "leave"])

    def test_who_does_not_arrive_is_given_up(self):
        job = Job(2)
        job.start()
        job.nodes[0].members[0].phase = "dead"
        job.arrive(*job.nodes[1].members, failed=True)
        self.assertEqual(job.tell().give_up, {})
        job.now = 5.5
        self.assertEqual(list(job.tell().give_up), ["n0/1/0"])

    def test_nobody_is_given_up_while_nobody_waits(self):
        """All of them given up would be all of the state."""
        job = Job(2)
        job.start()
        job.nodes[0].members[0].phase = "dead"
        for job.now in (1.0, 100.0):
            self.assertEqual(job.tell().give_up, {})
        job.arrive(job.nodes[1].members[0], failed=True)
        self.assertEqual(job.tell().give_up, {})
        job.now = 105.5
        self.assertEqual(sorted(job.tell().give_up), ["n0/1/0", "n1/1/0"])

    def test_spares_wait_for_a_multiple(self):
        job = Job(2)
        for member in job.everyone():
            member.multiple = 2
        job.start()
        job.nodes[1].members[1].phase = "dead"
        job.tell()
        job.arrive(*job.everyone(), failed=True)
        world = job.tell().world
        self.assertEqual([m.role for m in world.members], ["stay", "stay", "spare"])
        job.enter(world)
        self.assertIsNone(job.tell().want)  # a spare alone is no reason
        job.nodes[1].members[1] = Member(1, 1, "arrived", multiple=2)
        self.assertEqual(job.tell().want, (2, False))
        job.arrive(*job.everyone())
        self.assertEqual(len(job.tell().world.members), 4)

    def test_too_few_for_a_multiple_keep_their_state_and_wait(self):
        job = Job(2)
        for member in job.everyone():
            member.multiple = 4
        job.start()
        job.nodes[1].members[1].phase = "dead"
        job.tell()
        job.arrive(*job.everyone(), failed=True)
        decisions = job.tell()
        self.assertIsNone(decisions.world)
        self.assertIn("3 workers are too few for multiple_of=4", decisions.lacks)
        job.nodes[1].members[1] = Member(1, 1, "arrived", multiple=4)
        world = job.tell().world
        self.assertEqual([m.role for m in world.members], ["stay"] * 4)

    def test_who_fails_when_others_are_done_waits_for_nobody(self):
        job = Job(2, workers=1, min_nodes=2)
        for member in job.everyone():
            member.multiple = 2
        job.start()
        done, other = job.everyone()
        done.phase = "done"
        job.arrive(other, failed=True)
        decisions = job.tell()
        self.assertEqual((decisions.lacks, decisions.world is None), ("", False))

    def test_too_few_for_a_multiple_wait_at_the_start(self):
        job = Job(2, max_nodes=3, last_call=2.0)
        for member in job.everyone():
            member.multiple = 6
        job.arrive(*job.everyone())
        self.assertEqual(job.tell().lacks, "")
        job.now = 3.0
        decisions = job.tell()
        self.assertIsNone(decisions.world)
        self.assertIn("4 workers are too few for multiple_of=6", decisions.lacks)

    def test_a_spare_that_dies_before_it_hands_over_makes_the_world_void(self):
        job = Job(2)
        for member in job.everyone():
            member.multiple = 2
        job.start()
        spare, dead = job.nodes[1].members
        dead.phase = "dead"
        job.tell()
        job.arrive(*job.everyone(), failed=True)
        world = job.tell().world
        self.assertEqual(world.members[2].role, "spare")
        spare.phase = "dead"
        self.assertEqual(job.tell().want, (2, True))
        spare.phase = "active"
        job.enter(world)
        spare.phase = "dead"  # nobody waits for it any more
        self.assertIsNone(job.tell().want)

    def test_joiners_of_a_node_come_together(self):
        job = Job(1, max_nodes=2)
        job.now = 2.0
        job.arrive(*job.everyone())
        job.tell()
        job.now = 4.0
        job.enter(job.tell().world)
        job.nodes.append(job.node(1, 2))
        job.arrive(job.nodes[1].members[0])
        self.assertIsNone(job.tell().want)
        job.arrive(job.nodes[1].members[1])
        self.assertEqual(job.tell().want, (1, False))

    def test_more_nodes_than_allowed_wait(self):
        job = Job(2)
        job.start()
        job.nodes.append(job.node(2, 2))
        job.arrive(*job.nodes[2].members)
        self.assertIsNone(job.tell().want)

    def test_an_error_of_its_own_is_told_by_its_return(self):
        job = Job(2)
        job.start()
        culprit = job.nodes[1].members[0]
        for repeats in range(1, 3):
            job.arrive(culprit, failed=True)
            job.tell()
            job.arrive(*job.everyone(), failed=True)
            world = job.tell().world
            self.assertEqual(world.repeats, repeats)
            self.assertEqual(world.first_failed, "n1/0/0")
            job.enter(world)

    def test_another_leader_decides_the_same(self):
        job = Job(3)
        job.start()
        job.nodes[2].members[0].phase = "dead"
        job.arrive(*job.everyone(), failed=True)
        job.nodes = job.nodes[1:]
        job.council = Council(job.rules, job.council.world, {"n2"})
        job.council.lost("n0", False)
        job.council.update(job.nodes[0], 0.0)
        self.assertIsNone(job.council.decide(0.0).world)  # n2 has not reported
        self.assertEqual(keys(job.tell().world), ["n1/0/0", "n1/1/0", "n2/1/0"])

    def test_the_smaller_half_of_a_divided_network_waits(self):
        for here, decides in (([0, 1], True), ([2, 3], False), ([1, 2, 3], True)):
            job = Job(4)
            job.start()
            for number, node in enumerate(job.nodes):
                if number not in here:
                    job.council.lost(node.id, True)
            job.nodes = [job.nodes[n] for n in here]
            job.arrive(*job.everyone(), failed=True)
            self.assertEqual(job.tell().world is not None, decides, here)

    def test_who_was_left_out_may_not_go_on(self):
        job = Job(2)
        job.start()
        lost = job.nodes.pop()
        job.council.lost(lost.id, True)
        job.arrive(*job.everyone(), failed=True)
        job.enter(job.tell().world)
        job.nodes.append(lost)
        self.assertEqual(sorted(job.tell().give_up), ["n1/0/0", "n1/1/0"])

    def test_is_over_when_members_are_done(self):
        job = Job(2)
        job.start()
        for member in job.everyone():
            member.phase = "done"
        job.nodes.append(job.node(2, 2))
        job.arrive(*job.nodes[2].members)
        self.assertTrue(job.tell().over)

    def test_who_leaves_is_no_reason_for_another_change(self):
        job = Job(2)
        job.start()
        for member in job.nodes[0].members:
            member.draining = True
        job.nodes[0].draining = True
        job.tell()
        job.arrive(*job.everyone())
        job.tell()
        for member in job.nodes[1].members:  # those that leave still do
            member.layout = 2
        self.assertIsNone(job.tell().want)

    def test_who_arrived_for_a_reason_that_is_gone_goes_on(self):
        job = Job(2)
        job.start()
        job.arrive(*job.everyone())
        self.assertEqual(job.tell().world.generation, 2)

    def test_spares_end_with_the_job(self):
        job = Job(2)
        for member in job.everyone():
            member.multiple = 3
        job.start()
        for member in job.everyone()[:3]:
            member.phase = "done"
        self.assertTrue(job.tell().over)

    def test_random_events(self):
        """Deaths, drains and joins in any order: a world has no member twice, who lives
        and holds state is in it, and it forms when all have arrived."""
        for seed in range(300):
            with self.subTest(seed=seed):
                self._random_events(random.Random(seed))

    def _random_events(self, rng):
        job = Job(4)
        job.start()
        for _ in range(12):
            living = [m for m in job.everyone() if m.phase == "active"]
            if len(living) < 3:
                break
            event = rng.choice(["die", "drain", "join", "die in the change"])
            victim = rng.choice(living)
            if event.startswith("die"):
                victim.phase = "dead"
            elif event == "drain":
                victim.draining = True
            else:
                node = rng.choice(job.nodes)
                node.members.append(Member(len(node.members), 0, "arrived"))
            job.tell()
            job.arrive(*[m for m in job.everyone() if m.phase == "active"])
            world = job.tell().world
            self.assertIsNotNone(world, event)
            if event == "die in the change":
                stays = [job.member(m.key) for m in world.members if m.role == "stay"]
                rng.choice(stays).phase = "dead"
                job.tell()
                active = [m for m in job.everyone() if m.phase == "active"]
                job.arrive(*active, failed=True)
                world = job.tell().world
            listed = keys(world)
            self.assertEqual(len(listed), len(set(listed)))
            for node in job.nodes:
                for member in node.members:
                    if member.phase == "active":
                        self.assertIn(key_of(node, member), listed)
            job.enter(world)
            self.assertIsNone(job.tell().want)


if __name__ == "__main__":
    unittest.main()
