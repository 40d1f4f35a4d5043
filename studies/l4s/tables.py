"""Tables of README.md: `dumbbell study tables l4s`.

All parts on the simulator (four minutes), and four parts with two repeats on a kernel with Prague,
where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dumbbell.engines.linux.kernel import kernels
from dumbbell.studies.pages import Made, Runs, as_json, markdown, number, verdict_lines

PAGE = "README.md"
KERNEL = "prague"
KERNEL_REPEATS = 2
PARTS = ("coexistence", "queues", "published", "classic")
Row = dict[str, Any]


def measured(row: Row, column: str) -> str:
    """Measured value of a column."""
    return number(row[f"{column}_measured"])


def coexistence(rows: list[Row]) -> list[str]:
    """Rates and delays beside CUBIC."""
    heads = [
        "rate", "base RTT", "Prague (Mbit/s)", "CUBIC (Mbit/s)", "RTT of Prague (ms)",
        "RTT of CUBIC (ms)",
    ]  # fmt: skip
    columns = ("prague_mbps", "classic_mbps", "prague_rtt_ms", "classic_rtt_ms")
    return markdown(
        heads,
        (
            [row["rate"], row["rtt"], *(measured(row, column) for column in columns)]
            for row in rows
            if row["other"] == "cubic"
        ),
    )


def queues(rows: list[Row]) -> list[str]:
    """Rates and delays of Prague beside CUBIC, by queue."""
    heads = [
        "queue", "Prague (Mbit/s)", "CUBIC (Mbit/s)", "RTT of Prague (ms)", "RTT of CUBIC (ms)"
    ]  # fmt: skip
    columns = ("l4s_mbps", "classic_mbps", "l4s_rtt_ms", "classic_rtt_ms")
    return markdown(
        heads,
        (
            [row["queue"], *(measured(row, column) for column in columns)]
            for row in rows
            if row["cc"] == "prague"
        ),
    )


def between(values: list[float]) -> str:
    """Smallest and largest of several values."""
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def waits(rows: list[Row], column: str, idle: str) -> str:
    """Queueing delays (ms) over all RTTs."""
    return between([row[f"{column}_measured"] - row[f"{idle}_measured"] for row in rows])


def grouped(rows: list[Row], *names: str) -> Iterator[tuple[list[str], list[Row]]]:
    """Rows with the same levels of some factors, in their order."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return ((list(levels), found) for levels, found in groups.items())


def published(rows: list[Row]) -> list[str]:
    """Queueing delays in both queues of DualPI2, and what RFC 9332 section 1.4 prints."""
    heads = [
        "scalable flow", "rate", "L4S queue, mean (ms)", "RFC", "99 % (ms)", "RFC",
        "retransmissions", "RFC", "classic queue, mean (ms)", "99 % (ms)",
    ]  # fmt: skip
    names = {"dctcp": "DCTCP", "prague": "Prague"}
    frames = {"4 Mbit/s": "6.06", "12 Mbit/s": "2.02"}  # two of 1514 bytes
    lines = []
    for (cc, rate), found in grouped(rows, "cc", "rate"):
        lost = between([row["l4s_retransmissions_measured"] for row in found])
        bound = f"≤ {frames.get(rate, '1')}"
        lines.append(
            [
                names[cc], rate, waits(found, "low_ms", "low_idle_ms"), bound,
                waits(found, "low_p99_ms", "low_idle_ms"), "≤ 2", lost, "0",
                waits(found, "normal_ms", "low_idle_ms"),
                waits(found, "normal_p99_ms", "low_idle_ms"),
            ]
        )  # fmt: skip
    return markdown(heads, lines)


def classic(rows: list[Row]) -> list[str]:
    """Queueing delays of queues for classic traffic, and what RFC 9330 section 1 prints."""
    return markdown(
        ["queue", "rate", "mean (ms)", "RFC", "99 % (ms)", "RFC"],
        (
            [
                {"pie": "PIE", "codel": "CoDel"}[queue], rate, waits(found, "mean_ms", "idle_ms"),
                "5 to 20", waits(found, "p99_ms", "idle_ms"), "20 to 30",
            ]
            for (queue, rate), found in grouped(rows, "queue", "rate")
        ),
    )  # fmt: skip


def ratios(rows: list[Row]) -> list[str]:
    """Rate of Prague by that of CUBIC, and the ratio of RFC 9332 appendix C.2, equation 10."""
    rates = ["4 Mbit/s", "12 Mbit/s", "40 Mbit/s", "120 Mbit/s", "200 Mbit/s"]
    lines = []
    for (rtt,), found in grouped([row for row in rows if row["cc"] == "prague"], "rtt"):
        ratio = {
            row["rate"]: number(row["l4s_mbps_measured"] / row["classic_mbps_measured"])
            for row in found
        }
        base_ms = float(rtt.split()[0])
        lines.append(
            [rtt, number((base_ms + 15) / (1.4 * max(base_ms, 25))), *(ratio[one] for one in rates)]
        )
    return markdown(["base RTT", "equation 10", *rates], lines)


def tables(runs: Runs) -> Iterator[Made]:
    """The tables of the page; without the kernel of Prague, its column is empty."""
    ours = as_json(runs.study())
    yield PAGE, "coexistence", coexistence(ours["tables"]["coexistence"])
    yield PAGE, "queues", queues(ours["tables"]["queues"])
    yield PAGE, "published", published(ours["tables"]["published"])
    yield PAGE, "classic", classic(ours["tables"]["classic"])
    yield PAGE, "ratios", ratios(ours["tables"]["published"])
    if runs.allows("linux") and KERNEL in {kernel.name for kernel in kernels()}:
        engine = f"linux:{KERNEL}"
        theirs = as_json(runs.study(engine=engine, parts=PARTS, repeats=KERNEL_REPEATS))
        claims = ours["claims"], theirs["claims"]
        yield PAGE, "verdicts", verdict_lines(*claims, number, few=KERNEL_REPEATS)
