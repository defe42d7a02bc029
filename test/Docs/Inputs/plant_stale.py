"""Changes published figures in a folder: three planned ones, a sentence, a measured one."""

import json
import pathlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager

FOLDER = pathlib.Path(sys.argv[1])


@contextmanager
def published(subject: str) -> Iterator[dict]:
    """The published figures of a subject, written back as they are changed."""
    file = FOLDER / f"{subject}.json"
    result = json.loads(file.read_text())
    yield result
    file.write_text(json.dumps(result))


with published("defragmentation") as result:
    groups = result["tables"][1]
    assert groups["rows"][1][:2] == ["ours", 4]
    groups["rows"][1][1] = 5
with published("memory-timeline") as result:
    result["conclusions"][0] += " This is stale."
    result["tables"][0]["changes"]["0"][0][1] += 1
with published("execution") as result:
    names = [column["name"] for column in result["tables"][0]["columns"]]
    result["tables"][0]["rows"][0][names.index("moved")] += 1
    result["tables"][0]["rows"][0][names.index("GB/s, median")] = 12345.5
