"""Planned figures against what is published: what differs, and how one replaces the
other."""

from __future__ import annotations

import math

from bench import cell, is_measured, seal_of

# Sums of floating-point numbers may differ in their last digits from machine to machine.
TOLERANCE = 1e-9

# What a result says of its run, which planned figures do not depend on.
RUN = ("etc_version", "machine", "busy_before", "wall_seconds")


def is_edited(published: dict) -> bool:
    """Whether a result is not as it was written, or has lost its seal."""
    return published.get("seal") != seal_of(published)


def same(a, b) -> bool:
    """Whether two cells, or what a table has beside its rows, are equal."""
    if isinstance(a, float) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-15)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


def differences(published: dict, now: dict) -> tuple[int, list[str]]:
    """How many planned figures there are, and a line for each that is not as published."""
    count, found = 0, []
    for key in ("title", "conclusions", "inputs"):
        if published.get(key) != now.get(key):
            found.append(f"{key}: published {published.get(key)}, now {now.get(key)}")
    if len(published["tables"]) != len(now["tables"]):
        found.append(f"{len(published['tables'])} tables, now {len(now['tables'])}")
    for old, new in zip(published["tables"], now["tables"]):
        in_table, lines = table_differences(old, new)
        count += in_table
        found += [f"{new['title']}: {line}" for line in lines]
    return count, found


def table_differences(old: dict, new: dict) -> tuple[int, list[str]]:
    """The same of one table."""
    beside = [key for key in old.keys() | new.keys() if key != "rows"]
    found = [
        f"{key} is not as published"
        for key in sorted(beside)
        if not same(old.get(key), new.get(key))
    ]
    if old["columns"] != new["columns"] or len(old["rows"]) != len(new["rows"]):
        return 0, [*found, f"{len(old['rows'])} rows, now {len(new['rows'])}"]
    count = 0
    for was, row in zip(old["rows"], new["rows"]):
        for column, a, b in zip(new["columns"], was, row):
            if column.get("measured"):
                continue
            count += column["kind"] != "text"
            if not same(a, b):
                kind = column["kind"]
                texts = f"published {cell(a, kind)}, now {cell(b, kind)}"
                texts += f" ({a!r}, {b!r})" if cell(a, kind) == cell(b, kind) else ""
                found.append(f"{row[0]}, {column['name']}: {texts}")
    return count, found


def merged(published: dict, now: dict) -> dict:
    """What is published, with the planned figures of now. Measured figures keep what
    says when and on what they were measured."""
    kept = published if is_measured(now) else now
    result = {k: v for k, v in kept.items() if is_measured(now) or k not in RUN}
    result["conclusions"] = now["conclusions"]
    result["tables"] = [
        table | {"rows": rows_of(old, table)}
        for old, table in zip(published["tables"], now["tables"], strict=True)
    ]
    if "inputs" in now:
        result["inputs"] = now["inputs"]
    return result


def rows_of(old: dict, new: dict) -> list[list]:
    """The rows of now, measured cells from what is published."""
    if not any(column.get("measured") for column in new["columns"]):
        return new["rows"]
    if len(old["rows"]) != len(new["rows"]):
        raise SystemExit(
            f"etc-bench: {new['title']}: {len(old['rows'])} rows are published, now "
            f"there are {len(new['rows'])}; measure the subject again"
        )
    return [
        [
            was if column.get("measured") else value
            for column, was, value in zip(new["columns"], before, row, strict=True)
        ]
        for before, row in zip(old["rows"], new["rows"], strict=True)
    ]
