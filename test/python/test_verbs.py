"""Each verb of the planner gives the same through the command line and in process:
Python stands on C, C and etc-opt on lib/Planner. Nothing here needs PyTorch."""

import json
import os
import random
import shutil
import subprocess
import tempfile
import unittest

import etc
from etc.plans import _format_bytes

ETC_OPT = os.environ.get("ETC_OPT") or shutil.which("etc-opt")
REQUESTS = 20
RATES = (25.0, 200.0)
OBJECTIVES = ("internode", "total")


def random_side(rng, devices):
    """A configuration of at most that many devices."""
    pp, tp = rng.choice((1, 2, 3, 4)), rng.choice((1, 2, 4))
    while pp * tp > devices:
        pp, tp = max(1, pp // 2), max(1, tp // 2) if tp > pp else tp
    dp = rng.randint(1, max(1, devices // (pp * tp)))
    return f"PP{pp}TP{tp}DP{dp}"


def random_request(rng):
    nodes = [rng.choice((2, 4)) for _ in range(rng.randint(2, 4))]
    request = {
        "model": {
            "family": "gpt",
            "layers": 12,
            "hidden": 64,
            "heads": 4,
            "vocab": 512,
            "seq": 32,
        },
        "prev": random_side(rng, sum(nodes)),
        "curr": random_side(rng, sum(nodes)),
        "cluster": {"nodes": nodes},
        "place": rng.choice(("any", "tp", "pack")),
        "objective": rng.choice(OBJECTIVES),
    }
    if rng.random() < 0.3:
        request["draining"] = [rng.randrange(sum(nodes))]
    if rng.random() < 0.2:
        request["failed"] = [sum(nodes) - 1]
        request.pop("draining", None)
    if rng.random() < 0.3:
        request["defer"] = "optimizer"
    return request


def describe_price(price):
    """The line of a summary."""
    if price is None:
        return None
    aside = ", without relays" if price["relays_aside"] else ""
    moved, internode = price["moved_bytes"], price["internode_bytes"]
    if moved is None:
        text = "unknown"
    elif moved == internode == 0 and abs(price["seconds"] or 0) < 1e-6:
        text = "0 B"
    else:
        text = f"{_change(moved)} moved, {_change(internode)} between nodes"
        if price["seconds"] is not None:
            text += f", {_change_of_time(price['seconds'])}"
            text += " in the pause" if price["of_pause"] else ""
    return f"  price    --place={price['place']} over --place=any{aside}: {text}"


def _change(count):
    return f"{_format_bytes(abs(count))} {'less' if count < 0 else 'more'}"


def _change_of_time(seconds):
    if abs(seconds) < 1e-6:
        return "no more time"
    return f"{1000 * abs(seconds):.4g} ms {'less' if seconds < 0 else 'more'}"


def table_row(row):
    """A line of the frontier's table."""
    star = "*" if row.get("best") else " "
    head = f"{star} {row['place']:<5} {row['objective']:<10}"
    if "no_plan" in row:
        return f"{head} no plan: {row['no_plan']}"
    return (
        f"{head} {_format_bytes(row['moved_bytes']):>12} "
        f"{_format_bytes(row['internode_bytes']):>14} {row['split_groups']:12} "
        f"{row['nodes_used']:11} {row['nodes_freed']:12} {row['seconds']:11.6f}"
    )


@unittest.skipUnless(ETC_OPT, "needs etc-opt: its path in ETC_OPT, or in PATH")
class Verbs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.seed = int(os.environ.get("ETC_SEED", random.randrange(1 << 32)))
        print(f"\nETC_SEED={self.seed}", flush=True)

        self.explained = self.etc_opt("--explain").stdout.decode().splitlines()

    def path(self, name):
        return os.path.join(self.folder, name)

    def etc_opt(self, *options):
        return subprocess.run(
            [ETC_OPT, *options, "--quiet"], capture_output=True, check=False
        )

    def compare(self, answer, options, read=json.loads):
        """Calls answer(): what the command line prints, or the same error."""
        done = self.etc_opt(*options)
        try:
            got = answer()
        except (etc.UnsatisfiableError, etc.PlanError) as error:
            status = 1 if isinstance(error, etc.UnsatisfiableError) else 2
            self.assertEqual(done.returncode, status, done.stderr)
            # The command line names options where others name arguments.
            text = str(error).removeprefix("count: ")
            self.assertIn(text, done.stderr.decode())
            return None
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(got, read(done.stdout))
        return got

    def compare_frontier(self, request, file):
        text = f"--rates={RATES[0]:g},{RATES[1]:g}"
        # The table tries every placement and objective by itself.
        done = self.etc_opt(file, "--frontier", text)
        try:
            found = etc.frontier(request, rates=RATES)
        except etc.UnsatisfiableError as error:
            self.assertEqual(done.returncode, 1)
            self.assertIn(str(error), done.stderr.decode())
            return
        lines = done.stdout.decode().splitlines()
        # Two lines before the rows, and two after them.
        self.assertEqual([table_row(row) for row in found["rows"]], lines[2:-2])
        objectives = [row["objective"] for row in found["rows"]]
        self.assertEqual(objectives, 3 * ["time", "total", "internode"])
        bound = [found["bound"][name] for name in ("moved_bytes", "internode_bytes")]
        self.assertEqual(lines[-2].split()[0], "bound")
        for count in bound:
            self.assertIn(_format_bytes(count), lines[-2])
        self.assertIn(f"{found['prev']} -> {found['curr']}, ", lines[0])
        self.assertIn(f" {found['groups']} tensor-parallel groups, ", lines[0])

    def compare_plan(self, plan):
        """What is asked of a plan."""
        file = self.path("m.etcplan")
        plan.save(file)
        names = [f"gpu{number:02}" for number in range(len(plan.nodes))]
        rates = f"--rates={RATES[0]:g},{RATES[1]:g}"
        hosts = "--hosts=" + ",".join(names)
        self.compare(lambda: plan.to_json(), (file, "--emit=json"))
        self.compare(lambda: plan.ranks(), (file, "--emit=ranks"))
        self.compare(lambda: plan.ranks(names), (file, "--emit=ranks", hosts))
        self.compare(lambda: plan.report(), (file, "--emit=report"), bytes.decode)
        self.compare(
            lambda: plan.report(RATES), (file, "--emit=report", rates), bytes.decode
        )
        self.compare(
            lambda: str(plan.summary) + "\n", (file, "--emit=summary"), bytes.decode
        )

    def compare_request(self, request, count):
        """All verbs; whether there is a plan."""
        file = self.path("request.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(request, out)
        data = self.compare(
            lambda: etc.plan(request).to_bytes(), (file, "--emit=plan"), bytes
        )
        text = self.compare(
            lambda: etc.explain(request), (file, "--emit=summary"), bytes.decode
        )
        self.compare(
            lambda: etc.which_nodes(count, request), (file, f"--which-nodes={count}")
        )
        self.compare_frontier(request, file)
        if data is None:
            return False
        self.check_words(text)
        lines = [line for line in text.splitlines() if "  price  " in line]
        said = describe_price(etc.price(request))
        self.assertEqual(lines, [said] if said else [])
        self.compare_plan(etc.Plan.from_bytes(data))
        return True

    def test_random_requests(self):
        rng = random.Random(self.seed)
        planned = 0
        for number in range(REQUESTS):
            request, count = random_request(rng), rng.randint(1, 2)
            with self.subTest(number=number, request=request):
                planned += self.compare_request(request, count)
        self.assertGreater(planned, REQUESTS // 4)

    def check_words(self, summary):
        """Each line of a summary begins with a word that --explain explains."""
        words = {line[2:11].strip() for line in self.explained if line[2] != " "}
        for line in summary.splitlines()[1:]:
            self.assertIn(line[2:11].strip(), words, line)

    def compare_two_stage(self, request):
        """Both plans, byte for byte; whether there are any."""
        file, plan = self.path("request.json"), self.path("m.etcplan")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(request, out)
        done = self.etc_opt(file, "--two-stage", "--emit=plan", "-o", plan)
        try:
            pair = etc.two_stage(request)
        except etc.UnsatisfiableError as error:
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(str(error), done.stderr.decode())
            return False
        self.assertEqual(done.returncode, 0, done.stderr)
        for number, made in enumerate(pair, 1):
            with open(self.path(f"m.{number}.etcplan"), "rb") as read:
                self.assertEqual(made.to_bytes(), read.read())
        return True

    def test_two_stages(self):
        rng = random.Random(self.seed)
        planned = 0
        for number in range(REQUESTS):
            request = random_request(rng)
            for chosen in ("place", "objective", "draining", "failed"):
                request.pop(chosen, None)
            request["policy"] = "paper"
            request["paper_costs"] = rng.choice(("merged", "units"))
            with self.subTest(number=number, request=request):
                planned += self.compare_two_stage(request)
        self.assertGreater(planned, REQUESTS // 4)

    def test_chain(self):
        """A request that begins where a plan ends."""
        request = {"model": "gpt2", "prev": "PP2TP2", "curr": "PP4", "cluster": "2x4"}
        first = etc.plan(**request)
        first.save(self.path("m.etcplan"))
        options = ("--model=gpt2", "--curr=TP2DP2", "--cluster=2x4", "--emit=plan")
        self.compare(
            lambda: etc.plan(
                model="gpt2", prev=first, curr="TP2DP2", cluster="2x4"
            ).to_bytes(),
            (*options, f"--prev={self.path('m.etcplan')}"),
            bytes,
        )

    def test_chain_of_inventories(self):
        """A request that begins where a plan ends that has no configuration."""
        shape = {"name": "weight", "type": "param", "dtype": "bf16", "shape": [10, 4]}
        whole = {"format": "etc-inventory", "version": 1, "tensors": [shape]}

        def rows(*bounds):
            shards = [{"tensor": 0, "boxes": [[each, [0, 4]]]} for each in bounds]
            roles = [{"has": [number]} for number in range(len(shards))]
            return {"inventory": {**whole, "shards": shards, "roles": roles}}

        first = etc.plan(prev=rows([0, 10]), curr=rows([0, 5], [5, 10]), cluster="1x3")
        first.save(self.path("m.etcplan"))
        curr = rows([0, 4], [4, 8], [8, 10])
        second = etc.plan(prev=first, curr=curr, cluster="1x3")
        # Rows 4; 8 and 9.
        self.assertEqual(second.summary.moved_bytes, 3 * 4 * 2)
        self.assertEqual(second.placement["prev"], first.placement["curr"])
        for device in first.placement["curr"]:
            held = first.curr_tensors(device)
            self.assertEqual(second.prev_tensors(device), held)
        with open(self.path("curr.json"), "w", encoding="utf-8") as file:
            json.dump(curr["inventory"], file)
        self.compare(
            second.to_bytes,
            (
                f"--prev={self.path('m.etcplan')}",
                f"--curr={self.path('curr.json')}",
                "--cluster=1x3",
                "--emit=plan",
            ),
            bytes,
        )

    def test_slices(self):
        """The slice of each rank; what needs the whole plan says so."""
        request = {"model": "gpt2", "prev": "PP2TP2", "curr": "PP4DP2+zero1"}
        plan = etc.plan(**request, cluster="2x4")
        plan.save(self.path("m.etcplan"))
        for rank in (0, 7):
            part = plan.slice(rank)
            for role in (part.prev_role, part.curr_role):
                with self.assertRaisesRegex(etc.UsageError, "a slice has no placements"):
                    role(plan.placement["curr"][rank])
            with self.assertRaisesRegex(etc.UsageError, "use the whole plan"):
                etc.plan(model="gpt2", prev=part, curr="PP2TP2", cluster="2x4")
            self.assertIsNone(part.summary.time)
            done = self.etc_opt(
                self.path("m.etcplan"), "--emit=plan", f"--slice={rank}"
            )
            self.assertEqual(part.to_bytes(), done.stdout)
            self.assertLess(len(part.to_bytes()), len(plan.to_bytes()))
            self.assertEqual(part.fingerprint, plan.fingerprint)
            self.assertEqual(part.participants, plan.participants)
            self.assertEqual(part.curr_tensors(rank), plan.curr_tensors(rank))
            self.assertEqual(part.curr_tensors(3), {})
            self.assertIn("PP2TP2 -> PP4DP2+zero1, 4 -> 8 devices", str(part.summary))
            for show in (part.to_json, part.ranks, part.report):
                with self.assertRaisesRegex(etc.UsageError, "give the whole plan"):
                    show()
            with self.assertRaisesRegex(etc.UsageError, "is a slice itself"):
                part.slice(rank)
        with self.assertRaisesRegex(etc.UsageError, "participant 8: the plan has 8"):
            plan.slice(8)

    def test_coalesced_chain(self):
        """One plan of several requests; which of them is wrong is in the message."""
        model, cluster = {"preset": "gpt2", "layers": 4}, "2x4"
        chain = [
            {"model": model, "prev": "PP2TP2", "curr": "PP4", "cluster": cluster},
            {"model": model, "curr": "TP2DP4+zero1", "cluster": cluster},
            {"model": model, "curr": "PP2DP2", "cluster": cluster, "draining": [0]},
        ]
        files = [self.path(f"{number}.json") for number in range(len(chain))]
        for file, request in zip(files, chain):
            with open(file, "w", encoding="utf-8") as out:
                json.dump(request, out)
        self.compare(
            lambda: etc.chain(chain).to_bytes(), (*files, "--emit=plan"), bytes
        )
        self.assertEqual(etc.chain(chain).to_bytes(), etc.chain(files).to_bytes())
        self.assertEqual(etc.chain(chain[:1]).to_bytes(), etc.plan(chain[0]).to_bytes())
        wrong = [chain[0], {**chain[1], "cluster": "1x8"}]
        with self.assertRaisesRegex(etc.PlanError, r"requests\[1\]: cluster: expected"):
            etc.chain(wrong)
        wrong = [{**chain[i], "cluster": f"2x4@{('h100', 'gb200')[i]}"} for i in (0, 1)]
        with self.assertRaisesRegex(
            etc.PlanError,
            r"requests\[1\]: cluster: expected the rates .*; name the same here, or none$",
        ):
            etc.chain(wrong)
        with self.assertRaisesRegex(etc.PlanError, r"requests\[1\]: .*curr"):
            etc.chain([chain[0], {**chain[1], "curr": "XX"}])
        with self.assertRaisesRegex(etc.PlanError, "journal: .* holds no journal"):
            etc.chain(chain, journal=self.path("."))
        with self.assertRaisesRegex(ValueError, "requests: expected one request"):
            etc.chain([])

    def test_wrong_arguments(self):
        request = {"model": "gpt2", "prev": "PP2", "curr": "PP4", "cluster": "1x4"}
        with self.assertRaisesRegex(etc.PlanError, "policy: .* leave the policy out"):
            etc.frontier(**request, policy="paper")
        with self.assertRaisesRegex(etc.PlanError, "policy: two stages are of the"):
            etc.two_stage(**request, policy="best")
        with self.assertRaisesRegex(etc.PlanError, "paper_costs: is of the paper's"):
            etc.plan(**request, paper_costs="units")
        with self.assertRaisesRegex(ValueError, "count: expected a positive integer"):
            etc.which_nodes(0, **request)
        with self.assertRaisesRegex(etc.UsageError, "rates: expected 0.001 to"):
            etc.frontier(**request, rates=(-1, 450))
        with self.assertRaisesRegex(etc.UsageError, "rates: expected 0.001 to"):
            etc.plan(**request).report(rates=(0, 450))
        with self.assertRaisesRegex(etc.UsageError, "hosts: expected a name for each"):
            etc.plan(**request).ranks(["a", "b"])
        with self.assertRaisesRegex(etc.UsageError, "hosts: 'a b' is no host name"):
            etc.plan(**request).ranks(["a b"])


if __name__ == "__main__":
    unittest.main()
