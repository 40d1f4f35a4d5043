"""Tables of README.md and docs/performance.md, made from `results.json`: `benchmarks/pages.py`.

Words around the tables are written by hand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.cases import CASES, KB, MB, RESULTS, ROOT, verdict
from benchmarks.results import OURS, Results, Run, load, ratio
from benchmarks.table import number
from dumbbell.studies.pages import markdown, renewed

PERFORMANCE = ROOT / "docs" / "performance.md"
README = ROOT / "README.md"
#: Page, marker, lines.
Made = tuple[Path, str, list[str]]


def tables(results: Results) -> Iterator[Made]:
    """All tables."""
    yield PERFORMANCE, "scenarios", scenarios()
    yield PERFORMANCE, "machine", [machine(results)]
    yield PERFORMANCE, "limits", limits(results)
    yield PERFORMANCE, "runs", runs(results)
    yield PERFORMANCE, "peers", peers(results)
    yield PERFORMANCE, "instructions", instructions(results)
    yield PERFORMANCE, "growth", growth(results)
    yield PERFORMANCE, "speed", speed(results)


def scenarios() -> list[str]:
    """Names and words of the scenarios."""
    return markdown(["", "scenario"], [[case.name, case.title] for case in CASES])


def machine(results: Results) -> str:
    """A sentence about the machine."""
    found = results.sections["machine"]
    return f"Measured on: {found['processor']}, {found['cores']} cores, {found['system']}."


def limits(results: Results) -> list[str]:
    """What must be, should be, and was measured."""
    rows = []
    for limit, value in results.judged():
        title = limit.title if len(limit.case) > 1 else f"{limit.case}: {limit.title}"
        aim = "" if limit.aim is None else f"{limit.aim:g} {limit.unit}"
        said = verdict(value, limit)
        rows.append(
            [
                title,
                f"{limit.must:g} {limit.unit}",
                aim,
                f"{number(value)} {limit.unit}",
                f"**{said.lower()}**" if "MISSED" in said else said,
            ]
        )
    return markdown(["quantity", "must", "aim", "measured", "verdict"], rows)


def runs(results: Results) -> list[str]:
    """Our runs of scenarios."""
    rows = []
    for case in CASES:
        run = results.run(case.name)
        if run is None:
            continue
        above = "" if run.above_bytes is None else f"{run.above_bytes / MB:.0f} MB"
        rows.append(
            [
                case.name,
                seconds(run.cpu_s),
                seconds(run.process_s),
                f"{run.packets / 1e6:.2f} M",
                f"{run.per_packet_ns:.0f} ns",
                rate(run.goodput_bps),
                f"{run.peak_bytes / MB:.0f} MB",
                above,
            ]
        )
    titles = ["", "processor time", "whole process", "packets", "cost of a packet"]
    return markdown([*titles, "goodput", "memory", "above imports"], rows)


def peers(results: Results) -> list[str]:
    """Ours and peers, with and without access links."""
    names = list(results.sections.get("peers", {}))
    rows = []
    for case in CASES:
        for access in (False, True):
            ours = results.run(case.name, access=access)
            others = [results.run(case.name, name, access=access) for name in names]
            if ours is None or not any(others):
                continue
            rows.append(
                [case.name + (", access links" if access else ""), cell(ours)]
                + ["–" if other is None else cell(other, ours) for other in others]
            )
    return markdown(["", OURS, *names], rows)


def cell(run: Run, ours: Run | None = None) -> str:
    """A run in the table of peers."""
    times = "" if ours is None else f" (**{ratio(run, ours)}**)"
    if not run.finished:
        return f"stopped after {seconds(run.cpu_s)}{times}"
    return f"{seconds(run.cpu_s)}{times}, {rate(run.goodput_bps)}, {run.peak_bytes / MB:.0f} MB"


def instructions(results: Results) -> list[str]:
    """Instructions and cache misses per data packet."""
    rows = [
        [
            name,
            f"{counts['instructions']:.0f}",
            f"{counts['i1_misses']:.0f}",
            f"{counts['d1_misses']:.0f}",
            f"{counts['l2_misses']:.1f}",
        ]
        for name, counts in results.sections.get("instructions", {}).items()
    ]
    titles = ["", "instructions", "misses, first level, code", "misses, first level, data"]
    return markdown([*titles, "misses, second level"], rows)


def growth(results: Results) -> list[str]:
    """Cost of a packet and memory of a flow against the number of flows."""
    rows = [
        [
            f"{point['flows']:,}".replace(",", " "),
            f"{point['simulated_s']:g} s",
            f"{point['packets'] / 1e6:.2f} M",
            f"{point['per_packet_ns']:.0f} ns",
            f"{point['flow_bytes'] / KB:.1f} KB" if "flow_bytes" in point else "",
        ]
        for point in results.sections.get("growth", [])
    ]
    titles = ["flows", "simulated", "packets", "processor time per packet", "memory per flow"]
    return markdown(titles, rows)


def speed(results: Results) -> list[str]:
    """The short table of the README."""
    names = list(results.sections.get("peers", {}))
    rows = []
    for case in CASES:
        ours = results.run(case.name)
        if ours is None or case.network is None:
            continue
        others = [results.run(case.name, name) for name in names]
        rows.append(
            [case.title, seconds(ours.cpu_s)]
            + ["–" if other is None else ratio(other, ours) for other in others]
        )
    return markdown(["scenario", "processor time", *names], rows)


def seconds(value: float) -> str:
    """A time."""
    return f"{number(value)} s"


def rate(bps: float) -> str:
    """A rate."""
    return f"{bps / 1e9:.2f} Gbit/s" if bps >= 1e9 else f"{number(bps / 1e6)} Mbit/s"


def stale(results: Results, *, write: bool) -> list[str]:
    """Markers whose tables do not hold what the results say; with `write` they are renewed."""
    found = []
    for page, marker, lines in tables(results):
        before = page.read_text(encoding="utf-8")
        after = renewed(before, marker, lines, str(page))
        if after != before:
            found.append(f"{page.name}: {marker}")
            if write:
                page.write_text(after, encoding="utf-8")
    return found


def main() -> None:
    """Renews the pages, or only compares them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of results")
    options = parser.parse_args()
    found = stale(load(options.results), write=not options.check)
    for name in found:
        print(f"{name}: {'stale' if options.check else 'renewed'}")
    if options.check and found:
        sys.exit("run benchmarks/pages.py")


if __name__ == "__main__":
    main()
