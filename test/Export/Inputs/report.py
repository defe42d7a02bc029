"""Checks pages that --emit=report and --report write.

    report.py offline PAGE...              nothing is loaded, and the data can be read
    report.py totals PAGE PLAN.json        the figures are those of --emit=json
    report.py costs PAGE PLAN.mlir         the cost matrix is the one that was solved
    report.py print PAGE FIELD...          prints fields of the data, like summary/rounds
    report.py draw PAGE [TEXT...]          Chromium draws every picture, and shows these texts,
                                           be it as a picture's label
    report.py use PAGE [TEXT...]           the same, when all that can be chosen was chosen
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

LOADS = {"src", "srcset", "href", "data", "action", "formaction", "poster", "background"}
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)


class Page(HTMLParser):
    """The elements of a page, and the text within scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[int, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements:
            last = len(self.elements) - 1
            self.texts[last] = self.texts.get(last, "") + data

    def text_of(self, tag: str, **attributes: str) -> str:
        """The text of the only such element."""
        (found,) = (
            index
            for index, (name, attrs) in enumerate(self.elements)
            if name == tag and attributes.items() <= attrs.items()
        )
        return self.texts.get(found, "")


def read(path: str) -> Page:
    return Page(Path(path).read_text(encoding="utf-8"))


def data_of(path: str) -> dict[str, Any]:
    return json.loads(read(path).text_of("script", id="data"))


def expect(condition: bool, message: str) -> None:
    if not condition:
        sys.exit(message)


def check_offline(*paths: str) -> None:
    for path in paths:
        check_page_offline(path)


def check_page_offline(path: str) -> None:
    page = read(path)
    tags = [tag for tag, _ in page.elements]
    for tag, attrs in page.elements:
        for name in LOADS & attrs.keys():
            value = attrs[name] or ""
            expect(value.startswith("#"), f"<{tag} {name}={value!r}> loads something")
        on = [name for name in attrs if name.startswith("on")]
        expect(not on, f"<{tag}> has handlers: {on}")
    policies = [
        attrs.get("content")
        for tag, attrs in page.elements
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    expect(policies == [POLICY], f"policy: {policies}")
    expect(tags.count("script") == 12, f"{tags.count('script')} scripts")
    style = page.text_of("style")
    expect(not re.search(r"url\(|@import", style), "the style loads something")
    data = data_of(path)
    expect(data["format"] == "etc-report" and data["version"] == 1, "format")
    print("nothing is loaded")


def check_totals(path: str, plan_path: str) -> None:
    data, plan = data_of(path), json.loads(Path(plan_path).read_text())
    expect(data["summary"] == plan["summary"], f"{data['summary']}\n{plan['summary']}")
    expect(data["world"] == plan["world"], "world")
    summary = data["summary"]
    sums = {
        "moved_bytes": [sum(flow[2] for flow in data["flows"])],
        "kept_bytes": [],
        "derived_bytes": [],
        "zeroed_bytes": [],
    }
    fields = ("received", "kept", "derived", "zeroed")
    for name, field in zip(sums, fields):
        column = "moved" if field == "received" else field
        sums[name].append(sum(p[field] * p["devices"] for p in data["programs"]))
        # Tensors list what arrives where it stays.
        passed = summary["transit_bytes"] if column == "moved" else 0
        sums[name].append(passed + sum(tensor[column] for tensor in data["tensors"]))
        expect(set(sums[name]) == {summary[name]}, f"{name}: {sums[name]}")
    expect(sum(data["rounds"]["moved"]) == summary["moved_bytes"], "rounds")
    for track in data["tracks"]:
        program = data["programs"][track["program"]]
        live = [track["before"], *track["during"]]
        expect(max(live) == program["peak"], f"peak of {program['name']}")
        last = ([track["before"]] + track["after"])[-1]
        expect(last == program["curr_bytes"] + program["slabs"], "memory at the end")
        expect(sum(track["received"]) == program["received"], "received")
        expect(sum(track["sent"]) == program["sent"], "sent")
    expect(len(data["tracks"]) == len(data["programs"]), "tracks")
    predicted = data["predicted"]
    ends = [sum(predicted["tracks"][t]) for t in predicted["track_of_rank"]]
    expect(max(ends) == max(predicted["ends"]), "tracks and rounds end apart")
    expect(abs(max(ends) / 1e6 - predicted["seconds"]) < 1e-6, "predicted time")
    print("totals agree")


def check_costs(path: str, module_path: str) -> None:
    text = Path(module_path).read_text()
    rows = re.search(r"cost_matrix bytes #etc\.matrix<(.*)>", text)
    assert rows is not None
    solved = json.loads(f"[{rows[1]}]")
    matrix = data_of(path)["matrix"]
    expect(matrix["costs"] == solved, f"{matrix['costs']}\n{solved}")
    print(f"costs agree: {len(solved)} x {len(solved[0])}")


def print_fields(path: str, *fields: str) -> None:
    for field in fields:
        value: Any = data_of(path)
        for name in field.split("/"):
            value = value[int(name) if isinstance(value, list) else name]
        print(f"{field} {json.dumps(value)}")


def browse(path: str, *options: str) -> subprocess.CompletedProcess[str]:
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as profile:
        command = ["chromium", "--headless", "--disable-gpu", *root, *options]
        command += [f"--user-data-dir={profile}", "--enable-logging=stderr"]
        command += ["--window-size=1280,1000", "--virtual-time-budget=5000"]
        page = Path(path).resolve().as_uri()
        return subprocess.run(
            [*command, page], capture_output=True, text=True, timeout=120
        )


# Walks to a device and opens its node by keys, then presses every button, takes the second
# of every list, and opens every table.
USE = """
  const grid = document.querySelector('#placement .grid');
  for (const key of ['ArrowRight', 'ArrowDown', 'Enter'])
    grid.dispatchEvent(new KeyboardEvent('keydown', { key }));
  const use = () => {
    document.querySelectorAll('.choice button').forEach((button) => button.click());
    document.querySelectorAll('select').forEach((list) => {
      list.selectedIndex = 1;
      list.dispatchEvent(new Event('change'));
    });
  };
  use();
  document.getElementById('theme').click();
  use();
  grid.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
  document.querySelectorAll('details').forEach((details) => { details.open = true; });
  const again = document.querySelector('#placement .grid');
  for (const key of ['ArrowRight', 'Enter'])
    again.dispatchEvent(new KeyboardEvent('keydown', { key }));
"""


def check_use(path: str, *texts: str) -> None:
    page = Path(path).read_text(encoding="utf-8")
    end = page.rindex("</body>")
    used = Path(path).with_suffix(".used.html")
    used.write_text(f"{page[:end]}<script>{USE}</script>{page[end:]}")
    check_drawing(str(used), *texts)


def check_drawing(path: str, *texts: str) -> None:
    run = browse(path, "--dump-dom")
    said = [line for line in run.stderr.splitlines() if ":CONSOLE" in line]
    expect(not said, "\n".join(said))
    page = Page(run.stdout)
    (root,) = (attrs for tag, attrs in page.elements if tag == "html")
    expect(root.get("data-state") == "drawn", f"state {root.get('data-state')}")
    charts = sum("chart" == attrs.get("class") for _, attrs in page.elements)
    pictures = [
        tag
        for tag, attrs in page.elements
        if tag == "canvas" or (tag == "svg" and "baseProfile" in run.stdout)
    ]
    expect(str(charts) == root.get("data-charts"), f"{charts} charts")
    expect(len(pictures) >= charts + 2, f"{len(pictures)} pictures of {charts} charts")
    expect(all(tag != "img" for tag, _ in page.elements), "a name became an element")
    shown = "".join(
        text
        for index, text in page.texts.items()
        if page.elements[index][0] not in ("script", "style")
    )
    shown += "".join(f"\n{attrs.get('aria-label') or ''}" for _, attrs in page.elements)
    for text in texts:
        if text.startswith("!"):
            expect(text[1:] not in shown, f"{text[1:]!r} is on the page")
        else:
            expect(text in shown, f"{text!r} is not on the page")
    print(f"{charts} charts are drawn")


if __name__ == "__main__":
    verbs: dict[str, Callable[..., None]] = {
        "offline": check_offline,
        "totals": check_totals,
        "costs": check_costs,
        "print": print_fields,
        "draw": check_drawing,
        "use": check_use,
    }
    verbs[sys.argv[1]](*sys.argv[2:])
