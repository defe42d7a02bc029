"""What lib/Model and lib/Layout say of a layout, as etc-layout-dump prints it."""

import json
import subprocess
import tempfile


class Mismatch(Exception):
    pass


def dump(tool, case):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as request:
        json.dump(case.request(), request)
        request.flush()
        result = subprocess.run([tool, request.name], capture_output=True,
                                text=True)
    if result.returncode != 0:
        raise Mismatch(result.stderr.strip())
    return json.loads(result.stdout)


def count_of(ours):
    """How many tensors and ranges there are to compare, over all ranks."""
    return sum(len(chunk["holds"]) + len(chunk["flat"])
               for rank in ours["ranks"] for chunk in rank["chunks"])
