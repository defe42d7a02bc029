"""Ranks that hold the same, and tensors of which there is least: etc.torch moves what any rank has."""

import unittest

import etc.torch
import ranks
import torch
import torch_jobs as jobs
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate


def replicas(rank, store, lacking, groups):
    """Names and shapes of a new optimizer's states on this rank, or the error, where all
    ranks have a whole linear layer, and those that are lacking no momentum yet."""
    jobs.join(rank, store, 3)

    def make(device, numbers):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 4, device=device)
        order = [[model.weight], [model.bias]][:: -1 if rank in numbers else 1]
        lists = [{"params": parameters} for parameters in order]
        return model, torch.optim.SGD(lists, lr=0.1, momentum=0.9)

    model, optimizer = make("cpu", groups)
    model(torch.ones(2, 4)).sum().backward()
    if rank in lacking:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.1 * parameter.grad
    else:
        optimizer.step()
    after = make("meta", groups)
    try:
        etc.torch.move((model, optimizer), after, timeout=60)
    except ValueError as error:
        return str(error)
    return {
        name: tuple(value.shape)
        for name, value in after[1].state[after[0].weight].items()
    }


def small(rank, store):
    """The contents of a DTensor of no axes and of plain tensors, moved."""
    jobs.join(rank, store, 4)
    mesh = DeviceMesh("cpu", torch.arange(4))

    def state(device):
        number = torch.tensor(3.0, device=device)
        whole = DTensor.from_local(number, mesh, [Replicate()], run_check=False)
        empty = torch.zeros(0, 3, device=device)
        return {"number": whole, "empty": empty, "plain": torch.ones(2, device=device)}

    after = state("meta")
    etc.torch.move(state("cpu"), after, timeout=60)
    return after["number"].to_local().item(), tuple(after["empty"].shape)


class Replicas(unittest.TestCase):
    def test_some_replicas_lack_a_state(self):
        for lacking in ([1], [2], [0, 2]):
            with self.subTest(lacking=lacking):
                found = ranks.run(3, replicas, lacking, [])
                self.assertEqual(found, 3 * [{"momentum_buffer": (4, 4)}])

    def test_replicas_whose_groups_are_others(self):
        for message in ranks.run(3, replicas, [], [1]):
            self.assertRegex(
                message,
                r"^(weight|bias): is in group [01] of the optimizer on rank 1, in group "
                r"[01] on another rank; make the same groups$",
            )

    def test_tensors_of_no_axes_and_of_no_elements(self):
        self.assertEqual(ranks.run(4, small), 4 * [(3.0, (0, 3))])


if __name__ == "__main__":
    unittest.main()
