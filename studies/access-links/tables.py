"""Tables and pictures of docs/access-links.md: `dumbbell study tables access-links`.

One minute on the simulator; the column of the kernel where its engine may be run. The pictures
are written by `python studies/access-links/pictures.py`.
"""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

import dumbbell
from dumbbell.catalogue import access_models
from dumbbell.experiment.load import load_text
from dumbbell.limits.pipes import rate_steps
from dumbbell.scenario import read_scenario
from dumbbell.studies.pages import Made, Runs, markdown, number

MODELS = access_models()
PAGE = "../../docs/access-links.md"
#: Scenario from which rates over time are read; it is not run.
RATES = """\
dumbbell: 1
name: rates
hosts: {home: {}, server: {}}
links: [{between: [home, server], access: {type: NAME}}]
flows: [{from: home, to: server, ping: 1 s}]
duration: 10 h
"""
WORDS = {
    "rtt_min_ms": "least RTT (ms)",
    "rtt_max_ms": "longest RTT (ms)",
    "rtt_p50_ms": "median RTT (ms)",
    "rtt_p90_ms": "RTT, 90 % (ms)",
    "rtt_p99_ms": "RTT, 99 % (ms)",
    "rtt_difference_mean_ms": "mean difference of two pings (ms)",
    "period_s": "interval of changes (s)",
    "loss_percent": "mean loss, each way (%)",
    "rate_p10_mbps": "rate down, 10 % (Mbit/s)",
    "rate_p25_mbps": "rate down, 25 % (Mbit/s)",
    "rate_p50_mbps": "rate down, median (Mbit/s)",
    "rate_p75_mbps": "rate down, 75 % (Mbit/s)",
    "rate_p90_mbps": "rate down, 90 % (Mbit/s)",
    "rate_correlation_5s": "correlation of its logarithm after 5 s",
}


def published() -> list[dict[str, str]]:
    """Rows of `published.csv`."""
    with (Path(__file__).parent / "published.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rates_mbps(name: str) -> list[float]:
    """Rate down of each second of ten hours."""
    (cell,) = load_text(RATES.replace("NAME", f'"{name}"'), Path("rates.yaml")).cells
    scenario = read_scenario(cell.scenario)
    steps = rate_steps(scenario["links"][0]["backward"])
    found: list[float] = []
    for (at, rate), (until, _) in zip(
        steps, [*steps[1:], (scenario["duration_ns"], 0)], strict=True
    ):
        found += [rate / 1e6] * round((until - at) / 1e9)
    return found


def correlation(rates: list[float], lag: int) -> float:
    """Autocorrelation of the logarithm."""
    values = [math.log(rate) for rate in rates]
    mean, variance = statistics.fmean(values), statistics.pvariance(values)
    products = [
        (one - mean) * (other - mean) for one, other in zip(values, values[lag:], strict=False)
    ]
    return statistics.fmean(products) / variance


def measured(results: dumbbell.Results, name: str) -> dict[str, float]:
    """Quantities of a model: of pings over the idle link, and of its rates over time."""
    probes = results.probes.filter(pl.col("access") == name).sort("time_ns")
    rtts = probes.filter(pl.col("delay_ns") > 0)["delay_ns"].cast(pl.Float64) / 1e6
    found = {f"rtt_p{share}_ms": rtts.quantile(share / 100) or 0.0 for share in (50, 90, 99)}
    found |= {"rtt_min_ms": float(rtts.min()), "rtt_max_ms": float(rtts.max())}  # type: ignore[arg-type]
    found["rtt_difference_mean_ms"] = float(rtts.diff().abs().mean())  # type: ignore[arg-type]
    pipes = results.pipes.filter((pl.col("access") == name) & (pl.col("pipe") == "line/forward"))
    arrived, left = pipes["arrived_packets"].sum(), pipes["left_packets"].sum()
    found["loss_percent"] = 100 * (1 - left / arrived)
    epochs = MODELS[name].epochs
    if epochs is not None:
        found["period_s"] = epochs.every_ns / 1e9
        if epochs.rate_spread:
            rates = rates_mbps(name)
            places = (10, 25, 50, 75, 90)
            values = statistics.quantiles(rates, n=100)
            found |= {f"rate_p{share}_mbps": values[share - 1] for share in places}
            found["rate_correlation_5s"] = correlation(rates, 5)
    return found


def beside(results: dumbbell.Results, kernel: dumbbell.Results | None) -> list[str]:
    """Published numbers, and those of the models."""
    rows = []
    of = {name: measured(results, name) for name in MODELS}
    theirs = {name: measured(kernel, name) for name in MODELS} if kernel is not None else {}
    for row in published():
        name, quantity = row["access"], row["quantity"]
        cells = [number(of[name][quantity])]
        if kernel is not None:
            cells.append(number(theirs[name][quantity]))
        rows.append([f"`{name}`", WORDS[quantity], row["published"], *cells, row["source"]])
    heads = ["link", "quantity", "published", "simulator"]
    return markdown([*heads, *(["kernel"] if kernel is not None else []), "source"], rows)


def rate(bps: int) -> str:
    """Rate in Mbit/s."""
    return f"{bps / 1e6:g}"


def wait(found: Any) -> str:
    """Wait for slots in ms."""
    if found is None:
        return "–"
    packets = f", {found.packets} packets" if found.packets else ""
    return f"{found.min_ns / 1e6:g} to {found.max_ns / 1e6:g}{packets}"


def changes(model: Any) -> str:
    """New values over time."""
    epochs = model.epochs
    if epochs is None:
        return "–"
    parts = [f"every {epochs.every_ns / 1e9:g} s"]
    if epochs.rate_spread:
        spread = math.exp(epochs.rate_spread)
        parts.append(f"rate down × {1 / spread:.2g} to {spread:.2g}")
    if epochs.delay_ns:
        parts.append(f"delay + 0 to {epochs.delay_ns / 1e6:g} ms each way")
    if epochs.loss:
        parts.append(f"{100 * epochs.loss:g} % loss for {epochs.loss_ns / 1e6:g} ms")
    return ", ".join(parts)


def models() -> list[str]:
    """The models in numbers."""
    heads = [
        "`access`", "", "down, up (Mbit/s)", "base RTT (ms)", "wait for slots down, up (ms)",
        "over time",
    ]  # fmt: skip
    return markdown(
        heads,
        (
            [
                f"`{name}`",
                one.title,
                f"{rate(one.down_bps)}, {rate(one.up_bps)}",
                f"{one.rtt_ns / 1e6:g}",
                f"{wait(one.down_wait)}; {wait(one.up_wait)}",
                changes(one),
            ]
            for name, one in MODELS.items()
        ),
    )


def sources() -> list[str]:
    """Source of each number, and limits."""
    lines: list[str] = []
    for name, one in MODELS.items():
        lines += [f"**`{name}`**, {one.title}.", ""]
        lines += [f"- {quantity}: {source}." for quantity, source in one.sources.items()]
        lines += ["", f"Left out: {one.limits}", ""]
    return lines[:-1]


def load(results: dumbbell.Results) -> list[str]:
    """Goodput and RTT of a download."""
    rows = []
    for name in MODELS:
        cells = [f"`{name}`"]
        for cc in ("cubic", "bbr"):
            here = (pl.col("access") == name) & (pl.col("cc") == cc)
            flows = results.flows.filter(here & (pl.col("flow") == "download"))
            seconds = (flows["end_ns"] - flows["start_ns"]).mean() or 1
            goodput = 8e3 * float(flows["delivered_bytes"].mean()) / float(seconds)  # type: ignore[arg-type]
            rtts = results.probes.filter(here & (pl.col("delay_ns") > 0))["delay_ns"]
            cells += [number(goodput), number((rtts.quantile(0.95) or 0) / 1e6)]
        rows.append(cells)
    heads = [
        "link", "CUBIC (Mbit/s)", "RTT, 95 % (ms)", "BBR v1 (Mbit/s)", "RTT, 95 % (ms)"
    ]  # fmt: skip
    return markdown(heads, rows)


def tables(runs: Runs) -> Iterator[Made]:
    """All tables of the page."""
    yield PAGE, "models", models()
    yield PAGE, "sources", sources()
    if not runs.allows("sim", "linux"):
        return
    idle = runs.experiment("idle.yaml")
    yield PAGE, "published", beside(idle, runs.experiment("idle.yaml", "linux"))
    yield PAGE, "load", load(runs.experiment("load.yaml"))
