"""Every optimizer of torch.optim, as loops, foreach and fused: its states move, or it is refused by name. With a frozen
parameter, two dtypes, a buffer, and an average of the model.
"""

import inspect
import unittest
import warnings

import etc.torch
import ranks
import torch
import torch_jobs as jobs
from torch.distributed.fsdp import fully_shard

# By name: what PyTorch has that keeps states of other shapes, or wants other gradients.
REFUSED = {"Adafactor": "states of other shapes", "LBFGS": "states of other shapes"}
NOT_TRIED = {"Optimizer", "SparseAdam"}
OPTIONS = {"SGD": {"momentum": 0.9}, "RMSprop": {"momentum": 0.9, "centered": True}}


def optimizers():
    """(name, class, options)."""
    for name in sorted(vars(torch.optim)):
        kind = getattr(torch.optim, name)
        if not inspect.isclass(kind) or not issubclass(kind, torch.optim.Optimizer):
            continue
        if name in NOT_TRIED:
            continue
        known = inspect.signature(kind).parameters
        options = {"lr": 0.01, **OPTIONS.get(name, {})}
        yield name, kind, options
        for variant in ("foreach", "fused"):
            if variant in known:
                yield f"{name} {variant}", kind, {**options, variant: True}
        if "amsgrad" in known:
            yield f"{name} amsgrad", kind, {**options, "amsgrad": True}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(6, 10, bias=False)
        self.still = torch.nn.Linear(10, 10, bias=False)
        self.down = torch.nn.Linear(10, 6, bias=False).bfloat16()
        self.register_buffer("seen", torch.zeros(1))
        self.still.weight.requires_grad = False

    def forward(self, x):
        self.seen += 1
        x = self.still(torch.relu(self.up(x)))
        return self.down(x.bfloat16()).float()


def build(mesh, device):
    torch.manual_seed(5)
    with torch.device(device):
        model = Model()
    for layer in (model.up, model.still, model.down):
        fully_shard(layer, mesh=mesh)
    return model


def train(model, optimizer):
    def loss():
        optimizer.zero_grad()
        made = (model(torch.ones(4, 6)) - 1).square().mean()
        made.backward()
        return made

    return optimizer.step(loss).item()


def moved(rank, store):
    """{name: what happened}."""
    warnings.simplefilter("ignore")
    jobs.join(rank, store, 2)
    shards = jobs.make_mesh([0, 1], "fsdp")
    copies = jobs.make_mesh([[0], [1]], "replicate", "fsdp")
    found = {}
    for name, kind, options in optimizers():
        old = build(shards, "cpu")
        trained = [p for p in old.parameters() if p.requires_grad]
        try:
            before = kind(trained, **options)
            losses = [train(old, before) for _ in range(2)]
            for group in before.param_groups:
                group.setdefault("weight_decay", 0.0)  # which torch_jobs compares
        except (
            RuntimeError,
            NotImplementedError,
            ValueError,
            AssertionError,
        ) as error:
            found[name] = f"PyTorch: {error}".splitlines()[0]
            continue
        whole = jobs.gathered(old, before) if name not in REFUSED else {}
        new = build(copies, "meta")
        after = kind([p for p in new.parameters() if p.requires_grad], **options)
        try:
            etc.torch.move((old, before), (new, after), timeout=60)
        except ValueError as error:
            found[name] = str(error)
            continue
        different = jobs.unequal(whole, jobs.gathered(new, after))
        losses += [train(new, after) for _ in range(2)]
        same = build(shards, "cpu")
        other = kind([p for p in same.parameters() if p.requires_grad], **options)
        expected = [train(same, other) for _ in range(4)]
        apart = max(abs(a - b) for a, b in zip(losses, expected))
        # Muon multiplies in bfloat16, in an order that depends on the mesh.
        bound = 1e-2 if name.startswith("Muon") else 1e-5
        found[name] = f"{different} {apart < bound} {apart:.1e}"
    return found


def averaged(rank, store):
    """What differs between an average of a model before and after. FSDP2 copies no module, so an average is a state
    dict."""
    jobs.join(rank, store, 2)
    shards = jobs.make_mesh([0, 1], "fsdp")
    copies = jobs.make_mesh([[0], [1]], "replicate", "fsdp")
    old = build(shards, "cpu")
    ema = {name: p.detach().clone() for name, p in old.named_parameters()}
    optimizer = torch.optim.SGD([p for p in old.parameters() if p.requires_grad], 0.1)
    for _ in range(3):
        train(old, optimizer)
        for name, parameter in old.named_parameters():
            ema[name].lerp_(parameter.detach(), 0.1)
    whole = {name: jobs.whole(tensor) for name, tensor in ema.items()}
    trained = jobs.gathered(old)
    new = build(copies, "cpu")
    after = {name: torch.zeros_like(p) for name, p in new.named_parameters()}
    etc.torch.move(ema, after, timeout=60)
    etc.torch.move(old, new, timeout=60)
    different = jobs.unequal(whole, {n: jobs.whole(t) for n, t in after.items()})
    return different + jobs.unequal(trained, jobs.gathered(new))


def compiled(rank, store):
    """The losses of a job whose first step after a change is compiled and waits for its
    states, and those of one without a change."""
    warnings.simplefilter("ignore")
    jobs.join(rank, store, 2)
    shards = jobs.make_mesh([0, 1], "fsdp")
    copies = jobs.make_mesh([[0], [1]], "replicate", "fsdp")
    old, new, same = (
        (model, torch.optim.SGD([model.up.weight], torch.tensor(0.1), 0.9))
        for model in (build(shards, "cpu"), build(copies, "meta"), build(shards, "cpu"))
    )
    losses = [train(*old) for _ in range(2)]
    etc.torch.begin(old, new, timeout=60, defer="optimizer")
    new[0](torch.ones(4, 6)).square().mean().backward()
    torch.compile(lambda: new[1].step(), backend="eager")()
    new[1].zero_grad()
    losses += [train(*new) for _ in range(2)]
    expected = [train(*same) for _ in range(2)]
    same[1].zero_grad()
    same[0](torch.ones(4, 6)).square().mean().backward()
    same[1].step()
    return losses, expected + [train(*same) for _ in range(2)]


class Optimizers(unittest.TestCase):
    def test_all_of_them(self):
        found = ranks.must(ranks.run(2, moved, timeout=600))
        for mine in found:
            for name, said in mine.items():
                if said.startswith("PyTorch: "):
                    continue  # which does not train with it under FSDP2
                wanted = REFUSED.get(name.split()[0])
                if wanted:
                    self.assertIn(wanted, said, name)
                else:
                    self.assertTrue(said.startswith("[] True"), f"{name}: {said}")
        moving = [n for n, said in found[0].items() if said.startswith("[] True")]
        print(f"{len(moving)} moved; {found[0]}")
        self.assertGreaterEqual(len(moving), 20)

    def test_an_average_of_the_model(self):
        for different in ranks.must(ranks.run(2, averaged)):
            self.assertEqual(different, [])

    def test_a_compiled_step_waits_for_its_states(self):
        for losses, expected in ranks.must(ranks.run(2, compiled)):
            for loss, other in zip(losses, expected):
                self.assertAlmostEqual(loss, other, places=5)


if __name__ == "__main__":
    unittest.main()
