"""Random requests over all dimensions at once: small models of every family, and two configurations that suit them."""

import math

TYPES = ("param", "master", "exp_avg", "exp_avg_sq")
TRAITS = ("learned_positions", "norm_bias", "linear_bias", "qkv_bias", "gated", "qk_norm", "router_bias",
          "shared_gate", "fused_names")
DENSE = ("gpt", "llama", "mistral", "qwen2", "qwen3")
SPARSE = ("mixtral", "qwen2-moe", "qwen3-moe")
LATENT = "deepseek-v3"
MOST_RANKS = (4, 6, 8, 8, 12, 16)
MOST_ELEMENTS = 6000


def divisors(number):
    return [d for d in range(1, number + 1) if number % d == 0]


def composition(rng, total, parts):
    """A random way to cut layers into chunks, some of which may be empty."""
    cuts = sorted(rng.randint(0, total) for _ in range(parts - 1))
    return [end - begin for begin, end in zip([0, *cuts], [*cuts, total])]


def draw_grid(rng, sparse):
    """The sizes of a grid of few ranks."""
    most = rng.choice(MOST_RANKS)
    while True:
        side = {"pp": rng.choice((1, 1, 2, 2, 3, 4, 5)), "tp": rng.choice((1, 1, 1, 2, 2, 3, 4, 6)),
                "cp": rng.choice((1, 1, 1, 2, 3)), "dp": rng.choice((1, 1, 2, 2, 3, 4, 5, 7))}
        if math.prod(side.values()) <= most:
            break
    inner = side["tp"] * side["cp"] * side["dp"]
    if sparse and rng.random() < 0.8:
        side["etp"] = rng.choice([d for d in divisors(inner) if d <= 4])
        side["ep"] = rng.choice([d for d in divisors(inner // side["etp"]) if d <= 8])
        if side["ep"] == 1 and side["tp"] % side["etp"]:
            side["etp"] = side["tp"]
    return side


def spell(rng, stages, mtp_layers):
    """Megatron's layout of stages, the prediction of further tokens on the last."""
    chunks = [rng.choice(("t" * layers, f"t*{layers}")) if layers else "" for layers in stages]
    if len(stages) > 2 and len(set(chunks[1:-1])) == 1 and rng.random() < 0.5:
        return f"E{chunks[0]}|({chunks[1]}|)*{len(stages) - 2},{chunks[-1]}{'m' * mtp_layers}L"
    return f"E{'|'.join(chunks)}{'m' * mtp_layers}L"


def draw_stages(rng, side, model):
    """How a side cuts its layers, and in which order it numbers ranks."""
    if side["pp"] > 1 and rng.random() < 0.4:
        side["vpp"] = rng.choice((2, 2, 3))
    chunks = side["pp"] * side.get("vpp", 1)
    if model["layers"] % chunks or rng.random() < 0.5:
        stages = composition(rng, model["layers"], chunks)
        if rng.random() < 0.3:
            side["pipeline_layout"] = spell(rng, stages, model["mtp_layers"])
            side.pop("vpp", None)
        else:
            side["layers_per_stage"] = stages
    inner = side["tp"] * side["cp"]
    alike = side["pp"] == 1 or inner == side.get("etp", side["tp"]) * side.get("ep", 1)
    if alike and rng.random() < 0.4:
        side["order"] = "tp-cp-ep-pp-dp"
    if rng.random() < 0.5:
        side["distributed_optimizer"] = True
        if rng.random() < 0.3:
            side["bucket_size"] = rng.choice((1, 100, 1000, 5000, "default"))
    # Stage 0 can embed further tokens itself only where it is one chunk.
    if model["mtp_layers"] and rng.random() < 0.4 and "vpp" not in side and "pipeline_layout" not in side:
        side["mtp_stage"] = rng.randrange(side["pp"])


def draw_attention(rng, model, cut):
    """Sizes of attention that every tp in `cut` divides."""
    common = math.lcm(*cut)
    while True:
        heads = common * rng.choice((1, 1, 2, 3))
        groups = rng.choice(divisors(heads))
        size = rng.choice((1, 1, 2, 3))
        rows = (heads + 2 * groups) * size
        if all((groups % tp == 0 or tp % groups == 0) and rows % tp == 0 for tp in cut):
            break
    model.update(heads=heads, kv_heads=groups, hidden=heads * size)
    if rng.random() < 0.4:
        # Any hidden size goes with channels of their own.
        model.update(head_dim=size, hidden=common * rng.choice((1, 2)) if model["mtp_layers"] else rng.randint(1, 13))


def draw_latent(rng, model, cut):
    common = math.lcm(*cut)
    local = not model["fused_names"]
    model.update(heads=common * rng.choice((1, 2)), hidden=common * rng.choice((1, 2)),
                 q_rank=rng.choice((0, common * rng.randint(1, 3) if local else rng.randint(1, 7))),
                 nope_dim=rng.randint(1, 3), rope_dim=rng.randint(1, 3), value_dim=rng.randint(1, 3))
    model["kv_rank"] = common * rng.randint(1, 3) + (common - 1) * model["rope_dim"] if local else rng.randint(1, 7)


def draw_model(rng, family, sparse, prev, curr):
    cut = (prev["tp"], curr["tp"])
    common = math.lcm(*cut)
    model = {"family": family, "layers": rng.choice((1, 2, 3, 4, 5, 7)), "tied": rng.random() < 0.5,
             "vocab": rng.randint(1, 40), "vocab_multiple": rng.choice((1, 1, 2, 3, 7, 16)),
             "mtp_layers": rng.choice((0, 0, 0, 1, 2)), "ffn": common * rng.choice((1, 2, 3, 5, 7))}
    for trait in TRAITS:
        model[trait] = rng.random() < 0.5
    if model["learned_positions"]:
        model["seq"] = rng.randint(1, 11)
    if sparse:
        # Families of experts have grouped linear layers, others modules of each expert.
        model["fused_names"] = family not in DENSE
        etp = [side.get("etp", side["tp"]) for side in (prev, curr)]
        model.update(experts=math.lcm(prev.get("ep", 1), curr.get("ep", 1)) * rng.choice((1, 1, 2, 3)),
                     expert_ffn=math.lcm(*etp) * rng.choice((1, 2, 3)),
                     dense_layers=rng.choice((0, 0, rng.randint(0, model["layers"]))),
                     shared_ffn=common * rng.choice((0, 1, 2, 3)))
        if max(etp) > 1:
            model["linear_bias"] = False
    else:
        model["router_bias"] = model["shared_gate"] = False
    (draw_latent if family == LATENT else draw_attention)(rng, model, cut)
    return model


def elements(model):
    """Roughly, but no less than what the model has."""
    h, f = model["hidden"], 3 * (model["ffn"] + model.get("shared_ffn", 0) + model.get("experts", 0)
                                 * (model.get("expert_ffn", 0) + 1))
    layer = h * (f + 4 * model["heads"] * model.get("head_dim", 4) + 4 * model.get("kv_rank", 0) + 8)
    return layer * (model["layers"] + model["mtp_layers"]) + 3 * h * (model["vocab"] + 6 * model["vocab_multiple"])


def draw_devices(rng, request, prev_world, curr_world):
    """Nodes of different sizes, devices that are gone, and where ranks are."""
    failed, draining = [], []
    if rng.random() < 0.35:
        failed = rng.sample(range(prev_world), rng.randint(1, max(1, prev_world // 3)))
    if rng.random() < 0.3:
        draining = [rank for rank in range(prev_world) if rank not in failed and rng.random() < 0.3]
    count = max(prev_world, curr_world + len(failed) + len(draining)) + rng.choice((0, 0, 1, 5))
    nodes = []
    while sum(nodes) < count:
        nodes.append(min(count - sum(nodes), rng.choice((1, 2, 3, 4, 8, count, count))))
    devices = list(range(count))
    if rng.random() < 0.5:
        rng.shuffle(devices)
    request["cluster"] = {"nodes": nodes}
    request["prev"]["devices"] = devices[:prev_world]
    request["failed"] = [devices[rank] for rank in failed]
    # The older spelling, as in the requests whose plans are kept.
    request["leaving"] = [devices[rank] for rank in draining]
    if rng.random() < 0.1:
        usable = [device for device in range(count) if device not in request["failed"] + request["leaving"]]
        request["curr"]["devices"] = rng.sample(usable, curr_world)


def have_lanes(prev, curr):
    """Whether the ranks of tensor-parallel groups do the same."""
    return prev["tp"] > 1 and prev["tp"] == curr["tp"] and all(
        side.get("etp", side["tp"]) == side["tp"] for side in (prev, curr))


def widen(request, lanes):
    """Makes each device a group of neighbours."""
    def groups(devices):
        return [device * lanes + lane for device in devices for lane in range(lanes)]

    request["cluster"]["nodes"] = [count * lanes for count in request["cluster"]["nodes"]]
    for name in ("failed", "leaving"):
        request[name] = groups(request[name])
    for side in ("prev", "curr"):
        if "devices" in request[side]:
            request[side]["devices"] = groups(request[side]["devices"])


def split(rng, layers):
    """Layers of stages, none of them empty."""
    cuts = sorted(rng.sample(range(1, layers), rng.randint(0, min(2, layers - 1))))
    return [end - begin for begin, end in zip([0, *cuts], [*cuts, layers])]


def draw_section_grid(rng, sparse):
    """The sizes of one stage."""
    while True:
        side = draw_grid(rng, sparse)
        if side["tp"] * side["cp"] * side["dp"] <= 6:
            return side


def draw_sections(rng):
    """A request whose stages come in sections, some of which are alike, on nodes of one size that sections fill."""
    while True:
        family = rng.choice((*DENSE, *SPARSE, LATENT))
        sparse = family in SPARSE or (family in ("gpt", "llama", LATENT) and rng.random() < 0.5)
        prev, curr = draw_section_grid(rng, sparse), draw_section_grid(rng, sparse)
        if math.lcm(prev["tp"], curr["tp"]) > 12:
            continue
        model = draw_model(rng, family, sparse, prev, curr)
        kinds = [(split(rng, layers), split(rng, layers)) for layers in rng.choices((1, 1, 2, 3), k=2)]
        sections = [rng.choice(kinds) for _ in range(rng.randint(3, 6))]
        model["layers"] = sum(sum(prev) for prev, _ in sections)
        model["dense_layers"] = min(model.get("dense_layers", 0), model["layers"])
        if "experts" not in model:
            del model["dense_layers"]
        if elements(model) <= 4 * MOST_ELEMENTS:
            break
    for number, side in enumerate((prev, curr)):
        side["layers_per_stage"] = [count for section in sections for count in section[number]]
        side["pp"] = len(side["layers_per_stage"])
        if model["mtp_layers"] and rng.random() < 0.4:
            side["mtp_stage"] = rng.randrange(side["pp"])
    for side in rng.choice(((prev,), (curr,), (prev, curr))):
        side["distributed_optimizer"] = True
        if rng.random() < 0.3:
            side["bucket_size"] = rng.choice((1, 100, 1000, "default"))
    inner = [side["tp"] * side["cp"] * side["dp"] for side in (prev, curr)]
    size = rng.choice(divisors(math.gcd(*inner)))
    world = max(side["pp"] * ranks for side, ranks in zip((prev, curr), inner))
    grown = sum(max(len(prev) * inner[0], len(curr) * inner[1]) for prev, curr in sections)
    prev["devices"] = list(range(prev["pp"] * inner[0]))
    request = {"model": model, "prev": prev, "curr": curr, "failed": [], "leaving": [],
               "cluster": {"nodes": [size] * (max(world, rng.choice((world, grown, grown))) // size)},
               "types": [name for name in TYPES if rng.random() < 0.7] or ["master"],
               "derive": rng.choice(("param", "none", "none")),
               "place": rng.choice(("any", "tp", "pack", "pack", "pack"))}
    if rng.random() < 0.3:
        request["memory_budget"] = f"1.{rng.randint(5, 60):02}x"
    return request, ["--objective=total"] if rng.random() < 0.2 else []


def draw_request(rng, of_lanes=False):
    """A request, and options that it has no field for. `of_lanes`: one whose tensor-parallel ranks do the same."""
    while True:
        family = rng.choice((*DENSE, *SPARSE, *SPARSE, LATENT, LATENT))
        sparse = family in SPARSE or (family in ("gpt", "llama", LATENT) and rng.random() < 0.5)
        prev, curr = draw_grid(rng, sparse), draw_grid(rng, sparse)
        if math.lcm(prev["tp"], curr["tp"]) > 12 or (of_lanes and not have_lanes(prev, curr)):
            continue
        model = draw_model(rng, family, sparse, prev, curr)
        if elements(model) <= MOST_ELEMENTS:
            break
    if rng.random() < 0.1:
        # The same sizes, cut or numbered in another way.
        curr = dict(prev)
    for side in (prev, curr):
        draw_stages(rng, side, model)
    request = {"model": model, "prev": prev, "curr": curr}
    worlds = [math.prod(side[name] for name in ("pp", "tp", "cp", "dp")) for side in (prev, curr)]
    lanes = prev["tp"] if of_lanes else 1
    draw_devices(rng, request, *(world // lanes for world in worlds))
    if of_lanes:
        widen(request, lanes)
    request["types"] = [name for name in TYPES if rng.random() < 0.7] or ["master"]
    request["derive"] = rng.choice(("param", "none", "none"))
    # The paper's method is not defined for the rest, which it should say now and then.
    plain = all(side.keys() <= {"pp", "tp", "dp", "cp", "devices"} and side["cp"] == 1 for side in (prev, curr))
    if rng.random() < (0 if of_lanes else 0.5 if plain else 0.02):
        request["policy"] = "paper"
    else:
        request["place"] = rng.choice(("any", "any", "tp", "pack"))
    if rng.random() < 0.3:
        request["memory_budget"] = f"1.{rng.randint(0, 60):02}x"
    total = "policy" not in request and rng.random() < 0.3
    return request, ["--objective=total"] if total else []
