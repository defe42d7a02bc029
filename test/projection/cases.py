"""What is planned: families of random requests, and the paper's cases.

A case is a list of steps, each a request for etc-opt (a document, options, or both); a step after the first may name
PREVIOUS, the plan of the one before. A random case is named FAMILY/SEED, and its name makes it again.
"""

import dataclasses
import math
import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).parent.parent / "Integration/Inputs"))
import random_requests

PREVIOUS = "previous.etcplan"


@dataclasses.dataclass
class Step:
    options: list[str]
    request: dict | None = None


# ----------------------------------------------------------------------------------------------------------------------
# Random requests
# ----------------------------------------------------------------------------------------------------------------------


def small(seed):
    """Small models of every family, over all dimensions, policies, places, objectives and failures."""
    request, options = random_requests.draw_request(random.Random(seed))
    return [Step(options, request)]


def chain(seed):
    """There, back to the first configuration, and there once more, each from the plan before."""
    rng = random.Random(f"chain {seed}")
    request, options = random_requests.draw_request(rng)
    sides = [{key: value for key, value in request[side].items() if key != "devices"} for side in ("prev", "curr")]
    steps = [Step(options, request)]
    for curr in sides:
        request = {**request, "prev": {"plan": PREVIOUS}, "curr": curr}
        if rng.random() < 0.3:
            usable = set(range(sum(request["cluster"]["nodes"]))) - {*request["failed"], *request["leaving"]}
            request["leaving"] = [*request["leaving"], rng.choice(sorted(usable))]
        steps.append(Step(options, request))
    return steps


MODELS = (("gpt2", 4), ("gpt2", 12), ("gpt3-2.7b", 8), ("llama3-8b", 4), ("mixtral-8x7b", 2))


def draw_real_side(rng, layers, sparse):
    """A configuration of at most 32 ranks, in shorthand, and its size."""
    while True:
        pp, tp = rng.choice([d for d in (1, 2, 3, 4) if layers % d == 0]), rng.choice((1, 2, 4))
        dp, cp = rng.choice((1, 1, 2, 3, 4, 8)), rng.choice((1, 1, 1, 2))
        world = pp * tp * dp * cp
        if world <= 32:
            break
    text = f"PP{pp}TP{tp}DP{dp}CP{cp}"
    if sparse:
        ep = rng.choice([d for d in (1, 2, 4, 8) if dp * cp % d == 0])
        text += f"EP{ep}ETP{tp}"
    return text + rng.choice(("", "", "+zero1")), world


def real(seed):
    """Layers of presets at their real size, on equal nodes: with replicas to grow from, and rounds in plenty."""
    rng = random.Random(seed)
    preset, layers = rng.choice(MODELS)
    (prev, before), (curr, after) = (draw_real_side(rng, layers, preset.startswith("mixtral")) for _ in range(2))
    leaving = [rank for rank in range(before) if rng.random() < 0.15] if rng.random() < 0.3 else []
    per_node = rng.choice((2, 4, 8))
    nodes = math.ceil(max(before, after + len(leaving)) / per_node) + rng.choice((0, 0, 1))
    request = {"model": {"preset": preset, "layers": layers}, "prev": prev, "curr": curr, "leaving": leaving,
               "cluster": {"nodes": nodes, "devices_per_node": per_node}, "derive": rng.choice(("param", "none")),
               "objective": rng.choice(("internode", "internode", "total"))}
    if rng.random() < 0.1:
        request["policy"] = "paper"
    else:
        request["place"] = rng.choice(("any", "tp", "pack", "pack"))
    if rng.random() < 0.2:
        request["memory_budget"] = f"1.{rng.randint(1, 60):02}x"
    return [Step([], request)]


FAMILIES = {"small": (small, 500), "real": (real, 250), "chain": (chain, 50)}
"""A family, and how many cases of it are kept: 900 requests, since a chain has three."""


# ----------------------------------------------------------------------------------------------------------------------
# The paper's cases
# ----------------------------------------------------------------------------------------------------------------------

RECONFIGURATIONS = [  # layers, prev, curr, nodes of four
    (32, "PP8", "PP16", 4), (36, "PP4TP2", "PP4TP4", 4), (36, "PP4TP4", "PP4TP2", 4), (36, "PP4TP2", "PP6TP4", 6),
    (36, "PP6TP4", "PP4TP2", 6), (36, "PP4TP2DP3", "PP4TP8", 8), (32, "PP16", "PP8", 4), (16, "PP4", "PP2", 1)]
BARS = [  # prev, curr on four nodes of four
    ("PP2TP4", "PP2TP4DP2"), ("PP2TP4", "PP4TP4"), ("PP2TP4", "PP2TP8"), ("PP4TP4", "PP2TP4"), ("PP2TP8", "PP2TP4"),
    ("PP2TP4DP2", "PP2TP4"), ("PP2TP2DP2", "PP4TP4"), ("PP8", "PP16"), ("PP16", "PP8"), ("PP4TP2", "PP4TP4"),
    ("PP4TP4", "PP4TP2")]
SIXTEEN, EIGHT = "PP16DP64+stages=7:8:8:8:8:8:8:8:8:8:8:8:8:8:8:7", "+stages=15:16:16:16:16:16:16:15"
LARGE = [  # vocab, prev, curr on 1024 nodes of eight
    (2048, "TP8" + SIXTEEN, "TP8PP8DP128" + EIGHT), (2048, "TP8" + SIXTEEN, "TP16PP8DP64" + EIGHT),
    (1, "TP8" + SIXTEEN, "TP16PP8DP64" + EIGHT), (2048, "TP8PP8DP128" + EIGHT, "TP8" + SIXTEEN)]


def paper_cases():
    """Name and steps of every case of the paper's tables, with the policies and places that they are tested with."""
    for layers, prev, curr, nodes in RECONFIGURATIONS:
        name, sides = f"{prev}-{curr}", [f"--layers={layers}", f"--prev={prev}", f"--curr={curr}"]
        table = ["--model=gpt2", "--hidden=32", "--heads=8", "--ffn=128", "--vocab=512", "--seq=32", "--types=param",
                 *sides, f"--cluster={nodes}x4", "--policy=paper"]
        yield f"paper-merged/{name}", [Step(table)]
        yield f"paper-units/{name}", [Step([*table, "--paper-costs=units"])]
        yield f"eight/{name}", [Step(["--model=gpt3-paper", *sides, f"--cluster=1x{4 * nodes}", "--derive=none"])]
        yield f"budgets/{name}", [Step(["--model=gpt3-2.7b", *sides, f"--cluster={nodes}x4"])]
        yield f"cluster-a/{name}", [Step(["--model=gpt3-paper", *sides, f"--cluster={nodes}x4"])]
    for prev, curr in BARS:
        job = ["--model=gpt3-2.7b", "--seq=1024", f"--prev={prev}", f"--curr={curr}", "--cluster=4x4"]
        yield f"bar-any/{prev}-{curr}", [Step([*job, "--place=any", "--objective=total", "--derive=none"])]
        yield f"bar-derived/{prev}-{curr}", [Step([*job, "--place=any", "--objective=total"])]
        yield f"bar-pack/{prev}-{curr}", [Step([*job, "--derive=none"])]
    for number, (vocab, prev, curr) in enumerate(LARGE):
        job = ["--layers=126", "--hidden=64", "--heads=16", "--seq=1", "--types=param", "--cluster=1024x8"]
        yield f"large/{number}", [Step([*job, f"--vocab={vocab}", f"--prev={prev}", f"--curr={curr}"])]


def steps_of(name):
    """The case of this name."""
    family, _, key = name.partition("/")
    return FAMILIES[family][0](int(key)) if family in FAMILIES else dict(paper_cases())[name]
