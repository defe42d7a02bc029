"""The prose of the documentation: README.md and docs/*.md without code, tables,
headings, pictures and comments."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORDS = 4  # a fragment of fewer words is no sentence
LEFT_OUT = re.compile(r"(#|\||\[[^\]]+\]: |!\[|<)")
ITEM = re.compile(r"\s*([-*]|\d+\.)\s+")
# A comment, or code that may show one: a block, or a span within a paragraph.
COMMENT = re.compile(
    r"(?P<code>^ *```.*?^ *```|`(?:[^`\n]|\n(?! *\n))+`)|<!--.*?-->",
    re.DOTALL | re.MULTILINE,
)
# A full stop or question mark that ends a sentence; `e.g.` and the like do not.
END = re.compile(r"(?<![ (.]\w)(?<!\bal)[.?!][)*_\"]*\s+(?=[A-Z0-9`*\[\"(_])")


class Sentence(NamedTuple):
    page: str
    line: int
    text: str


def pages() -> list[pathlib.Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def name_of(page: pathlib.Path) -> str:
    return str(page.relative_to(ROOT))


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """The first line and the words of each paragraph and list item."""
    text = COMMENT.sub(lambda found: found["code"] or "\n" * found[0].count("\n"), text)
    first, words, is_code = 0, "", False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        is_item = ITEM.match(line) is not None
        is_left_out = LEFT_OUT.match(line) or (line.startswith("    ") and not words)
        if is_code or is_fence or is_item or is_left_out or not line.strip():
            if words:
                yield first, words
            words = ""
            is_code ^= is_fence
            if is_code or is_fence or not is_item:
                continue
        first = first if words else number
        words = f"{words} {ITEM.sub('', line, count=1) if is_item else line.strip()}"
    assert not is_code, "a block is not closed"


def sentences_of(page: pathlib.Path) -> Iterator[Sentence]:
    for line, words in paragraphs(page.read_text()):
        begin, text = 0, " ".join(words.split())
        for end in [match.end() for match in END.finditer(text)] + [len(text)]:
            sentence = text[begin:end].strip()
            if len(sentence.split()) >= WORDS:
                yield Sentence(name_of(page), line, sentence)
            begin = end
