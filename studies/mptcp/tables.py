"""Tables of README.md and docs/multipath.md: `dumbbell study tables mptcp`.

All parts on the simulator (three minutes), and `grid.yaml` on both engines.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from dumbbell.studies.pages import SIGNS, Made, Runs, as_json
from dumbbell.studies.pages import markdown as table

PAGE = "README.md"

Row = dict[str, Any]


def number(value: float | None, digits: int = 3) -> str:
    """So many digits, without an exponent."""
    if value is None:
        return "–"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text else text


def claims(study: dict[str, Any]) -> list[str]:
    """Every claim with its verdict and the case that decides."""
    rows = []
    for claim in study["claims"]:
        ends = [claim["low"], claim["high"]]
        around = f" [{number(ends[0])}, {number(ends[1])}]" if None not in ends else ""
        published = claim["published"]
        told = number(published, 4) if isinstance(published, (int, float)) else "–"
        rows.append(
            [
                claim["id"],
                claim["text"],
                SIGNS[claim["verdict"]],
                number(claim["measured"]) + around,
                told,
            ]
        )
    return table(["claim", "what", "verdict", "decided by (95 %)", "published"], rows)


def wired(study: dict[str, Any]) -> list[str]:
    """What arrives at the first routers and what is delivered, at 25 ms."""
    rows = []
    for row in study["tables"]["wired"]:
        if row["delay"] != "25 ms":
            continue
        arrives = row["path1_kbytes_per_s_measured"] + row["path2_kbytes_per_s_measured"]
        rows.append(
            [
                row["scheduling"],
                row["coupling"],
                number(arrives),
                number(row["tcp1_kbytes_per_s_measured"]),
                number(row["mptcp_goodput_mbps_measured"]),
                number(row["tcp1_goodput_mbps_measured"]),
                f"{100 * row['copies_measured']:.0f} %",
                f"{100 * row['mptcp_loss_measured']:.2f} %",
                f"{100 * row['tcp1_loss_measured']:.2f} %",
            ]
        )
    heads = ["scheduler", "control", "MPTCP kB/s", "TCP kB/s", "MPTCP Mbit/s", "TCP Mbit/s"]
    return table([*heads, "duplicate bytes", "loss MPTCP", "loss TCP"], rows)


def unequal(study: dict[str, Any]) -> list[str]:
    """Goodput by scheduler over unequal paths."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    for row in study["tables"]["unequal"]:
        cell = (row["buffer"], row["rmem"])
        found.setdefault(row["scheduling"], {})[cell] = row["mptcp_mbps_measured"]
    cells = list(next(iter(found.values())))
    heads = ["scheduler", *(f"{buffer}, {rmem}" for buffer, rmem in cells)]
    rows = [[name, *(number(values[cell]) for cell in cells)] for name, values in found.items()]
    return table(heads, rows)


def simple(study: dict[str, Any], name: str, columns: dict[str, str]) -> list[str]:
    """A table of the study as it is."""
    rows = []
    for row in study["tables"][name]:
        cells = [row.get(f"{column}_measured", row.get(column)) for column in columns]
        rows.append([cell if isinstance(cell, str) else number(cell) for cell in cells])
    return table(list(columns.values()), rows)


def grid(compared: dict[str, Any]) -> list[str]:
    """Goodput of the simulator over the kernel's, by cell."""
    own = [
        row for row in compared["rows"] if row["flow"] == "m" and row["quantity"] == "goodput_mbps"
    ]
    buffers = list(dict.fromkeys(row["buffer"] for row in own))
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in own:
        found.setdefault((row["rate"], row["delay"]), {})[row["buffer"]] = row["relative"]
    rows = [
        [rate, delay, *(f"{100 * cells[buffer]:+.1f} %" for buffer in buffers)]
        for (rate, delay), cells in found.items()
    ]
    off = [abs(row["relative"]) for row in own]
    near = sum(one <= 0.05 for one in off)
    text = (
        f"{len(own)} cells: median of the differences {100 * statistics.median(off):.1f} %, "
        f"{near} within 5 %."
    )
    return [*table(["second path", "one way", *buffers], rows), "", text]


#: Parts whose tables stand as the study has them: column → heading.
SIMPLE = {
    "shared": {
        "coupling": "control",
        "number": "subflows",
        "mptcp_mbps": "MPTCP Mbit/s",
        "tcp_mbps": "TCP Mbit/s",
    },
    "balance": {
        "coupling": "control",
        "mptcp_mbps": "MPTCP Mbit/s",
        "light_mbps": "path beside one TCP",
        "heavy_mbps": "path beside four",
        "one_mbps": "the one TCP",
    },
    "failure": {
        "scheduling": "scheduler",
        "mptcp_mbps": "MPTCP Mbit/s",
        "first_mbps": "first path",
        "second_mbps": "second path",
    },
    "spraying": {"spray": "router", "what": "carried by", "goodput_mbps": "Mbit/s"},
}


def tables(runs: Runs) -> Iterator[Made]:
    """All tables of both pages."""
    study = as_json(runs.study())
    yield PAGE, "claims", claims(study)
    yield PAGE, "wired", wired(study)
    yield PAGE, "unequal", unequal(study)
    for name, columns in SIMPLE.items():
        yield PAGE, name, simple(study, name, columns)
    if runs.allows("linux"):
        compared = as_json(runs.compared("grid.yaml"))
        yield "../../docs/multipath.md", "grid", grid(compared)
