"""torch.distributed.checkpoint with exactly the shards of a plan.

Saved as the previous configuration holds them, loaded (and so resharded) as the current
one does. Every element is a formula of its position, and is compared after loading.
"""

import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from processes import Process, measure, start_all
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
)
from torch.distributed.checkpoint.planner import (
    LoadPlan,
    SavePlan,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)
from torch.distributed.checkpoint.planner_helpers import (
    create_read_items_for_chunk_list,
)

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
PRIME = 251


def name_of(tensor: dict) -> str:
    return f"{tensor['name']}/{tensor['type']}"


def fill(tensor: dict, box: list) -> torch.Tensor:
    """The sum of an element's coordinates modulo a prime, which bf16 holds exactly."""
    total = torch.zeros([1] * len(box), dtype=torch.int64)
    for axis, (begin, end) in enumerate(box):
        shape = [1] * len(box)
        shape[axis] = end - begin
        total = total + torch.arange(begin, end).reshape(shape)
    return (total % PRIME).to(DTYPES[tensor["dtype"]])


def chunk_of(box: list) -> ChunkStorageMetadata:
    return ChunkStorageMetadata(
        offsets=torch.Size(begin for begin, _ in box),
        sizes=torch.Size(end - begin for begin, end in box),
    )


class Boxes:
    """Tensors of this process by name and offset."""

    def __init__(self, boxes: list, values) -> None:
        self.entries = [(tensor, chunk_of(box)) for tensor, box in boxes]
        self.data = {
            (name_of(tensor), chunk_of(box).offsets): values(tensor, box)
            for tensor, box in boxes
        }

    def at(self, index: MetadataIndex) -> torch.Tensor:
        return self.data[index.fqn, index.offset]


class Saver(dcp.DefaultSavePlanner):
    """Plans the boxes of this process in place of a state dict."""

    def __init__(self, boxes: Boxes) -> None:
        super().__init__(dedup_save_to_lowest_rank=True)
        self.boxes = boxes

    def create_local_plan(self) -> SavePlan:
        items = [
            WriteItem(
                index=MetadataIndex(name_of(tensor), chunk.offsets),
                type=WriteItemType.SHARD,
                tensor_data=TensorWriteData(
                    chunk=chunk,
                    properties=TensorProperties(dtype=DTYPES[tensor["dtype"]]),
                    size=torch.Size(tensor["shape"]),
                ),
            )
            for tensor, chunk in self.boxes.entries
        ]
        self.plan = SavePlan(items, planner_data={})
        return self.plan

    def resolve_data(self, write_item: WriteItem) -> torch.Tensor:
        return self.boxes.at(write_item.index)


class Loader(dcp.DefaultLoadPlanner):
    """Reads what overlaps with the boxes of this process into them."""

    def __init__(self, boxes: Boxes) -> None:
        super().__init__()
        self.boxes = boxes

    def create_local_plan(self) -> LoadPlan:
        items = []
        for tensor, chunk in self.boxes.entries:
            stored = self.metadata.state_dict_metadata[name_of(tensor)]
            items += create_read_items_for_chunk_list(name_of(tensor), stored, [chunk])
        return LoadPlan(items)

    def lookup_tensor(self, index: MetadataIndex) -> torch.Tensor:
        return self.boxes.at(index)


def main(process: Process) -> None:
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    meeting = process.folder.with_name(process.folder.name + ".store")
    store = dist.FileStore(str(meeting), process.world)
    dist.init_process_group(
        "gloo", store=store, rank=process.rank, world_size=process.world
    )
    prev = Boxes(process.boxes("prev"), fill)
    want = Boxes(process.boxes("curr"), fill)
    curr = Boxes(process.boxes("curr"), lambda *box: torch.empty_like(fill(*box)))

    def save() -> None:
        writer = dcp.FileSystemWriter(process.folder)
        dcp.save({}, storage_writer=writer, planner=Saver(prev))

    def load() -> None:
        reader = dcp.FileSystemReader(process.folder)
        dcp.load({}, storage_reader=reader, planner=Loader(curr))

    measure(process, save, load)
    wrong = [
        key for key in want.data if not torch.equal(want.data[key], curr.data[key])
    ]
    if wrong:
        raise SystemExit(f"dcp.py: loaded something else at {wrong[0]}")
    dist.destroy_process_group()


if __name__ == "__main__":
    start_all(main)
