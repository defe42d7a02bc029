"""What a request makes of its ranks, by Megatron's rules (megatron.py), and what must move at the least."""

import collections

import numpy
from scipy.optimize import linear_sum_assignment

import megatron

SIZE = {"param": 2, "master": 4, "exp_avg": 4, "exp_avg_sq": 4, "buffer": 4}


def best(kept):
    """The most that an assignment keeps."""
    return int(kept[linear_sum_assignment(kept, maximize=True)].sum())


class Case:
    """A request, and the inventories of both sides."""

    def __init__(self, request, options, lanes=()):
        self.request, self.options, self.lanes = request, options, lanes
        self.model = megatron.Model(request["model"])
        self.parallel = {}
        for side in ("prev", "curr"):
            spec = {key: value for key, value in request[side].items() if key != "devices"}
            self.parallel[side] = megatron.Parallel(**spec)
        self.inventories = {
            side: [megatron.inventory(self.model, parallel, rank, request["types"]) for rank in range(parallel.world())]
            for side, parallel in self.parallel.items()}
        self.dead = set(request["failed"])
        self.unusable = self.dead | set(request["leaving"])

    def known_rows(self):
        """The rows of each vocabulary before."""
        rows = self.model.padded_vocab(self.parallel["prev"].tp)
        return {name: rows for name in (megatron.WORDS, "mtp." + megatron.WORDS, "output_layer.weight")}

    def content(self, label):
        """What is in a tensor: tied ones are the same bytes."""
        tied = {"mtp." + megatron.WORDS} | ({"output_layer.weight"} if self.model.tied else set())
        return (megatron.WORDS, label[1]) if label[0] in tied else label

    def bitmaps(self):
        """What each rank has before and needs after, as rows over all elements; and the bytes of each element."""
        sizes = {}
        for held in self.inventories["prev"] + self.inventories["curr"]:
            for label, indices in held.items():
                content = self.content(label)
                sizes[content] = max(sizes.get(content, 0), int(indices.max()) + 1)
        offsets, total = {}, 0
        for label, size in sizes.items():
            offsets[label], total = total, total + size
        weights = numpy.zeros(total)
        for label, offset in offsets.items():
            weights[offset:offset + sizes[label]] = self.weight(label[1])
        has = numpy.zeros((len(self.inventories["prev"]), total), bool)
        for row, held in zip(has, self.inventories["prev"]):
            for label, indices in held.items():
                row[offsets[self.content(label)] + indices] = True
        # Of twins, each takes its own bytes.
        needs = []
        for held in self.inventories["curr"]:
            wanted = numpy.zeros(total, numpy.int8)
            for label, indices in held.items():
                wanted[offsets[self.content(label)] + self.known(label, indices)] += 1
            needs.append(wanted)
        return has, numpy.array(needs), weights

    def shared_apart(self, largest):
        """Needed bytes by how many devices of a node can share them: tied tensors apart, unless they are new."""
        before, rows = {label for held in self.inventories["prev"] for label in held}, {}
        for label, indices in ((label, its) for held in self.inventories["curr"] for label, its in held.items()):
            rows.setdefault(label if label in before else self.content(label), []).append(self.known(label, indices))
        sharing = collections.Counter()
        for (_, kind), lists in rows.items():
            counts = numpy.bincount(numpy.concatenate(lists))
            for count in set(counts.tolist()) - {0}:
                sharing[min(count, largest)] += int(count * (counts == count).sum()) * self.weight(kind)
        return sorted(sharing.items(), reverse=True)

    def known(self, label, indices):
        """What is no new padding."""
        rows = self.known_rows().get(label[0])
        return indices if rows is None else indices[indices < rows * self.model.hidden]

    def weight(self, kind):
        """Bytes of an element that move. Parameters are cast where their masters are, unless the two are cut apart."""
        cast = (self.request["derive"] == kind == "param" and "master" in self.request["types"]
                and not any(parallel.zero1 for parallel in self.parallel.values()))
        return 0 if cast else SIZE[kind]

    def study(self):
        """Whether state is lost, and the least bytes that must move, in all and between nodes."""
        has, needs, weights = self.bitmaps()
        rank_of = {device: rank for rank, device in enumerate(self.request["prev"]["devices"])}
        living = [rank for device, rank in rank_of.items() if device not in self.dead]
        self.is_lost = bool((needs.any(0) & ~has[living].any(0)).any())
        self.assign(has, needs * weights, rank_of)

    def assign(self, has, needs, rank_of):
        """Exact assignments by what each rank finds on a device itself, and on the device's node."""
        request, nodes, needed = self.request, self.request["cluster"]["nodes"], int(needs.sum())
        own = needs @ numpy.vstack([has, numpy.zeros_like(has[:1])]).T
        near, devices, node_of, first = [], [], [], 0
        for node, count in enumerate(nodes):
            here = range(first, first + count)
            held = has[[rank_of[device] for device in here if device in rank_of and device not in self.dead]].any(0)
            near.append(needs @ held)
            devices += [device for device in here if device not in self.unusable]
            node_of += [node] * count
            first += count
        own = own[:, [rank_of.get(device, -1) for device in devices]].astype(numpy.int64)
        near = numpy.array(near).T[:, [node_of[device] for device in devices]].astype(numpy.int64)
        self.bound = {"moved_bytes": needed - best(own), "internode_bytes": needed - best(near)}
        self.sharing = self.shared_apart(max(nodes))
        self.between = {(rank, device): needed_of_rank - int(near[rank, column])
                        for rank, needed_of_rank in enumerate(needs.sum(1).astype(int).tolist())
                        for column, device in enumerate(devices)}
        if fixed := request["curr"].get("devices"):
            rows, columns = range(len(fixed)), [devices.index(device) for device in fixed]
        else:
            more, less = (own, near) if self.options else (near, own)
            rows, columns = linear_sum_assignment(more.astype(float) * 2**24 + less, maximize=True)
        self.least = needed - int(own[rows, columns].sum())
        self.least_between = needed - int(near[rows, columns].sum())
