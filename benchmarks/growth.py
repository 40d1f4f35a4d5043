"""Cost of a packet and memory of a flow, from 1 to 10⁵ flows: `benchmarks/growth.py`.

The rate of the line grows with the flows, so that each has the same share. The simulated time
shrinks, so that the packets stay the same, but not below a second. Writes a section of
`results.json` and the figure of docs/performance.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import altair as alt

from benchmarks.cases import RESULTS, ROOT
from benchmarks.measure import child
from benchmarks.results import write
from dumbbell.experiment import load
from dumbbell.figures.figure import Figure, as_spec

FIGURE = ROOT / "docs" / "images" / "growth.svg"
FLOWS = [1, 10, 100, 1_000, 10_000, 100_000]
#: The same hosts for all, so that a difference is that of flows.
PAIRS = 100
SHARE_BPS = 4_000_000
PACKET_BYTES = 1514
PACKETS = 2_000_000
LEAST_S = 1.0
#: Memory is resolved from so many flows.
RESOLVED = 100
#: Differences between these numbers of flows.
FEW, MANY = 1_000, 10_000

LOADED = """\
dumbbell: 1
name: growth
template:
  dumbbell: {{pairs: {pairs}, rtt: {{from: 20 ms, to: 60 ms}}, rate: {rate} Mbit/s, buffer: 20 ms}}
flows:
  - {{from: "s{{i}}", to: "d{{i}}", count: {pairs}, tcp: cubic, start_jitter: 100 ms}}
duration: {duration} s
sampling: none
"""
#: The receive buffer alone limits the window, and nothing waits: as many bytes are under way as it
#: allows. {source} is `bulk`, or writes once.
WINDOW = """\
dumbbell: 1
name: memory
template:
  dumbbell: {{pairs: {pairs}, rtt: 100 ms}}
hosts:
  defaults: {{tcp_rmem: {buffer} {buffer} {buffer}}}
flows:
  - {{from: "s{{i}}", to: "d{{i}}", count: {pairs}, start_jitter: 100 ms,
     tcp: {{congestion_control: cubic, source: {source}}}}}
duration: 2 s
sampling: none
"""
IDLE = "{periodic: {chunk: 1 KiB, interval: 1000 s}}"
SMALL, LARGE = 16_384, 65_536


def measured(text: str, flows: int) -> dict[str, Any]:
    """Runs an experiment with `PAIRS` pairs, its flows repeated until there are so many.

    Flows are copied in the scenario: a file with a name for each would be read much longer.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "growth.yaml"
        file.write_text(text, encoding="utf-8")
        scenario = json.loads(load(file).cells[0].scenario)
        models = scenario["flows"]
        scenario["flows"] = [
            models[number % len(models)] | {"name": f"flow{number}"} for number in range(flows)
        ]
        made = Path(folder) / "scenario.json"
        made.write_text(json.dumps(scenario), encoding="utf-8")
        return child("memory", made).answer


def loaded(flows: int, scale: float) -> dict[str, Any]:
    """A full line with so many flows."""
    rate_bps = SHARE_BPS * flows
    full_s = PACKETS * PACKET_BYTES * 8 / rate_bps
    duration_s = max(LEAST_S, round(full_s * scale, 3))
    text = LOADED.format(
        pairs=min(flows, PAIRS), rate=rate_bps // 1_000_000, duration=f"{duration_s:g}"
    )
    found = measured(text, flows)
    return {
        "flows": flows,
        "simulated_s": duration_s,
        "packets": found["packets"],
        "per_packet_ns": round(found["cpu_s"] / found["packets"] * 1e9, 1),
        "utilisation": round(found["sent_bytes"] * 8 / duration_s / rate_bps, 3),
        "peak_bytes": found["peak_bytes"],
    }


def with_differences(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points with the memory of each flow more than at the point before.

    The memory of a few flows is lost in that of the process.
    """
    for less, more in itertools.pairwise(points):
        if more["flows"] < RESOLVED:
            continue
        grown = more["peak_bytes"] - less["peak_bytes"]
        more["flow_bytes"] = round(grown / (more["flows"] - less["flows"]))
    return points


def flow_bytes(source: str, buffer: int) -> float:
    """Memory of a flow, as a difference between many and few."""
    text = WINDOW.format(pairs=PAIRS, buffer=buffer, source=source)
    peaks = [measured(text, flows)["peak_bytes"] for flows in (FEW, MANY)]
    return float(peaks[1] - peaks[0]) / (MANY - FEW)


def memory() -> dict[str, int]:
    """Memory of an idle flow, and of an active one less what its window takes.

    The window's part is the difference of two windows, carried on to a window of nothing.
    """
    idle = flow_bytes(IDLE, SMALL)
    small, large = flow_bytes("bulk", SMALL), flow_bytes("bulk", LARGE)
    per_byte = (large - small) / (LARGE - SMALL)
    return {
        "idle_flow_bytes": round(idle),
        "active_flow_bytes": round(small - per_byte * SMALL),
        "small_window_flow_bytes": round(small),
        "large_window_flow_bytes": round(large),
    }


def figure(points: list[dict[str, Any]]) -> Figure:
    """Cost of a packet and memory of a flow, against the number of flows."""
    cost, size = "Processor time per packet (ns)", "Memory per flow (KB)"
    rows = [{"panel": cost, "flows": p["flows"], "value": p["per_packet_ns"]} for p in points]
    rows += [
        {"panel": size, "flows": p["flows"], "value": round(p["flow_bytes"] / 1000, 1)}
        for p in points
        if "flow_bytes" in p
    ]
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "flows:Q",
                title="Flows",
                axis=alt.Axis(values=FLOWS, format="~s"),
                scale=alt.Scale(type="log", domain=[1, FLOWS[-1]]),
            ),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=True)),
        )
        .facet(facet=alt.Facet("panel:N", title=None, sort=[cost, size]), columns=2)
        .resolve_scale(y="independent")
    )
    return Figure(
        "Cost of a packet and memory of a flow",
        "Processor time per packet and memory per flow, for 1 to 100 000 flows",
        as_spec(chart),
        panels=2,
    )


def main() -> None:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--most", type=int, default=FLOWS[-1], help="flows of the last point")
    parser.add_argument("--scale", type=float, default=1, help="factor of the packets")
    parser.add_argument("--output", type=Path, default=RESULTS, help="file of results")
    parser.add_argument("--figure", type=Path, default=FIGURE, help="the figure")
    options = parser.parse_args()
    points = []
    for flows in FLOWS:
        if flows <= options.most:
            points.append(loaded(flows, options.scale))
            print(", ".join(f"{name} {value}" for name, value in points[-1].items()), flush=True)
    found = memory()
    print(", ".join(f"{name} {value}" for name, value in found.items()))
    write(options.output, growth=with_differences(points), memory=found)
    figure(points).save(options.figure)


if __name__ == "__main__":
    main()
