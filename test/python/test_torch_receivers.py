"""New tensors on the meta device get memory and stay what they are: with their hooks, their kinds, and all that refers
to them. What can't is refused while the state before is still whole."""

import unittest
import weakref

import etc.torch
import ranks
import torch
import torch_jobs as jobs
import torch_ranks
from torch.distributed.tensor import Replicate

WORLD = 2


def layer(value, device, kind=torch.nn.Linear):
    torch.manual_seed(value)
    return kind(4, 4).to(device)


def on_a_mesh(value, device):
    """As tensor parallelism has them."""
    model, mesh = layer(value, device), jobs.make_mesh([0, 1], "tp")
    for name, parameter in list(model.named_parameters()):
        whole = torch_ranks.distribute(parameter.detach(), mesh, [Replicate()])
        setattr(model, name, torch.nn.Parameter(whole))
    return model


def move(before, after):
    """What is said, or what differs after."""
    whole = jobs.gathered(before)
    try:
        etc.torch.move(before, after, timeout=60)
    except ValueError as error:
        kept = not jobs.unequal(whole, jobs.gathered(before))
        return str(error) if kept else f"changed its state: {error}"
    return jobs.unequal(whole, jobs.gathered(after))


def with_hooks(make):
    """What is said, whether all gradients are as hooks have them, and the hooks' calls;
    two are removed after the change."""
    before, after = make(1, "cpu"), make(2, "meta")
    called, handles = [], []
    for parameter in after.parameters():
        parameter.register_hook(lambda gradient: gradient * 0)
        removed = parameter.register_post_accumulate_grad_hook(called.append)
        parameter.register_post_accumulate_grad_hook(lambda p: called.append(p))
        handles.append(removed)
    said = move(before, after)
    handles[0].remove()
    for parameter in after.parameters():
        (parameter * 2).sum().backward()
    zero = [not jobs.whole(p.grad).any() for p in after.parameters()]
    return said, zero, len(called)


def hooks(rank, store):
    jobs.join(rank, store, WORLD)
    return [with_hooks(make) for make in (layer, on_a_mesh)]


def recurrent(rank, store):
    """Whether an LSTM computes what it did, also with other weights."""
    jobs.join(rank, store, WORLD)
    before, after = layer(1, "cpu", torch.nn.LSTM), layer(2, "meta", torch.nn.LSTM)
    batch = torch.ones(3, 4)
    expected = before(batch)[0].detach()
    said = move(before, after)
    other = {name: torch.zeros_like(p) for name, p in after.named_parameters()}
    zero = torch.func.functional_call(after, other, (batch,))[0]
    return said, torch.equal(expected, after(batch)[0]), not zero.any()


def with_a_reference(model):
    return weakref.ref(model.weight)


def with_a_graph(model):
    return model(torch.ones(2, 4, device="meta"))


def with_an_accumulator(model):
    return model.bias.expand_as(model.bias).grad_fn.next_functions[0][0]


def refused(rank, store, refer):
    jobs.join(rank, store, WORLD)
    before, after = layer(1, "cpu"), layer(2, "meta")
    kept = refer(after) if rank == 1 else None
    said = move(before, after)
    del kept
    return said, move(before, after)


class Loaded(torch.nn.Parameter):
    """Of a kind of its own, as inference engines have them."""


class Marked(torch.Tensor):
    pass


class Slotted(torch.nn.Parameter):
    __slots__ = ("own",)


class Quantized(torch.Tensor):
    """Has its contents in another tensor."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), dtype=inner.dtype, device=inner.device
        )

    def __init__(self, inner):
        self.inner = inner

    def __tensor_flatten__(self):
        return ["inner"], None

    @classmethod
    def __torch_dispatch__(cls, call, types, args=(), options=None):
        if call is torch.ops.aten.detach.default:
            return Quantized(args[0].inner)
        raise NotImplementedError


KINDS = {
    "Loaded": Loaded,
    "Marked": lambda inner: torch.nn.Parameter(inner.as_subclass(Marked)),
    "Slotted": Slotted,
    "Quantized": lambda inner: torch.nn.Parameter(Quantized(inner)),
}


def of_kind(name, value, device):
    model = layer(value, device)
    model.weight = KINDS[name](model.weight.detach())
    model.weight.mark = value
    return model


def subclasses(rank, store):
    """What is said, and the kind and a mark of the new tensor."""
    jobs.join(rank, store, WORLD)
    found = {}
    for name in KINDS:
        before, after = layer(1, "cpu"), of_kind(name, 2, "meta")
        said = move(before, after)
        found[name] = said, type(after.weight).__name__, after.weight.mark
    return found


def subclasses_of_states(rank, store):
    jobs.join(rank, store, WORLD)
    sides = [layer(1, "cpu"), layer(2, "meta")]
    before, after = [(m, torch.optim.SGD(m.parameters(), momentum=0.9)) for m in sides]
    momentum = Quantized(torch.ones(4, 4))
    before[1].state[before[0].weight]["momentum_buffer"] = momentum
    try:
        etc.torch.move(before, after, timeout=60)
    except ValueError as error:
        return str(error)
    return "moved"


class Receivers(unittest.TestCase):
    def test_hooks_stay(self):
        for found in ranks.must(ranks.run(WORLD, hooks)):
            self.assertEqual(found, [([], [True, True], 3)] * 2)

    def test_recurrent_layers(self):
        for found in ranks.must(ranks.run(WORLD, recurrent)):
            self.assertEqual(found, ([], True, True))

    def test_what_refers_to_them(self):
        graph = "autograd refers to it, in a graph or for a hook"
        for refer, why in (
            (with_a_reference, "weight: .* something has a weak reference to it"),
            (with_a_graph, f"weight: .* {graph}"),
            (with_an_accumulator, f"bias: .* {graph}"),
        ):
            for said, then in ranks.must(ranks.run(WORLD, refused, refer)):
                self.assertRegex(said, f"^rank 1: {why}; let go of that, or build the")
                self.assertEqual(then, [])

    def test_subclasses(self):
        for found in ranks.must(ranks.run(WORLD, subclasses)):
            for name in ("Loaded", "Marked"):
                self.assertEqual(found[name], ([], name, 2))
            for name in ("Slotted", "Quantized"):
                self.assertRegex(
                    found[name][0],
                    rf"^rank 0: weight \(param\): is a {name}, a subclass of tensors that "
                    rf"new ones would not have; move a plain tensor, and convert it",
                )

    def test_subclasses_of_states(self):
        for said in ranks.must(ranks.run(WORLD, subclasses_of_states)):
            self.assertRegex(said, r"weight \(momentum_buffer\): is a Quantized, a")


if __name__ == "__main__":
    unittest.main()
