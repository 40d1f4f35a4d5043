"""Tables of the benchmarks on the terminal."""

from __future__ import annotations

from benchmarks.cases import MB, Limit, verdict
from benchmarks.results import Results, Run, ratio

LEAST_UTILISATION = 0.85

#: Title and width. `above`: peak memory above the imports.
COLUMNS = {
    "": 3,
    "engine": 10,
    "access": 8,
    "cpu s": 9,
    "× ours": 9,
    "process s": 10,
    "packets": 10,
    "ns/packet": 10,
    "Mbit/s": 10,
    "peak MB": 8,
    "above": 7,
}
LEFT = ("", "engine", "access")


def line(cells: dict[str, str]) -> str:
    """A line: words at the left of their column, numbers at the right."""
    parts = [
        f"{cells.get(name, ''):{'<' if name in LEFT else '>'}{width}}"
        for name, width in COLUMNS.items()
    ]
    return " ".join(parts).rstrip()


def header() -> str:
    """The first line."""
    return line({name: name for name in COLUMNS})


def row(run: Run, ours: Run) -> str:
    """The line of a run. `ours`: our run of the same scenario and links."""
    return line(
        {
            "": run.case,
            "engine": run.engine,
            "access": "400G" if run.access else "",
            "cpu s": f"{run.cpu_s:.3f}",
            "× ours": "" if run is ours else ratio(run, ours).removesuffix(" ×"),
            "process s": f"{run.process_s:.2f}",
            "packets": str(run.packets),
            "ns/packet": f"{run.per_packet_ns:.0f}",
            "Mbit/s": f"{run.goodput_bps / 1e6:.1f}",
            "peak MB": f"{run.peak_bytes / MB:.0f}",
            "above": "" if run.above_bytes is None else f"{run.above_bytes / MB:.1f}",
        }
    )


def warning(run: Run, rate_bps: float) -> str | None:
    """A warning if the bottleneck was idle or beyond its rate: such a run is cheap or wrong."""
    used = run.goodput_bps / rate_bps
    if LEAST_UTILISATION <= used <= 1 or not run.finished:
        return None
    return (
        f"!!! {run.case}, {run.engine}: goodput is {used:.2f} of the rate, "
        f"not {LEAST_UTILISATION} to 1"
    )


def number(value: float) -> str:
    """A number with three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


def judgement(limit: Limit, value: float) -> str:
    """A limit with what was measured."""
    aim = "" if limit.aim is None else f", aim {limit.aim:g}"
    return (
        f"{limit.case:4}{limit.title:40} {number(value):>7} {limit.unit:3}"
        f" must {limit.must:g}{aim}: {verdict(value, limit)}"
    )


def judgements(results: Results) -> list[str]:
    """All limits with what was measured."""
    return [judgement(limit, value) for limit, value in results.judged()]
