"""Writes which kernel has judged what into `docs/agreement.md` and the README, from the tables that
`dumbbell study tables` renewed: `python -m tests.write_agreement`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONTROLS = ROOT / "docs" / "congestion-controls.md"
DISCIPLINES = ROOT / "docs" / "disciplines.md"
#: Block of `docs/congestion-controls.md` → kernel of its measurement.
KERNELS = {
    "medians": "6.12.117",
    "medians-random": "6.12.117",
    "medians-bbr3": "6.12.117 with a patch",
    "medians-prague": "7.3.4 with a patch",
}
#: Disciplines that another kernel than 6.12 has judged, by the beginning of their name.
LATER = {"dualpi2": "7.3.4"}
PAGES = (ROOT / "docs" / "agreement.md", ROOT / "README.md")


@dataclass(frozen=True)
class Row:
    """A row of a table by its heads."""

    kernel: str
    cells: dict[str, str]

    def __getitem__(self, head: str) -> str:
        return self.cells[head]


def block(text: str, name: str) -> str:
    """Text between the marks of a block."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end {name} -->", text, re.DOTALL)
    assert found is not None, name
    return found[1]


def rows(text: str, kernel: str) -> list[Row]:
    """Rows of a table of markdown, without that of all."""
    lines = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in text.splitlines()]
    heads, _, *body = [line for line in lines if len(line) > 1]
    return [
        Row(kernel, dict(zip(heads, line, strict=True)))
        for line in body
        if not line[0].startswith("**")
    ]


def controls() -> list[Row]:
    """Congestion controls."""
    text = CONTROLS.read_text(encoding="utf-8")
    return [row for name, kernel in KERNELS.items() for row in rows(block(text, name), kernel)]


def disciplines() -> list[Row]:
    """Queue disciplines."""
    found = rows(block(DISCIPLINES.read_text(encoding="utf-8"), "medians"), "6.12.117")
    return [
        Row(next((kernel for name, kernel in LATER.items() if row["discipline"].startswith(name)),
                 row.kernel), row.cells)
        for row in found
    ]  # fmt: skip


def _median(cell: str) -> str:
    """The median of `median / 90 % (cells)`."""
    return cell.partition("/")[0].partition("(")[0].strip().removesuffix("%").strip() + " %"


def _table(heads: tuple[str, ...], body: list[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def of_controls() -> str:
    """Table of congestion controls."""
    heads = ("congestion control", "kernel", "goodput", "mean RTT", "retransmissions", "close")
    return _table(
        heads,
        [
            (
                row["algorithm"],
                row.kernel,
                *(_median(row[head]) for head in heads[2:5]),
                row["close"],
            )
            for row in controls()
        ],
    )


def of_disciplines() -> str:
    """Table of queue disciplines."""
    heads = ("discipline", "kernel", "delay", "drops and marks", "throughput", "apart")
    return _table(
        heads,
        [
            (
                row["discipline"],
                row.kernel,
                *(_median(row[head]) for head in heads[2:5]),
                row["apart"],
            )
            for row in disciplines()
        ],
    )


#: Statements of sources, of what no kernel has. Block `alone` has the measurements.
STATEMENTS = {
    "LEDBAT++": "draft-irtf-iccrg-ledbat-plus-plus §4: delay of 60 ms, slowdowns cost a tenth",
    "Copa": "Arun and Balakrishnan 2018, §3: mean queue of 2.5 packets",
}
#: Laws that `crates/sim/tests/coupled.rs` checks.
LAWS = (
    ("LIA, OLIA, BALIA", "RFC 6356 §2: no less than the best path", "0.8 of it or more"),
    ("", "RFC 6356 §2: no harm to TCP at a shared bottleneck", "TCP has 0.8 of half or more"),
    ("", "RFC 6356 §2: traffic moves off the more congested path", "more than uncoupled, each"),
    (
        "wVegas",
        "Cao et al. 2012: ten packets queued in all",
        "1 to 20 packets per path, 0.95 of each",
    ),
)


def _middle(cells: list[str]) -> str:
    """The median of numbers with units, one of the cells."""
    return sorted(cells, key=lambda cell: float(cell.split()[0]))[len(cells) // 2]


def of_sources() -> str:
    """Table of what no kernel has, beside the statements of its sources."""
    alone = [
        row
        for row in rows(block(CONTROLS.read_text(encoding="utf-8"), "alone"), "")
        if row["receiver"] == "ACK per packet"
    ]
    body = []
    for name, statement in STATEMENTS.items():
        mine = [row for row in alone if row["algorithm"] == name]
        column = "mean queueing delay" if name == "LEDBAT++" else "mean queue (95th percentile)"
        queue = _middle([row[column].partition(" (")[0] for row in mine])
        used = _middle([row["utilisation"] for row in mine])
        unit = "" if name == "LEDBAT++" else " packets"
        body.append((name, statement, f"{queue}{unit}, utilisation {used} ({len(mine)} lines)"))
    heads = ("algorithm", "statement", "here (median, or bound of a test)")
    return _table(heads, [*body, *LAWS])


def renewed(page: str) -> str:
    """A page with its blocks written anew."""
    for name, made in (
        ("by congestion control", of_controls()),
        ("by discipline", of_disciplines()),
        ("by source", of_sources()),
    ):
        begin, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
        if begin in page:
            before, _, rest = page.partition(begin)
            page = before + begin + made + end + rest.partition(end)[2]
    return page


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
