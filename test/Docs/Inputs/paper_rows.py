"""Compares the rows of docs/paper.md with the paper's own numbering."""

import pathlib
import re
import sys

ROMAN = {"I": 1, "II": 2}
NUMBERED = (
    [f"Figure {number}" for number in range(1, 14)]
    + [f"Table {number}" for number in ROMAN]
    + ["Algorithm 1", "Algorithm 2"]
    + [f"Equation {number}" for number in range(1, 5)]
    # The sections that have numbers of their own, apart from figures: IV-E and IV.
    + ["IV-E", "IV"]
)

PAGE, SUBJECTS = map(pathlib.Path, sys.argv[1:])
rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line[:2] == "| "]
first = " ; ".join(row[0].removeprefix("| ") for row in rows)
# "Equations 1 to 4" are four.
for begin, end in re.findall(r"Equations (\d) to (\d)", first):
    first += "".join(f" ; Equation {n}" for n in range(int(begin), int(end) + 1))
missing = [name for name in NUMBERED if not re.search(rf"\b{name}(?![\w-])", first)]
assert not missing, f"no row: {', '.join(missing)}"

commands = set(re.findall(r"`etc-bench ([a-z-]+)", PAGE.read_text())) - {"all"}
unknown = sorted(name for name in commands if not (SUBJECTS / name / "run").exists())
assert not unknown, f"no subject: {', '.join(unknown)}"
print(
    f"{len(NUMBERED)} numbered items have rows, {len(commands)} commands are subjects"
)
