"""Lines of figures: each has a colour, goodput holds to the end, delays have the rate of then."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

import dumbbell
from dumbbell.figures import KINDS, Figure, plot
from dumbbell.figures.over_time import over_time
from dumbbell.results import Results

TEXT = """\
dumbbell: 1
name: named
template: {dumbbell: {pairs: 3, rate: 10 Mbit/s, rtt: 20 ms, buffer: 20 packets,
  forward: {changes: [{at: 2 s, rate: 2 Mbit/s}]}}}
flows:
  - {name: cubic, from: s1, to: d1, tcp: $cc}
  - {name: reno, from: s2, to: d2, tcp: $cc}
  - {name: echo, from: d3, to: s3, ping: 100 ms}
  - {name: answer, from: s1, to: d3, tcp: $cc}
sampling: {interval: 50 ms, keep: [samples, queues, probes]}
duration: 4.5 s
factors: {cc: [cubic, bbr]}
"""


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Results:
    file = tmp_path_factory.mktemp("named") / "named.yaml"
    file.write_text(TEXT, encoding="utf-8")
    return dumbbell.run(file)


def drawn(results: Results, kind: str) -> Figure | None:
    """The figure over all cells, or of one; None where it needs what is not here."""
    for where in ({}, {"cc": "cubic"}):
        try:
            return plot(results, kind, where=where)
        except (ValueError, TypeError, dumbbell.DumbbellError):
            continue
    return None


def layers(spec: Any) -> Iterator[dict[str, Any]]:
    """Parts of a chart with an encoding."""
    if isinstance(spec, dict):
        if "encoding" in spec:
            yield spec
        for key, value in spec.items():
            if key not in ("data", "datasets", "encoding"):
                yield from layers(value)
    elif isinstance(spec, list):
        for one in spec:
            yield from layers(one)


def values_of(spec: Any) -> Iterator[dict[str, Any]]:
    """All rows in a chart."""
    if isinstance(spec, dict):
        rows = spec.get("values")
        if isinstance(rows, list):
            yield from (row for row in rows if isinstance(row, dict))
        elif isinstance(rows, str):
            yield from csv.DictReader(rows.splitlines())
        for value in spec.values():
            yield from values_of(value)
    elif isinstance(spec, list):
        for one in spec:
            yield from values_of(one)


@pytest.mark.slow
def test_every_value_has_a_colour(named: Results) -> None:
    """Vega draws nothing for a value that is not in the domain of its colours."""
    seen = set()
    for kind in KINDS:
        figure = drawn(named, kind)
        if figure is None:
            continue
        rows = list(values_of(figure.spec))
        for part in layers(figure.spec):
            color = part["encoding"].get("color", {})
            domain = color.get("scale", {}).get("domain") if isinstance(color, dict) else None
            if domain and "field" in color:
                seen.add(kind)
                found = {row[color["field"]] for row in rows if color["field"] in row}
                assert found <= set(domain), (kind, found, domain)
    assert {"queue-delay", "cdf", "delay-throughput", "rrul", "window"} <= seen


def lines(figure: Figure, panel: str) -> dict[str, list[tuple[float, float]]]:
    """Line → seconds and values of its points in a panel."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in values_of(figure.spec):
        if row.get("panel") == panel:
            found.setdefault(row["line"], []).append((float(row["s"]), float(row["value"])))
    return found


def test_goodput_over_time_holds_to_the_end_of_the_run(named: Results) -> None:
    """The last sample is no stretch of its own: goodput times time is what was delivered."""
    figure = over_time(named, where={"cc": "cubic"})
    rows = named.flows.filter((pl.col("cc") == "cubic") & (pl.col("kind") == "tcp"))
    delivered = {row["flow"]: row["delivered_bytes"] * 8e-6 for row in rows.iter_rows(named=True)}
    found = lines(figure, "Goodput (Mbit/s)")
    assert len(found) == 3
    for points in found.values():
        assert max(at for at, _ in points) < 4.5
    bits = sum(4.5 / 120 * value for points in found.values() for _, value in points)
    assert bits == pytest.approx(sum(delivered.values()), rel=0.35)
    load = lines(plot(named, "rrul", where={"cc": "cubic"}), "Download (Mbit/s)")["goodput"]
    assert [at for at, _ in load] == [0, 1, 2, 3, 4]
    told = sum(value * min(1, 4.5 - at) for at, value in load)
    assert told == pytest.approx(delivered["answer"], rel=0.02)


def test_what_waits_is_divided_by_the_rate_of_its_time(named: Results) -> None:
    """Where the time in the queue is not known, as on the kernel's engines."""
    queues = named.queues.with_columns(sojourn_mean_ns=pl.lit(None, pl.Float64))
    results = named.with_tables(queues=queues)
    late = queues.filter((pl.col("cc") == "cubic") & (pl.col("pipe") == "bottleneck/forward")).sort(
        "time_ns"
    )
    most_ms = max(
        row["queued_bytes"] * 8e3 / (10e6 if row["time_ns"] < 2_000_000_000 else 2e6)
        for row in late.iter_rows(named=True)
    )
    assert most_ms > 60
    drawn_ms = lines(over_time(results, where={"cc": "cubic"}), "Queueing delay (ms)")
    assert max(ms for _, ms in drawn_ms["bottleneck/forward"]) == pytest.approx(most_ms, rel=0.01)
    figure = plot(results, "queue-delay", where={"cc": "cubic"})
    assert max(row["ms"] for row in values_of(figure.spec) if "ms" in row) > 60
