"""Compares what the safetensors library reads with what the published format says."""

import pathlib
import sys

import safetensors
import state_files

files = sorted(pathlib.Path(sys.argv[1]).glob("*.safetensors"))
count = 0
for path in files:
    _, expected = state_files.read(path)
    found = {
        name: (tensor["dtype"], list(tensor["shape"]), bytes(tensor["data"]))
        for name, tensor in safetensors.deserialize(path.read_bytes())
    }
    assert found == expected, path
    count += len(found)
print(f"{len(files)} files, {count} tensors, the same as here")
