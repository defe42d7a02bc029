"""Who holds what, by Megatron-Core's rules, written down apart from the planner.

A shard is the ascending row-major indices, in the tensor's global shape, of the elements that a rank holds: the order
in which they lie in its memory. Boxes, slots and replicas are the planner's words, and are not known here.
"""

import math
import re

import numpy

STATES = ("master", "exp_avg", "exp_avg_sq")
WORDS = "embedding.word_embeddings.weight"


class Parallel:
    """A configuration, as a request in JSON gives it."""

    def __init__(self, pp=1, tp=1, dp=1, cp=1, ep=1, etp=None, vpp=1, order="tp-cp-ep-dp-pp", layers_per_stage=None,
                 distributed_optimizer=False, mtp_stage=None, pipeline_layout=None, bucket_size=None):
        self.pp, self.tp, self.dp, self.cp, self.ep, self.vpp = pp, tp, dp, cp, ep, vpp
        self.etp = tp if etp is None else etp
        self.order, self.layers_per_stage, self.zero1 = order, layers_per_stage, distributed_optimizer
        self.bucket_size = max(40000000, 1000000 * dp * cp) if bucket_size == "default" else bucket_size
        self.mtp_stage = pp - 1 if mtp_stage is None else mtp_stage
        if pipeline_layout:
            # First (ab|)*3, then t*3.
            for repeated in (r"\(([^)]+)\)\*(\d+)", r"(.)\*(\d+)"):
                pipeline_layout = re.sub(repeated, lambda found: found[1] * int(found[2]), pipeline_layout)
            chunks = pipeline_layout.replace(",", "").split("|")
            self.layers_per_stage, self.vpp = [chunk.count("t") for chunk in chunks], len(chunks) // pp

    def world(self):
        return self.pp * self.tp * self.dp * self.cp

    def coordinates(self, rank):
        """(stage, place in the dense grid, place in the grid of experts): two grids over the same ranks."""

        def unravel(sizes):
            rest, at = rank, {}
            for name, size in sizes:
                rest, at[name] = rest // size, rest % size
            return at

        inner = math.prod((self.tp, self.dp, self.cp))
        edp = inner // (self.etp * self.ep)
        dense = [("tp", self.tp), ("cp", self.cp), ("dp", self.dp), ("pp", self.pp)]
        expert = [("etp", self.etp), ("ep", self.ep), ("edp", edp), ("pp", self.pp)]
        if self.order == "tp-cp-ep-pp-dp":
            dense[2:], expert[2:] = dense[:1:-1], expert[:1:-1]
        dense, expert = unravel(dense), unravel(expert)
        assert dense["pp"] == expert["pp"], "the two grids have the same pipeline groups"
        return dense, expert, edp

    def chunks(self, layers, stage):
        """The layers of each model chunk of a stage: chunk k is number k * pp + stage in forward order."""
        counts = self.layers_per_stage or [layers // (self.pp * self.vpp)] * (self.pp * self.vpp)
        begins = [sum(counts[:number]) for number in range(len(counts))]
        return [range(begins[number], begins[number] + counts[number])
                for number in range(stage, len(counts), self.pp)]


class Tensor:
    """One parameter: its global shape without padding and the axis that is cut, if any."""

    def __init__(self, name, shape, axis=None, gated=False, expert=None, tied_to=None, vocab=False, buffer=False):
        self.name, self.shape, self.axis, self.gated, self.expert = name, shape, axis, gated, expert
        self.tied_to, self.vocab, self.buffer = tied_to, vocab, buffer


class Model:
    """A model as a request in JSON gives it, with every trait said."""

    def __init__(self, spec):
        self.spec = spec

    def __getattr__(self, name):
        return self.spec.get(name, 0)

    def padded_vocab(self, tp):
        multiple = (self.vocab_multiple or 128) * tp
        return -(-self.vocab // multiple) * multiple

    def norm(self, prefix, size=None):
        size = size or self.hidden
        yield Tensor(prefix + "weight", (size,))
        if self.norm_bias:
            yield Tensor(prefix + "bias", (size,))

    def fused_norm(self, prefix):
        """The norm in front of a linear layer of Transformer Engine."""
        return self.norm(prefix + "layer_norm_") if self.fused_names else ()

    def paired(self, name, rows, width=None, expert=None):
        """linear_fc1: with a gate, two matrices above each other."""
        shape = (rows,) if width is None else (rows, width)
        if self.gated:
            yield Tensor(name, (2, *shape), 1, gated=True, expert=expert)
        else:
            yield Tensor(name, shape, 0, expert=expert)

    def attention(self, prefix):
        a, h, heads = prefix + "self_attention.", self.hidden, self.heads
        if not self.fused_names:
            yield from self.norm(prefix + "input_layernorm.")
        hd = self.head_dim or h // heads
        yield Tensor(a + "linear_proj.weight", (h, heads * hd), 1)
        if self.linear_bias:
            yield Tensor(a + "linear_proj.bias", (h,))
        yield from self.fused_norm(a + "linear_qkv.")
        # For every group of queries: the queries, a key, a value.
        rows = (heads + 2 * (self.kv_heads or heads)) * hd
        yield Tensor(a + "linear_qkv.weight", (rows, h), 0)
        if self.linear_bias or self.qkv_bias:
            yield Tensor(a + "linear_qkv.bias", (rows,), 0)
        if self.qk_norm:
            yield from self.norm(a + "q_layernorm.", hd)
            yield from self.norm(a + "k_layernorm.", hd)

    def latent_attention(self, prefix):
        a, h, heads = prefix + "self_attention.", self.hidden, self.heads
        yield from self.norm(prefix + "input_layernorm.")
        query = heads * (self.nope_dim + self.rope_dim)
        # Transformer Engine has the down projections whole on every rank.
        down = None if self.fused_names else 0
        yield Tensor(a + "linear_proj.weight", (h, heads * self.value_dim), 1)
        if self.linear_bias:
            yield Tensor(a + "linear_proj.bias", (h,))
        if self.q_rank:
            yield Tensor(a + "linear_q_down_proj.weight", (self.q_rank, h), down)
            if self.qk_norm and self.fused_names:
                yield Tensor(a + "linear_q_up_proj.layer_norm_weight", (self.q_rank,))
            yield Tensor(a + "linear_q_up_proj.weight", (query, self.q_rank), 0)
        else:
            yield Tensor(a + "linear_q_proj.weight", (query, h), 0)
        yield Tensor(a + "linear_kv_down_proj.weight", (self.kv_rank + self.rope_dim, h), down)
        if self.qk_norm and self.fused_names:
            yield Tensor(a + "linear_kv_up_proj.layer_norm_weight", (self.kv_rank,))
        yield Tensor(a + "linear_kv_up_proj.weight", (heads * (self.nope_dim + self.value_dim), self.kv_rank), 0)
        if self.qk_norm and not self.fused_names:
            if self.q_rank:
                yield Tensor(a + "q_layernorm.weight", (self.q_rank,))
            yield Tensor(a + "kv_layernorm.weight", (self.kv_rank,))

    def dense_mlp(self, prefix):
        m, h = prefix + "mlp.", self.hidden
        if not self.fused_names:
            yield from self.norm(prefix + "pre_mlp_layernorm.")
        yield from self.fused_norm(m + "linear_fc1.")
        yield from self.paired(m + "linear_fc1.weight", self.ffn, h)
        if self.linear_bias:
            yield from self.paired(m + "linear_fc1.bias", self.ffn)
        yield Tensor(m + "linear_fc2.weight", (h, self.ffn), 1)
        if self.linear_bias:
            yield Tensor(m + "linear_fc2.bias", (h,))

    def expert_mlp(self, prefix, experts):
        m, h, f = prefix + "mlp.", self.hidden, self.expert_ffn
        yield from self.norm(prefix + "pre_mlp_layernorm.")
        yield Tensor(m + "router.weight", (self.experts, h))
        if self.router_bias:
            yield Tensor(m + "router.expert_bias", (self.experts,), buffer=True)

        def first(expert, form):
            yield from self.paired(form.format("linear_fc1", "weight", expert), f, h, expert)

        def first_bias(expert, form):
            yield from self.paired(form.format("linear_fc1", "bias", expert), f, None, expert)

        def second(expert, form):
            yield Tensor(form.format("linear_fc2", "weight", expert), (h, f), 1, expert=expert)

        def second_bias(expert, form):
            yield Tensor(form.format("linear_fc2", "bias", expert), (h,), expert=expert)

        parts = [first, first_bias, second, second_bias] if self.linear_bias else [first, second]
        if self.fused_names:
            # A grouped linear layer has the weights of all experts in a row.
            for part in parts:
                for expert in experts:
                    yield from part(expert, m + "experts.{0}.{1}{2}")
        else:
            for expert in experts:
                for part in parts:
                    yield from part(expert, m + "experts.local_experts.{2}.{0}.{1}")
        if self.shared_ffn:
            if self.shared_gate:
                yield Tensor(m + "shared_experts.gate_weight", (1, h))
            yield from self.paired(m + "shared_experts.linear_fc1.weight", self.shared_ffn, h)
            yield Tensor(m + "shared_experts.linear_fc2.weight", (h, self.shared_ffn), 1)

    def layer(self, prefix, sparse, experts):
        yield from self.latent_attention(prefix) if self.kv_rank else self.attention(prefix)
        yield from self.expert_mlp(prefix, experts) if sparse else self.dense_mlp(prefix)

    def module(self, parallel, stage, k, experts):
        """The tensors of a model chunk in the order in which Megatron builds them."""
        chunks = parallel.chunks(self.layers, stage)
        last_chunk = k == parallel.vpp - 1
        first, last = stage == 0 and k == 0, stage == parallel.pp - 1 and last_chunk
        predicts = self.mtp_layers and stage == parallel.mtp_stage and last_chunk
        vocab = (self.vocab, self.hidden)
        if first:
            yield Tensor(WORDS, vocab, 0, vocab=True)
            if self.learned_positions:
                yield Tensor("embedding.position_embeddings.weight", (self.seq, self.hidden))
        elif predicts and stage > 0:
            yield Tensor("mtp." + WORDS, vocab, 0, vocab=True, tied_to=WORDS)
        for layer in chunks[k]:
            yield from self.layer(f"decoder.layers.{layer}.", self.experts and layer >= self.dense_layers, experts)
        # Behind the last layer, wherever that is, if more tokens are predicted.
        if (chunks[k] and chunks[k][-1] == self.layers - 1) if self.mtp_layers else last:
            yield from self.norm("decoder.final_layernorm.")
        for number in range(self.mtp_layers if predicts else 0):
            p = f"mtp.layers.{number}."
            yield from self.norm(p + "enorm.")
            yield from self.norm(p + "hnorm.")
            yield Tensor(p + "eh_proj.weight", (self.hidden, 2 * self.hidden), 0)
            yield from self.layer(p + "transformer_layer.", self.experts, experts)
            yield from self.norm(p + "final_layernorm.")
        if last and not (self.tied and parallel.pp == 1):
            yield Tensor("output_layer.weight", vocab, 0, vocab=True, tied_to=WORDS if self.tied else None)


def shape_of(model, parallel, tensor):
    """The global shape on a side: the vocabulary is padded."""
    return (model.padded_vocab(parallel.tp), *tensor.shape[1:]) if tensor.vocab else tensor.shape


def local_part(model, parallel, tensor, dense, expert):
    """The indices of what tensor parallelism leaves a rank."""
    shape = shape_of(model, parallel, tensor)
    indices = numpy.arange(math.prod(shape)).reshape(shape)
    if tensor.axis is None:
        return indices.ravel()
    ranks, rank = (parallel.tp, dense["tp"]) if tensor.expert is None else (parallel.etp, expert["etp"])
    size = shape[tensor.axis] // ranks
    return indices.take(range(rank * size, (rank + 1) * size), tensor.axis).ravel()


def has_own_bucket(model, parallel, tensor):
    """Whether Megatron reduces the tensor's gradient with those of other stages' copies."""
    if parallel.pp == 1 or not tensor.vocab:
        return False
    copy_predicts = model.mtp_layers and parallel.mtp_stage != 0
    if tensor.name == WORDS:
        return bool(model.tied or copy_predicts or model.mtp_layers)
    if tensor.name == "output_layer.weight":
        return bool(tensor.tied_to) and not copy_predicts
    return True


def flat_ranges(model, parallel, parts, ranks, rank, bucket_size):
    """What the distributed optimizer leaves of the parts of one buffer: {name: indices}."""
    buckets = []
    end = 0

    def close():
        nonlocal end
        multiple = math.lcm(ranks, 128)
        end = -(-end // multiple) * multiple
        buckets[-1][1].append(end)

    open_bucket = False
    for tensor, indices in reversed(parts):
        end = -(-end // 64) * 64
        alone = has_own_bucket(model, parallel, tensor)
        if alone and open_bucket:
            close()
            open_bucket = False
        if not open_bucket:
            buckets.append(([], [end]))
            open_bucket = True
        buckets[-1][0].append((tensor, indices, end))
        end += indices.size
        if alone or (bucket_size and end - buckets[-1][1][0] >= bucket_size):
            close()
            open_bucket = False
    if open_bucket:
        close()
    held = {}
    for members, (begin, finish) in buckets:
        share = (finish - begin) // ranks
        low, high = begin + share * rank, begin + share * (rank + 1)
        for tensor, indices, start in members:
            part = indices[max(0, low - start):max(0, high - start)]
            if part.size:
                held[tensor.name] = part
    return held


def inventory(model, parallel, rank, types):
    """{(name, type): indices} of a rank."""
    dense, expert, edp = parallel.coordinates(rank)
    per_rank = model.experts // parallel.ep
    experts = range(expert["ep"] * per_rank, (expert["ep"] + 1) * per_rank)
    held = {}
    for k in range(parallel.vpp):
        parts = [(tensor, local_part(model, parallel, tensor, dense, expert))
                 for tensor in model.module(parallel, dense["pp"], k, experts)]
        for tensor, indices in parts:
            for kind in types:
                if tensor.buffer:
                    if kind == "param":
                        held[tensor.name, "buffer"] = indices
                elif kind == "param" or not parallel.zero1:
                    held[tensor.name, kind] = indices
        if not parallel.zero1:
            continue
        parts = [part for part in parts if not part[0].buffer]
        apart = [part for part in parts if part[0].expert is not None and parallel.ep > 1]
        rest = [part for part in parts if part[0].expert is None or parallel.ep == 1]
        shards = parallel.dp * parallel.cp
        place = dense["cp"] + parallel.cp * dense["dp"]
        # Only the first chunk of all has its gradients reduced while others are computed.
        size = parallel.bucket_size if dense["pp"] == 0 and k == 0 else None
        ranges = flat_ranges(model, parallel, rest, shards, place, size)
        ranges |= flat_ranges(model, parallel, apart, edp, expert["edp"], size)
        for name, indices in ranges.items():
            for kind in types:
                if kind in STATES:
                    held[name, kind] = indices
    return held
