"""Renews the tables of studies/mptcp/README.md and docs/multipath.md: `mptcp_tables.py STUDY GRID`.

STUDY is what `dumbbell study run mptcp --json FILE` writes, GRID what `dumbbell compare
studies/mptcp/grid.yaml --engines sim,linux --json FILE` does. Only what stands between markers is
written.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SIGNS = {
    "reproduced": "✓ reproduced",
    "not reproduced": "✗ not reproduced",
    "within noise": "~ within noise",
    "inconsistent in the source": "! inconsistent",
}

Row = dict[str, Any]


def number(value: float | None, digits: int = 3) -> str:
    """So many digits, without an exponent."""
    if value is None:
        return "–"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text else text


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Markdown."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


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
    return table([*heads, "copies", "loss MPTCP", "loss TCP"], rows)


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


def renew(page: Path, parts: dict[str, list[str]]) -> None:
    """Writes each part between its markers."""
    text = page.read_text(encoding="utf-8")
    for name, lines in parts.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        head, _, rest = text.partition(begin)
        _, _, tail = rest.partition(end)
        text = "\n".join([head + begin, *lines, end + tail])
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Both pages."""
    study, compared = (json.loads(Path(name).read_text()) for name in sys.argv[1:3])
    shared = {
        "coupling": "control",
        "number": "subflows",
        "mptcp_mbps": "MPTCP Mbit/s",
        "tcp_mbps": "TCP Mbit/s",
    }
    balance = {
        "coupling": "control",
        "mptcp_mbps": "MPTCP Mbit/s",
        "light_mbps": "path beside one TCP",
        "heavy_mbps": "path beside four",
        "one_mbps": "the one TCP",
    }
    failure = {
        "scheduling": "scheduler",
        "mptcp_mbps": "MPTCP Mbit/s",
        "first_mbps": "first path",
        "second_mbps": "second path",
    }
    spraying = {"spray": "router", "what": "carried by", "goodput_mbps": "Mbit/s"}
    parts = {
        "claims": claims(study),
        "wired": wired(study),
        "shared": simple(study, "shared", shared),
        "balance": simple(study, "balance", balance),
        "unequal": unequal(study),
        "failure": simple(study, "failure", failure),
        "spraying": simple(study, "spraying", spraying),
    }
    renew(ROOT / "studies" / "mptcp" / "README.md", parts)
    renew(ROOT / "docs" / "multipath.md", {"grid": grid(compared)})


if __name__ == "__main__":
    main()
