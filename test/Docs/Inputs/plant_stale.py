"""Changes published figures in a folder: three planned ones, a sentence and a measured
one, sealed as if they had been made so, a measured sentence by hand, and a measured
figure together with its seal."""

import json
import pathlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager

FOLDER = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/etc-bench"))
from bench import write_sealed  # noqa: E402


@contextmanager
def published(subject: str) -> Iterator[dict]:
    """The published figures of a subject, written back as they are changed."""
    file = FOLDER / f"{subject}.json"
    result = json.loads(file.read_text())
    yield result
    write_sealed(result, file)


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

file = FOLDER / "checkpoint.json"
text = file.read_text()
assert "times as long as the migration" in text
file.write_text(text.replace("times as long as the migration", "times as long", 1))

file = FOLDER / "loops.json"
result = json.loads(file.read_text())
del result["seal"]
result["wall_seconds"] += 1
file.write_text(json.dumps(result, indent=1) + "\n")
