"""Writes the index of all fields in `docs/experiment-file/index.md`, from the tables of the pages
beside it: `python -m tests.write_field_index`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from dumbbell.experiment import json_schema
from tests.helpers import ROOT

FOLDER = ROOT / "docs" / "experiment-file"
INDEX = FOLDER / "index.md"
_START, _END = "<!-- fields -->", "<!-- end fields -->"
#: Forms of a value that the schema lists like fields.
_FORMS = {"none", "fixed", "all", "each", "spread"}
_HEAD = "| section | fields |\n| --- | --- |\n"


def pages() -> list[Path]:
    """The index, then the pages in its order."""
    listed = re.search(r"^```\{toctree\}\n(.*?)```", INDEX.read_text("utf-8"), re.M | re.S)
    assert listed is not None
    return [INDEX, *(FOLDER / f"{name}.md" for name in re.findall(r"^[a-z-]+$", listed[1], re.M))]


def text() -> str:
    """Text of all pages."""
    return "\n".join(page.read_text("utf-8") for page in pages())


@cache
def fields() -> frozenset[str]:
    """Names of all fields."""
    schema = json_schema()
    models = schema["$defs"].values()
    names = frozenset(schema["properties"]).union(*(one.get("properties", {}) for one in models))
    return names - _FORMS


def index(page: str) -> str:
    """The index page with its list of fields written anew."""
    before, rest = page.split(_START)
    rows = [row for path in pages() for row in _rows(path)]
    return f"{before}{_START}\n{_HEAD}{''.join(rows)}{_END}{rest.split(_END)[1]}"


def _rows(path: Path) -> Iterator[str]:
    """A row for each section of a page that has fields."""
    title = ""
    written = path.read_text("utf-8").partition("\n## All fields")[0]
    for part in re.split(r"^(?=#+ )", written, flags=re.MULTILINE)[1:]:
        heading = part.partition("\n")[0].lstrip("# ")
        anchor = re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
        link = f"{path.name}#{anchor}" if title else path.name
        label = f"{title}: {heading}" if title and path != INDEX else heading
        title = title or heading
        names = [f"[`{name}`]({link})" for name in _names(part)]
        if names:
            yield f"| [{label}]({link}) | {', '.join(names)} |\n"


def _names(part: str) -> list[str]:
    """Fields of a section in order: of its heading, of its tables, and those in braces."""
    part = re.sub(r"^```yaml\n.*?^```", "", part, flags=re.MULTILINE | re.DOTALL)
    words = re.findall(r"`([\w-]+)`", part.partition("\n")[0])
    for head, rows in re.findall(r"^(\|.*)\n\| ---.*\n((?:\|.*\n)+)", part, re.MULTILINE):
        titles = head.strip("| ").split(" | ")
        for row in rows.splitlines():
            for title, cell in zip(titles, row.strip("| ").split(" | "), strict=False):
                if re.match("field|option|parameter|name|map|disc", title):
                    words += re.findall(r"`([\w-]+)`", cell)
    words += re.findall(r"[{,] ?(\w+)", " ".join(re.findall("`({.*?})`", part)))
    return [word for word in dict.fromkeys(words) if word in fields()]


if __name__ == "__main__":
    INDEX.write_text(index(INDEX.read_text("utf-8")), "utf-8")
