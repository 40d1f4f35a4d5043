"""Writes `docs/catalogue.md`, and tables of `docs/experiment-file`, from the catalogue:
`python -m tests.write_catalogue_page`."""

from __future__ import annotations

import re
from pathlib import Path

from dumbbell.catalogue import (
    Discipline,
    InLinux,
    Parameter,
    congestion_controls,
    disciplines,
    traffic_kinds,
)
from tests.catalogue_pages import further_sections, kind_parameters, option_rows
from tests.model_pages import link

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "catalogue.md"
#: Pages of the experiment file with tables from the catalogue.
FILE_PAGES = [
    DOCS / "experiment-file" / f"{name}.md"
    for name in ("queue-disciplines", "flows", "tcp-options")
]
_BLOCK = re.compile(r"<!-- (parameters|options|kind)( .*?)? -->\n.*?<!-- end \1 -->", re.DOTALL)
_HEAD = """\
# Catalogue

All names that an experiment file can use, with their source:
[congestion controls](#congestion-controls), [queue disciplines](#queue-disciplines),
[impairments](#impairments-of-links),
[kinds of traffic](#kinds-of-traffic), [TCP options](#tcp-options). A name leads to the page of its
[model](models/index.md): limits, agreement, known differences. `dumbbell kernel test` tries every
name that a kernel has.

<!-- Written by `python -m tests.write_catalogue_page` from crates/model/src/catalogue. -->

## Congestion controls

A flow names one: `tcp: cubic`. `lia`, `olia`, `balia` and `wvegas` couple the subflows of a
Multipath TCP connection: they stand in `mptcp`, not in `tcp`.

| name | | engines | kernel option, first release | source |
| --- | --- | --- | --- | --- |
"""
_DISCIPLINES = """
## Queue disciplines

A link names one in `queue`; its fields: [Queue disciplines](experiment-file/queue-disciplines.md).
*Signals* means that it drops a packet, or marks it if ECN is on and the packet is ECN-capable.

| name | | engines | kernel option, first release | source |
| --- | --- | --- | --- | --- |
"""
_PARAMETERS = """\
| discipline | field | | values | default |
| --- | --- | --- | --- | --- |
"""


def markdown() -> str:
    """The page."""
    rows = []
    for one in congestion_controls().values():
        rows.append(_row(one.name, f"{one.title}. {one.about}", one.linux, one.source))
    rows.append(_DISCIPLINES)
    for queue in disciplines().values():
        about = " ".join((f"{queue.title}. {queue.about}", queue.not_in_linux)).strip()
        rows.append(_row(queue.name, about, queue.linux, queue.source))
    return "".join([_HEAD, *rows, further_sections()])


def _row(name: str, about: str, linux: InLinux | None, source: str) -> str:
    engines, kernel = "sim", "–"
    if linux is not None:
        engines = "sim, linux, netns"
        option = f"`CONFIG_{linux.option}`" if linux.option else "always"
        kernel = f"{option}, {linux.since or 'a patch'}"
    return f"| {link(name)} | {about} | {engines} | {kernel} | {source} |\n"


def file_page(page: str) -> str:
    """A page on experiment files with its tables written anew."""
    return _BLOCK.sub(_block, page)


def _block(found: re.Match[str]) -> str:
    what, names = found[1], (found[2] or "").split()
    if what == "options":
        table = option_rows(names)
    elif what == "kind":
        table = "".join(kind_parameters(traffic_kinds()[name]) for name in names)
    else:
        queues = disciplines().values()
        rows = [_parameter(entry, one) for entry in queues for one in entry.parameters]
        table = _PARAMETERS + "".join(rows)
    return f"<!-- {what}{found[2] or ''} -->\n{table}<!-- end {what} -->"


def _parameter(entry: Discipline, one: Parameter) -> str:
    first = f"`{entry.name}`" if one is entry.parameters[0] else ""
    return f"| {first} {parameter_row(one)}"


def parameter_row(one: Parameter) -> str:
    """Row of a parameter of a queue discipline."""
    default = one.rule
    if one.default is not None:
        default = f"`{_shown(one, one.default)}`"
    return f"| `{one.name}` | {one.about} | {_values(one)} | {default} |\n"


def _shown(one: Parameter, value: float) -> str:
    """A value as experiment files have it."""
    if one.unit == "flag":
        return str(bool(value)).lower()
    if one.unit == "time":
        return f"{value / 1e6:g} ms" if value < 1e9 else f"{value / 1e9:g} s"
    if one.unit == "share":
        return f"{100 * value:g} %"
    units = {"packets": " packets", "bytes": " bytes", "quantum": " bytes", "signed": " bytes"}
    unit = units.get(one.unit, "")
    return f"{value}{unit}"


def _values(one: Parameter) -> str:
    """The range in words."""
    if one.unit == "flag":
        return "true, false"
    if one.unit == "share":
        return "a share"
    if one.unit == "choice":
        return ", ".join(f"`{name}`" for name in one.choices)
    if one.unit == "rate":
        return "a rate"
    if one.unit == "signed":
        return f"bytes, also below 0; at most {_shown(one, one.most)}"
    most = _shown(one, one.most)
    if one.most < 2**63:
        if one.unit == "time" and one.least == 1:
            return f"above 0, at most {most}"
        least = one.least if one.unit == "packets" else _shown(one, one.least)
        return f"{least} to {most}"
    return f"{one.unit} above 0"


def main() -> None:
    """Writes the pages."""
    PAGE.write_text(markdown(), encoding="utf-8")
    for page in FILE_PAGES:
        page.write_text(file_page(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
