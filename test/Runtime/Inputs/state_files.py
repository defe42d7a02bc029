"""Reads directories of state as the published format of safetensors says, with nothing but Python, and compares them.

  state_files.py check DIR PLAN.json      every box of the plan's current shards is there, where the index says
  state_files.py write DIR                a checkpoint as Hugging Face writes it, of small tensors
  state_files.py whole DIR CHECKPOINT     the boxes of DIR are those of whole tensors
"""

import itertools
import json
import math
import pathlib
import struct
import sys
from collections.abc import Callable

BYTES = {"BF16": 2, "F16": 2, "F32": 4, "F64": 8, "I64": 8, "U8": 1}


def read(path):
    """The metadata of a file, and its tensors: dtype, shape, bytes."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    assert all(isinstance(value, str) for value in metadata.values())
    data = content[8 + length :]
    end = 0
    for tensor in sorted(header.values(), key=lambda tensor: tensor["data_offsets"]):
        assert tensor["data_offsets"][0] == end, "no holes"
        end = tensor["data_offsets"][1]
        assert end - tensor["data_offsets"][0] == BYTES[tensor["dtype"]] * math.prod(tensor["shape"])
    assert end == len(data)
    return metadata, {
        name: (tensor["dtype"], tensor["shape"], data[slice(*tensor["data_offsets"])])
        for name, tensor in header.items()
    }


def entries(directory):
    """Every box of the index, as its file has it: device, tensor, box, dtype, bytes."""
    index = json.loads((directory / "inventory.json").read_text())
    assert index["format"] == "etc-inventory" and index["version"] == 1
    names = {"inventory.json"} | {f"device-{entry['device']}.safetensors" for entry in index["devices"]}
    assert {path.name for path in directory.iterdir()} == names
    for entry in index["devices"]:
        metadata, tensors = read(directory / f"device-{entry['device']}.safetensors")
        assert metadata["device"] == str(entry["device"])
        for shard in entry["has"]:
            tensor, boxes = index["tensors"][index["shards"][shard]["tensor"]], index["shards"][shard]["boxes"]
            for number, box in enumerate(boxes):
                key = f"{tensor['type']}/{tensor['name']}" + (f"#{number}" if len(boxes) > 1 else "")
                assert json.loads(metadata[key]) == {"shape": tensor["shape"], "box": box}
                dtype, shape, data = tensors.pop(key)
                assert shape == [end - begin for begin, end in box]
                yield entry["device"], tensor, box, dtype, data
        assert not tensors, "nothing else is in the file"


def check(directory, plan):
    plan = json.loads(plan.read_text())
    planned = [
        (device["device"], plan["tensors"][plan["shards"][shard]["tensor"]], box)
        for device in plan["devices"]
        for shard in device["curr"]
        for box in plan["shards"][shard]["boxes"]
    ]

    def key(device, tensor, box):
        return device, tensor["type"], tensor["name"], tensor["shape"], box

    found = [key(*entry[:3]) for entry in entries(directory)]
    assert sorted(found) == sorted(key(*entry) for entry in planned)
    several = [shard for device in plan["devices"] for shard in device["curr"] if len(plan["shards"][shard]["boxes"]) > 1]
    print(f"{len(found)} boxes as planned, {len(several)} shards of several")


def write_file(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write(directory):
    """Two layers under Hugging Face's names, in two files; every element is another one."""
    directory.mkdir()
    shapes = {"model.embed_tokens.weight": [12, 8], "model.norm.weight": [8]}
    for layer in range(2):
        shapes[f"model.layers.{layer}.mlp.up_proj.weight"] = [16, 8]
        shapes[f"model.layers.{layer}.mlp.down_proj.weight"] = [8, 16]
    count = itertools.count()
    tensors = {
        name: ("BF16", shape, b"".join(struct.pack("<H", next(count)) for _ in range(math.prod(shape))))
        for name, shape in shapes.items()
    }
    files = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    places = {name: files["layers.1" in name] for name in tensors}
    for file in files:
        write_file(directory / file, {name: tensors[name] for name in tensors if places[name] == file})
    index = {"metadata": {"total_size": 2 * next(count)}, "weight_map": places}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))


def whole(directory, checkpoint):
    tensors = {}
    for path in checkpoint.glob("*.safetensors"):
        tensors.update(read(path)[1])
    count = 0
    for _, tensor, box, dtype, data in entries(directory):
        stored, shape, content = tensors[tensor["name"]]
        size = BYTES[dtype]
        assert stored == dtype and shape == tensor["shape"]
        elements = []
        for place in itertools.product(*(range(begin, end) for begin, end in box)):
            at = 0
            for axis, extent in zip(place, shape):
                at = at * extent + axis
            elements.append(content[at * size : (at + 1) * size])
        assert data == b"".join(elements), (tensor["name"], box)
        count += 1
    print(f"{count} boxes as in the checkpoint")


if __name__ == "__main__":
    verbs: dict[str, Callable[..., None]] = {"check": check, "write": write, "whole": whole}
    verbs[sys.argv[1]](*map(pathlib.Path, sys.argv[2:]))
