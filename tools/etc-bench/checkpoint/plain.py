"""Plain files as a checkpoint path, without a format or resharding.

Writes all previous shards, each once; reads as many bytes as all current shards have.
"""

import os

from processes import Process, box_bytes, measure, start_all

CHUNK = 16 << 20


def main(process: Process) -> None:
    once = [box for box in process.boxes("prev") if process.first_holder(*box)]
    write_bytes = sum(box_bytes(*box) for box in once)
    read_bytes = sum(box_bytes(*box) for box in process.boxes("curr"))
    source = memoryview(bytearray(os.urandom(1 << 20) * (CHUNK >> 20)))
    target = bytearray(CHUNK)
    own = process.folder / f"{process.rank}.bin"

    def save() -> None:
        with open(own, "wb", buffering=0) as file:
            for at in range(0, write_bytes, CHUNK):
                file.write(source[: min(CHUNK, write_bytes - at)])
            os.fsync(file.fileno())

    def load() -> None:
        files = sorted(process.folder.glob("*.bin"), key=lambda path: int(path.stem))
        files = [path for path in files if path.stat().st_size]
        left, index = read_bytes, process.rank
        while left > 0:
            with open(files[index % len(files)], "rb", buffering=0) as file:
                while left > 0 and (got := file.readinto(target)):
                    left -= got
            index += 1

    measure(process, save, load)


if __name__ == "__main__":
    start_all(main)
