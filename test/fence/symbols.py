#!/usr/bin/env python3
"""Whether libraries need no symbol of the project but each other's.

    symbols.py NM LIBRARY...

A static library can name what it does not link, as long as whoever links the program
brings it. CMake sees links only.
"""

from __future__ import annotations

import re
import subprocess
import sys

# C++ names within the namespace etc or mlir::etc, and C names.
OF_PROJECT = re.compile(r"_Z.*(?<!\d)3etc|etc_")


def read_symbols(nm: str, library: str) -> tuple[set[str], set[str]]:
    """The project's symbols that a library has, and those that it needs."""
    listing = subprocess.run(
        [nm, "-gP", library], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    has, needs = set(), set()
    for line in listing.splitlines():
        fields = line.split()
        if len(fields) < 2 or not OF_PROJECT.match(fields[0]):
            continue  # the name of an object file, or a symbol of others
        (needs if fields[1] in "Uwv" else has).add(fields[0])
    return has, needs


def main() -> int:
    nm, *libraries = sys.argv[1:]
    symbols = {library: read_symbols(nm, library) for library in libraries}
    known = set().union(*(has for has, _ in symbols.values()))
    lacking = [
        (library.rpartition("/")[2], name)
        for library, (_, needs) in symbols.items()
        for name in sorted(needs - known)
    ]
    for library, name in lacking:
        print(f"{library}: needs {name}, which none of these libraries has")
    for library, (has, _) in symbols.items():
        if not has:
            print(f"{library}: has no symbol of the project")
            return 1
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
