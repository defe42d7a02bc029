"""Compares lib/Model and lib/Layout with Megatron-Core itself.

    conformance.py BUILD/bin/etc-layout-dump [--layouts SUBSTRING]

For each layout every rank's GPTModel and the ranges of its distributed
optimizer are built by Megatron-Core, and compared with what ETC says: names,
order, shapes, partitions, layer offsets, optimizer ranges. Exits with 77 where
torch or megatron.core is missing; `pip install megatron-core torch` gets both.
"""

import argparse
import re
import sys

try:
    import torch
    import megatron.core
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from cases import CASES
from dump import Mismatch, dump
import builder


def global_name(name, chunk, first_expert):
    """Megatron's local numbers become global ones."""
    layer = re.match(r"decoder\.layers\.(\d+)\.", name)
    if layer:
        number = chunk.decoder.layers[int(layer[1])].layer_number - 1
        name = f"decoder.layers.{number}." + name[layer.end():]
    expert = re.search(r"\.local_experts\.(\d+)\.", name)
    if expert:
        number = first_expert + int(expert[1])
        name = name[:expert.start(1)] + str(number) + name[expert.end(1):]
    if name.startswith("embedding.word") and not chunk.pre_process:
        name = "mtp." + name
    return name


def kept_buffers(chunk):
    """What is saved beside parameters."""
    for name, tensor in chunk.named_buffers():
        if name.endswith("expert_bias"):
            yield name, tensor


def expected_box(tensor, shape, rank):
    """The box of a local shape, from the planning shape and Megatron's rank."""
    box = [[0, extent] for extent in shape]
    split = tensor["split"]
    if split >= 0:
        box[split] = [rank * shape[split], (rank + 1) * shape[split]]
    return box


def expect(what, ours, theirs):
    if ours != theirs:
        raise Mismatch(f"{what}: ETC {ours}, Megatron-Core {theirs}")


def compare_tensor(tensor, held, parameter):
    is_expert = "experts.local_experts" in held["name"]
    rank = builder.expert_rank() if is_expert else builder.tensor_rank()
    shape = list(parameter.shape)
    factored = bool(tensor["view"])
    if factored:
        # [gate; up] of this rank, planned as two halves.
        shape = [2, shape[0] // 2] + shape[1:]
    expect(held["name"], held["box"], expected_box(tensor, shape, rank))
    if getattr(parameter, "tensor_model_parallel", False):
        axis = tensor["split"] - (1 if factored else 0)
        expect(held["name"] + " partition_dim", axis, parameter.partition_dim)
    elif not is_expert:
        # A replicated tensor may still be cut by nobody.
        expect(held["name"] + " partition", tensor["split"], -1)


def compare_rank(case, ours, rank):
    config, chunks = builder.build(case)
    first_expert = builder.first_local_expert(case)
    theirs_flat = builder.optimizer_ranges(config, chunks, case.buckets)
    compared = 0
    for k, (chunk, mine) in enumerate(
            zip(chunks, ours["ranks"][rank]["chunks"])):
        numbers = [layer.layer_number - 1 for layer in chunk.decoder.layers]
        expect(f"layers of chunk {k}", list(range(*mine["layers"])), numbers)
        parameters = {global_name(n, chunk, first_expert): p
                      for n, p in chunk.named_parameters()}
        buffers = {global_name(n, chunk, first_expert): b
                   for n, b in kept_buffers(chunk)}
        names = [held["name"] for held in mine["holds"]
                 if held["name"] not in buffers]
        expect(f"order of tensors of chunk {k}", names, list(parameters))
        held_buffers = {held["name"] for held in mine["holds"]} & set(buffers)
        expect("buffers", held_buffers, set(buffers))
        for held in mine["holds"]:
            compare_tensor(ours["tensors"][held["tensor"]], held,
                           parameters.get(held["name"],
                                          buffers.get(held["name"])))
            compared += 1
        for piece in mine["flat"]:
            begin, end = theirs_flat.get(parameters[piece["name"]], (0, 0))
            expect(piece["name"] + " range", piece["range"],
                   [begin, end] if end > begin else [0, 0])
            compared += 1
    return compared


def run(tool, case):
    ours = dump(tool, case)
    expect("world", len(ours["ranks"]), case.world)
    compared = 0
    for rank in range(case.world):
        builder.enter(case, rank)
        try:
            compared += compare_rank(case, ours, rank)
        except Mismatch as mismatch:
            raise Mismatch(f"rank {rank}: {mismatch}") from None
        finally:
            builder.leave()
    return compared


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--layouts", default="")
    arguments = parser.parse_args()
    print(f"megatron-core {megatron.core.__version__}, "
          f"torch {torch.__version__}")
    failed = total = 0
    for case in CASES:
        if arguments.layouts not in case.name:
            continue
        try:
            compared = run(arguments.tool, case)
            total += compared
            print(f"ok      {case.name}: {case.world} ranks, {compared} tensors "
                  "and ranges", flush=True)
        except Mismatch as mismatch:
            failed += 1
            print(f"FAILED  {case.name}: {mismatch}", flush=True)
        except Exception as error:  # what Megatron-Core refuses
            failed += 1
            text = str(error).strip().split("\n")[0]
            print(f"FAILED  {case.name}: {type(error).__name__}: {text}",
                  flush=True)
    print(f"{len(CASES)} layouts, {failed} failed, {total} tensors and ranges "
          "compared")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
