"""What --help of a program says, in parts: the source of its man page and reference."""

from __future__ import annotations

import pathlib
import re
import subprocess
from typing import NamedTuple


class Option(NamedTuple):
    """An option with its value, and a line or more of what it means."""

    name: str
    meaning: list[str]


class Help(NamedTuple):
    """A program's help: prose and options in the order in which they stand."""

    program: str
    version: str
    usage: list[str]
    prose: list[str]
    options: list[Option]
    closing: list[str]


def output_of(program: pathlib.Path, option: str) -> str:
    done = subprocess.run(
        [program, option], check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def read_help(program: pathlib.Path) -> Help:
    """The help of etc-opt (LLVM's layout) or of etc-run."""
    version = output_of(program, "--version").splitlines()[0]
    lines = [line.rstrip() for line in output_of(program, "--help").splitlines()]
    read = read_llvm if lines[0].startswith("OVERVIEW") else read_plain
    return read(program.name, version, lines)


def read_llvm(name: str, version: str, lines: list[str]) -> Help:
    usage_at = next(i for i, line in enumerate(lines) if line.startswith("USAGE:"))
    prose = [lines[0].removeprefix("OVERVIEW: "), *lines[1:usage_at]]
    options: list[Option] = []
    for line in lines[usage_at + 1 :]:
        if match := re.match(r"  (-\S+(?: <[^>]+>)?)\s+- ?(.*)", line):
            options.append(Option(match[1], [match[2]]))
        elif match := re.match(r"    (=\S+)\s+- +(.*)", line):
            options[-1].meaning.append(f"{match[1]}: {match[2]}")
    usage = [lines[usage_at].removeprefix("USAGE: ")]
    return Help(name, version, usage, prose, options, [])


def read_plain(name: str, version: str, lines: list[str]) -> Help:
    start = lines.index("options:")
    first = next(i for i, line in enumerate(lines) if not line)
    usage = [line.removeprefix("usage:").strip() for line in lines[:first]]
    options: list[Option] = []
    end = start + 1
    for end, line in enumerate(lines[start + 1 :], start + 1):
        if match := re.match(r"  (--\S+)(?:\s+(.*))?$", line):
            options.append(Option(match[1], [match[2] or ""]))
        elif line.startswith("   "):
            options[-1].meaning[-1] += " " + line.strip()
        else:
            break
    return Help(name, version, usage, lines[first + 1 : start], options, lines[end:])
