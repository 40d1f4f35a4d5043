"""Columns that each format fills, in docs/import.md: `python -m tests.measured.write_columns`."""

from __future__ import annotations

import re

from dumbbell.measured.formats import FORMATS
from dumbbell.measured.values import TABLES
from tests.helpers import ROOT
from tests.measured.reports import encoded, udp
from tests.measured.samples import SAMPLES

PAGE = ROOT / "docs" / "import.md"
#: Beside a sample of each format: what only another file of it has.
MORE = {"iperf3": [encoded(udp(1000, 50, 5))]}
_ALL = ("flow", "kind", "start_ns", "established_ns", "end_ns", "time_ns")
_PLACE = re.compile(r"(?<=<!-- columns -->\n).*(?=<!-- end columns -->)", re.DOTALL)


def table() -> str:
    """Rows of Markdown: format, and the columns of each table that its samples fill."""
    lines = ["| `--as` | table | columns |", "| --- | --- | --- |"]
    for name, one in FORMATS.items():
        if name == "csv":
            continue
        files = [one.read(data) for data in (SAMPLES[name], *MORE.get(name, []))]
        for part in TABLES:
            rows = [row for found in files for row in getattr(found, part)]
            columns = sorted({key for row in rows for key in row} - {*_ALL})
            if rows:
                words = ", ".join(f"`{key}`" for key in columns)
                lines.append(f"| `{name}` | `{part}` | {words} |")
    return "\n".join(lines) + "\n"


def written() -> str:
    """The table that the page has."""
    found = _PLACE.search(PAGE.read_text(encoding="utf-8"))
    return found[0] if found else ""


if __name__ == "__main__":
    PAGE.write_text(_PLACE.sub(lambda _: table(), PAGE.read_text(encoding="utf-8")), "utf-8")
