"""Checkpoints of torch.distributed.checkpoint, of which single boxes are read."""

from __future__ import annotations

import ctypes
import math
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch.distributed.checkpoint import StorageReader

METADATA = ".metadata"
Box = Sequence[tuple[int, int]]
# (type, name, dtype, shape, the framework's shape or None, box), as C gives them.
Wanted = tuple[str, str, str, tuple[int, ...], "tuple[int, ...] | None", Box]


class DistributedCheckpoint:
    """A checkpoint of torch.distributed.checkpoint, for `restore_from` of
    `etc.recover`, which reads the boxes that no process holds, and no others.

    PyTorch reads the metadata and the files; what is read of a file are the saved
    shards that overlap a box. Shapes are the planning shapes of the plan, or the
    framework's; in the latter case a whole tensor is read for a box of it.

    Args:
        checkpoint: its directory, or a StorageReader.
        key: the key of a tensor in the flattened state dictionary, of its type and
            name. By default the shortest key that ends in the name, and for types
            other than "param" in the name and the type: "model.layers.0.weight" and
            "optim.state.layers.0.weight.exp_avg".
    """

    def __init__(
        self,
        checkpoint: str | os.PathLike[str] | StorageReader,
        key: Callable[[str, str], str] | None = None,
    ) -> None:
        from torch.distributed.checkpoint import FileSystemReader
        from torch.distributed.checkpoint.metadata import TensorStorageMetadata

        if isinstance(checkpoint, (str, os.PathLike)):
            self.path = os.fspath(checkpoint)
            _check_file(os.path.join(self.path, METADATA), 1)
            self._reader: Any = FileSystemReader(self.path)
        else:
            self.path = f"the {type(checkpoint).__name__}"
            self._reader = checkpoint
        try:
            metadata = self._reader.read_metadata()
        except Exception as error:
            raise _unreadable(self.path, "its metadata", error) from error
        self._files: dict[tuple[str, Any], str] = {}  # by key and offsets
        self._seen: dict[str, _Facts] = {}
        if self._reader is not checkpoint:
            self._seen = _check_files(self.path, metadata)
            self._files = {
                (index.fqn, index.offset): os.path.join(self.path, part.relative_path)
                for index, part in (metadata.storage_data or {}).items()
            }
        self._reader.set_up_storage_reader(metadata, True)
        self._tensors: dict[str, Any] = {
            name: entry
            for name, entry in metadata.state_dict_metadata.items()
            if isinstance(entry, TensorStorageMetadata)
        }
        self._key = key

    def find(self, kind: str, name: str) -> str:
        """The key of a tensor. Raises KeyError if there is none, or more than one."""
        if self._key is not None:
            key = self._key(kind, name)
            if key not in self._tensors:
                raise KeyError(f"{self.path}: has no tensor {key}")
            return key
        end = name if kind == "param" else f"{name}.{kind}"
        found = [k for k in self._tensors if k == end or k.endswith(f".{end}")]
        shortest = [k for k in found if len(k) == min(map(len, found))]
        if not shortest:
            raise KeyError(f"{self.path}: has no tensor whose key ends in {end}")
        if len(shortest) > 1:
            raise KeyError(
                f"{self.path}: {name} ({kind}) may be {shortest[0]} or {shortest[1]}; "
                f"pass key= to DistributedCheckpoint"
            )
        return shortest[0]

    def _check(self, wanted: Wanted) -> str | None:
        """Why a box cannot be read, or None."""
        from etc.tensors import DTYPES

        kind, name, dtype, shape, view, _ = wanted
        try:
            key = self.find(kind, name)
        except KeyError as error:
            return str(error.args[0])
        entry = self._tensors[key]
        if entry.properties.dtype != DTYPES[dtype] or tuple(entry.size) not in (
            shape,
            view,
        ):
            also = f" or {list(view)}" if view else ""
            return (
                f"{self.path}: {key} is {entry.properties.dtype} {list(entry.size)}; "
                f"expected {DTYPES[dtype]} {list(shape)}{also}"
            )
        return None

    def _read(self, wanted: Wanted, address: int) -> None:
        """Reads a box into the memory at an address."""
        import torch
        from etc.tensors import DTYPES

        kind, name, dtype, shape, _, box = wanted
        key = self.find(kind, name)
        extents = [end - begin for begin, end in box]
        count = math.prod(extents) * torch.empty(0, dtype=DTYPES[dtype]).element_size()
        memory = (ctypes.c_char * count).from_address(address)
        to = torch.frombuffer(memory, dtype=DTYPES[dtype]).view(extents)
        stored = tuple(self._tensors[key].size)
        if stored == shape:
            self._copy(key, box, to)
            return
        whole = torch.empty(stored, dtype=DTYPES[dtype])
        self._copy(key, [(0, extent) for extent in stored], whole)
        to.copy_(whole.view(shape)[tuple(slice(*bounds) for bounds in box)])

    def _copy(self, key: str, box: Box, to: torch.Tensor) -> None:
        """Reads a box of what is stored."""
        import torch
        from torch.distributed.checkpoint import LoadPlan, LoadPlanner, ReadItem
        from torch.distributed.checkpoint.metadata import MetadataIndex
        from torch.distributed.checkpoint.planner import LoadItemType

        class Into(LoadPlanner):
            """Asked by the reader where a part goes."""

            def resolve_tensor(self, read_item: Any) -> torch.Tensor:
                at = zip(read_item.dest_offsets, read_item.lengths)
                return to[tuple(slice(first, first + size) for first, size in at)]

            def commit_tensor(self, read_item: Any, tensor: torch.Tensor) -> None:
                pass

            def load_bytes(self, read_item: Any, value: Any) -> None:
                pass

            set_up_planner = create_local_plan = create_global_plan = finish_plan = (
                lambda self, *args, **kwargs: None
            )

        items, files = [], set()
        for chunk in self._tensors[key].chunks:
            common = [
                (max(begin, first), min(end, first + size))
                for (begin, end), first, size in zip(box, chunk.offsets, chunk.sizes)
            ]
            if any(begin >= end for begin, end in common):
                continue
            files.add(self._files.get((key, chunk.offsets), ""))
            items.append(
                ReadItem(
                    type=LoadItemType.TENSOR,
                    dest_index=MetadataIndex(key),
                    dest_offsets=torch.Size(
                        begin - first for (begin, _), (first, _) in zip(common, box)
                    ),
                    storage_index=MetadataIndex(key, chunk.offsets),
                    storage_offsets=torch.Size(
                        begin - first for (begin, _), first in zip(common, chunk.offsets)
                    ),
                    lengths=torch.Size(end - begin for begin, end in common),
                )
            )
        self._check_unchanged(files)
        try:
            plan = self._reader.prepare_local_plan(LoadPlan(items))
            self._reader.read_data(plan, Into()).wait()
        except Exception as error:
            self._check_unchanged(files)
            raise _unreadable(self.path, key, error) from error
        self._check_unchanged(files)

    def _check_unchanged(self, files: Iterable[str]) -> None:
        """PyTorch opens a file by its name whenever it reads. Raises an error that
        names one which is not any more what it was when the checkpoint was opened."""
        for path in sorted(filter(None, files)):
            if _facts(os.stat(path)) != self._seen[path]:
                raise ValueError(
                    f"{path}: was replaced or written to since the checkpoint was "
                    f"opened"
                )


def _unreadable(path: str, what: str, error: Exception) -> ValueError:
    """PyTorch's errors may have neither text nor file."""
    return ValueError(f"{path}: cannot read {what}: {type(error).__name__}: {error}")


_Facts = tuple[int, int, int, int]


def _facts(found: os.stat_result) -> _Facts:
    """What changes where a file is replaced or written to."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _check_file(path: str, size: int) -> _Facts:
    """Raises an error before PyTorch would wait for a writer, or read what has no end.
    That it is not there is the most common one."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{path}: is no regular file")
    if found.st_size < size:
        raise ValueError(f"{path}: has {found.st_size} bytes; expected {size} or more")
    return _facts(found)


def _check_files(folder: str, metadata: Any) -> dict[str, _Facts]:
    """Of a checkpoint: that all that it names are there, and whole."""
    ends: dict[str, int] = {}
    for stored in (metadata.storage_data or {}).values():
        end = stored.offset + stored.length
        ends[stored.relative_path] = max(end, ends.get(stored.relative_path, 0))
    paths = {os.path.join(folder, name): end for name, end in ends.items()}
    return {path: _check_file(path, end) for path, end in paths.items()}


def is_distributed(path: str | os.PathLike[str]) -> bool:
    """Whether a directory is such a checkpoint."""
    return os.path.lexists(os.path.join(os.fspath(path), METADATA))
