"""Compares the list of the last run on docs/conformance.md with the layouts.

    page.py BUILD/bin/etc-layout-dump docs/conformance.md

A layout of cases.py has a row with its ranks and with as many tensors and ranges
as conformance.py compares, which are all that ETC knows of; this needs no
Megatron-Core. A page that is older than a layout or a tensor is found.
"""

import pathlib
import re
import sys

from cases import CASES
from dump import count_of, dump

ROW = re.compile(r"\| (.*) \| (\d+) \| (\d+) \|")
TOTAL = re.compile(r" *(\d+) layouts, 0 failed, (\d+) tensors and ranges compared")


def published(page):
    """The rows and the totals that the page states."""
    lines = pathlib.Path(page).read_text().splitlines()
    rows = [match for line in lines if (match := ROW.fullmatch(line))]
    totals = [match for line in lines if (match := TOTAL.fullmatch(line))]
    return ([(name, int(ranks), int(count)) for name, ranks, count
             in (row.groups() for row in rows)],
            [tuple(map(int, total.groups())) for total in totals])


def main():
    tool, page = sys.argv[1:]
    rows, totals = published(page)
    now = [(case.name, case.world, count_of(dump(tool, case)))
           for case in CASES]
    wrong = [f"is not so now: {row}" for row in rows if row not in now]
    wrong += [f"has no row: {row}" for row in now if row not in rows]
    total = (len(now), sum(count for _, _, count in now))
    if totals != [total]:
        wrong.append(f"totals are {totals}, now {total}")
    for line in wrong:
        print(f"{page}: {line}")
    print(f"{len(now)} layouts, {len(wrong)} not as published")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
