"""Writes the generated parts of `docs/models`: `python -m tests.write_model_pages [--check]`.

A page is written by hand but for three blocks: its parameters and what the catalogue knows, from
`crates/model/src/catalogue`; its agreement, from the tables that `dumbbell study tables` renews;
its figure, from `docs/models/data` (`python -m tests.model_figures` measures and draws).
"""

from __future__ import annotations

import re
import sys

from dumbbell.catalogue import (
    CongestionControl,
    Discipline,
    congestion_controls,
    disciplines,
    impairments,
    traffic_kinds,
)
from tests.catalogue_pages import impairment_row, kind_parameters, option_rows
from tests.helpers import ROOT
from tests.model_figures import Picture, pictures
from tests.model_pages import FOLDER, Page, groups, pages
from tests.write_agreement import block, controls
from tests.write_agreement import disciplines as compared_disciplines
from tests.write_catalogue_page import parameter_row

INDEX = FOLDER / "index.md"
_DOCS = ROOT / "docs"
_INDEX_HEAD = """\
# Models

Each page describes one model of the simulator: what it models, its source, its limits, its
parameters, and how closely it agrees with the Linux kernel. Parameters and agreement are generated
from the catalogue and from the tables of measurements, so they are never older than these. A figure
shows one run of each engine. Its values are in `docs/models/data`; `python -m tests.model_figures
NAME` measures them again on both engines.

<!-- Written by `python -m tests.write_model_pages`. -->
"""
#: Lets the site (Sphinx) find the pages.
_INDEX_TREE = """
```{toctree}
:hidden:
:glob:

*
```
"""
_NO_OPTIONS = "It has no parameters. The [options of TCP](tcp-sender.md#parameters) apply.\n"
_QUEUE_HEAD = "| field | | values | default |\n| --- | --- | --- | --- |\n"
_IMPAIRMENT_HEAD = """\
| field | | parameters | Linux | source |
| --- | --- | --- | --- | --- |
"""
#: Pages with blocks of other pages: page → (name of the file, block, what it is).
_BORROWED = {
    "tcp-sender": [("profiles.md", "releases", "Single flows, per profile and kernel")],
    "loss-recovery": [("agreement.md", "quantities", "Study 1, by quantity, over all flows")],
    "tcp-receiver": [("agreement.md", "quantities", "Study 1, by quantity, over all flows")],
    "multipath-tcp": [("multipath.md", "grid", "Goodput of a connection beside the kernel")],
    "access-links": [("access-links.md", "published", "Idle links beside published numbers")],
    "routing": [("agreement.md", "result", "Study 1, packets sprayed over two paths")],
    "captures": [("captures.md", "accuracy", "Labels beside the truth, and tshark's")],
    "arrivals": [("model-agreement.md", "arrivals", "Beside Linux 6.12.117")],
    "duplication": [("model-agreement.md", "duplication", "Beside Linux 6.12.117")],
    "ecn": [("model-agreement.md", "ecn", "Beside Linux 6.12.117")],
    "fragments": [("model-agreement.md", "fragments", "Beside Linux 6.12.117")],
    "jitter-and-reordering": [("model-agreement.md", "jitter", "Beside Linux 6.12.117")],
    "links": [("model-agreement.md", "links", "Beside Linux 6.12.117")],
    "loss": [("model-agreement.md", "loss", "Beside Linux 6.12.117")],
    "neighbours": [("model-agreement.md", "neighbours", "Beside Linux 6.12.117")],
    "rate-traces": [("model-agreement.md", "rate-traces", "Beside Linux 6.12.117")],
    "rewriting": [("model-agreement.md", "rewriting", "Beside Linux 6.12.117")],
    "slots": [("model-agreement.md", "slots", "Beside Linux 6.12.117")],
    "tcp-applications": [
        ("model-agreement.md", "tcp-applications", "Beside Linux 6.12.117"),
        ("model-agreement.md", "slow-reader", "A slow reader, beside Linux 6.12.117"),
    ],
    "video": [("model-agreement.md", "video", "Beside Linux 6.12.117")],
    "quic": [("model-agreement.md", "quic", "Beside Linux 6.12.117")],
    "voice": [("model-agreement.md", "voice", "Beside Linux 6.12.117")],
    "web-pages": [("model-agreement.md", "web-pages", "Beside Linux 6.12.117")],
    "ping": [
        ("model-agreement.md", "ping", "Beside Linux 6.12.117"),
        ("access-links.md", "published", "Idle links beside published numbers"),
    ],
    "udp": [("model-agreement.md", "udp", "Beside Linux 6.12.117")],
    "schedulers": [("multipath.md", "grid", "Goodput with `default` beside the kernel")],
    "virtual-time": [("agreement.md", "engine", "Rebuilt kernel beside study 1's kernel")],
}  # fmt: skip

#: Pages without a table of measurements: what their agreement says.
_WITHOUT_TABLE = {
    "ack-aggregation": "The packets are the same as on the kernel until some microseconds decide "
    "on a batch.\n",
    "netem": "The packets are the same as on the kernel, as the table below shows.\n",
    "smoltcp": "No kernel has it, so there is nothing to compare with.\n",
}

#: Congestion controls whose course random numbers decide.
_RANDOM = {"nv", "cdg", "lp"}


def facts(page: Page) -> str:
    """Names and engines of a page's entry, from the catalogue."""
    (name,) = page.names
    one = congestion_controls().get(name) or disciplines()[name]
    text = f"- Name in experiment files: `{name}`.\n"
    if one.linux is None:
        reason = one.not_in_linux if isinstance(one, Discipline) else ""
        return text + f"- Engines: `sim`. No kernel has it. {reason}".rstrip() + "\n"
    option = f"`CONFIG_{one.linux.option}`" if one.linux.option else "always built in"
    since = f", since Linux {one.linux.since}" if one.linux.since else ", by a patch"
    return text + f"- Engines: `sim`, `linux`, `netns`. Kernel: {option}{since}.\n"


def parameters(page: Page) -> str:
    """Parameters of a page's entries, from the catalogue."""
    text = ""
    if page.options:
        text += option_rows(page.options)
    for name in page.names:
        if name in disciplines():
            text += _discipline(disciplines()[name])
    found = [impairments()[name] for name in page.names if name in impairments()]
    if found:
        text += _IMPAIRMENT_HEAD + "".join(map(impairment_row, found))
    kinds = [traffic_kinds()[name] for name in page.names if name in traffic_kinds()]
    text += "".join(kind_parameters(one) for one in kinds if one.parameters)
    if not text and page.names and page.names[0] in congestion_controls():
        return _NO_OPTIONS
    return text


def _discipline(one: Discipline) -> str:
    if not one.parameters:
        link = "../experiment-file/queue-disciplines.md"
        return f"Its classes: [queue disciplines]({link}).\n"
    return _QUEUE_HEAD + "".join(parameter_row(each) for each in one.parameters)


def figure(page: Page) -> str:
    """The picture of a page's entry."""
    one = pictures()[page.names[0]]
    if one.is_queue:
        line = "1 s apart, over 10 Mbit/s and 40 ms"
        text = f"Queueing delay of {page.title} under two CUBIC flows {line}"
    elif congestion_controls()[one.name].coupled:
        text = f"Windows of two subflows with {page.title}, over 20 and 10 Mbit/s, each 40 ms"
    else:
        queue = {"dctcp": "CoDel with `ce_threshold` 2 ms", "prague": "DualPI2"}
        buffer = queue.get(one.name, "66 packets of buffer (1 BDP)")
        text = f"Congestion window of {page.title} over 20 Mbit/s, 40 ms and {buffer}"
    caption = f"{text}. {_remark(one)}".rstrip()
    return f"![{text.replace('`', '')}](images/{one.image.name})\n\n{caption}\n"


def _remark(one: Picture) -> str:
    """What a reader of a figure must know besides."""
    if one.kernel and ",Linux" not in one.data.read_text(encoding="utf-8").replace("\n", ","):
        return "The simulator alone: the figure was drawn where no such kernel was built."
    if one.name in _RANDOM:
        return "One run of each engine: random numbers decide their course."
    return ""


def agreement(page: Page) -> str:
    """Agreement with the kernel, from the tables of measurements."""
    text = "\n".join(_borrowed(*each) for each in _BORROWED.get(page.name, []))
    text += _WITHOUT_TABLE.get(page.name, "")
    if page.name == "token-buckets":
        text += _of_discipline("tbf")
    for name in page.names:
        if name in congestion_controls():
            text += _of_control(congestion_controls()[name])
        elif name in disciplines():
            text += _of_discipline(name)
    return text


def _borrowed(file: str, name: str, what: str) -> str:
    table = block((_DOCS / file).read_text(encoding="utf-8"), name)
    about = f"{what} ([{file}](../{file})):\n\n" if what else f"From [{file}](../{file}):\n\n"
    return about + _linked(table)


def _linked(text: str) -> str:
    """A text of `docs` with its relative links as `docs/models` needs them."""
    return re.sub(r"\]\((?!https?:|#)", "](../", text)


def _rows(text: str, name: str, first: str) -> tuple[str, list[str]]:
    """Head of a table, and its rows whose first cell is a name."""
    lines = [line for line in block(text, name).splitlines() if line.startswith("|")]
    return "\n".join(lines[:2]) + "\n", [
        line for line in lines[2:] if line.strip("|").split("|")[0].strip() == first
    ]


def _of_control(one: CongestionControl) -> str:
    page = _DOCS / "congestion-controls.md"
    text = page.read_text(encoding="utf-8")
    if one.linux is None and one.coupled:
        return "No kernel has it, so there is nothing to compare with.\n"
    if one.linux is None:
        link = "[congestion-controls.md](../congestion-controls.md#without-a-kernel)"
        made = f"No kernel has it. What its source promises, from {link}:\n"
        for name in ("alone", "shares"):
            head, rows = _rows(text, name, one.title)
            made += "\n" + head + "".join(f"{row}\n" for row in rows)
        return made
    (row,) = [row for row in controls() if row["algorithm"] == one.title]
    cells = {head: cell for head, cell in row.cells.items() if cell and head != "algorithm"}
    made = (
        f"Beside Linux {row.kernel}: median and 90th percentile of the difference over the cells "
        "([method](../congestion-controls.md#method)):\n\n"
        f"| {' | '.join(cells)} |\n|{' --- |' * len(cells)}\n| {' | '.join(cells.values())} |\n"
    )
    apart = []
    head = ""
    for name in re.findall(r"<!-- (apart[\w-]*) -->", text):
        head, rows = _rows(text, name, one.title)
        apart += rows
    if not apart:
        return made + "\nEvery quantity is close.\n"
    return made + "\nNot close:\n\n" + head + "".join(f"{row}\n" for row in apart)


def _of_discipline(name: str) -> str:
    text = (_DOCS / "disciplines.md").read_text(encoding="utf-8")
    rows = [row for row in compared_disciplines() if row["discipline"].split(",")[0] == name]
    if not rows:
        return "It was not compared with a kernel.\n"
    heads = list(rows[0].cells)
    made = (
        f"Beside Linux {rows[0].kernel}: median of the difference over the cells "
        "([method](../disciplines.md#method)):\n\n"
        f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}\n"
        + "".join(f"| {' | '.join(row.cells.values())} |\n" for row in rows)
    )
    found = [_rows(text, "apart", row["discipline"]) for row in rows]
    apart = [row for _, each in found for row in each]
    if not apart:
        return made + "\nNo quantity is apart.\n"
    return made + "\nApart:\n\n" + found[0][0] + "".join(f"{row}\n" for row in apart)


_MADE = {"facts": facts, "parameters": parameters, "agreement": agreement, "figure": figure}


def renewed(page: Page, text: str) -> str:
    """A page with its blocks written anew."""
    for name, made in _MADE.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
        if begin in text:
            before, _, rest = text.partition(begin)
            text = before + begin + made(page) + end + rest.partition(end)[2]
    return text


def index() -> str:
    """The page that lists all."""
    text = _INDEX_HEAD
    for title, found in groups().items():
        text += f"\n## {title}\n\n"
        text += "".join(f"- [{one.title}]({one.name}.md)\n" for one in found)
    return text + _INDEX_TREE


def main() -> None:
    """Writes all pages; with `--check` names those that are old and fails."""
    made = {INDEX: index()}
    for page in pages():
        if page.path.is_file():
            made[page.path] = renewed(page, page.path.read_text(encoding="utf-8"))
        else:
            sys.stderr.write(f"missing: {page.path.relative_to(ROOT)}\n")
    old = [
        path for path, text in made.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]  # fmt: skip
    if "--check" in sys.argv[1:]:
        if old:
            sys.exit(f"old, write anew: {', '.join(str(path.relative_to(ROOT)) for path in old)}")
        return
    for path in old:
        path.write_text(made[path], encoding="utf-8")


if __name__ == "__main__":
    main()
