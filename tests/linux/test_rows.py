"""What the kernel's tables say of scripted drops and of pacing, beside the simulator's."""

from __future__ import annotations

import io
from pathlib import Path
from statistics import median

import polars as pl
import pytest

from dumbbell.engines import Monitor, Run, engine_named
from dumbbell.experiment import load_text

pytestmark = pytest.mark.kernel

ENGINES = ("sim", "linux")
SCRIPTED = """\
dumbbell: 1
name: scripted
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 1000 packets,
  forward: {loss: {scripted: [{flow: f, nth: [20, 21, 60, 1000000]}]}}}}
flows: [{name: f, from: s1, to: d1, tcp: {congestion_control: cubic, bytes: 300 KiB}}]
sampling: {interval: 50 ms, keep: [queues]}
duration: 2 s
"""
PACED = """\
dumbbell: 1
name: paced
template: {{dumbbell: {{rate: 10 Mbit/s, rtt: 40 ms, buffer: 1 BDP}}}}
flows: [{{name: f, from: s1, to: d1, tcp: {{congestion_control: {name}, fq: {fq}}}}}]
sampling: {{interval: 20 ms, keep: [samples]}}
duration: 20 s
"""


def tables(engine: str, text: str) -> dict[str, pl.DataFrame]:
    """The tables of one run."""
    cell = load_text(text, Path("one.yaml")).cells[0]
    result = engine_named(engine).execute(Run("one", cell.scenario, 1, cell.duration_ns), Monitor())
    return {name: pl.read_ipc_stream(io.BytesIO(data)) for name, data in result.tables.items()}


@pytest.mark.parametrize("engine", ENGINES)
def test_scripted_drops_are_counted(engine: str) -> None:
    run = tables(engine, SCRIPTED)
    pipes = {row["pipe"]: row for row in run["pipes"].to_dicts()}
    pipe = pipes.pop("bottleneck/forward")
    assert pipe["dropped_scripted_packets"] == 3, "the millionth packet is not sent"
    assert all(other["dropped_scripted_packets"] == 0 for other in pipes.values())
    gone = pipe["left_packets"] + pipe["remaining_packets"] + 3
    assert pipe["arrived_packets"] == gone
    assert run["flows"]["dropped_packets"][0] == 3
    dropped = run["queues"].filter(pl.col("pipe") == "bottleneck/forward")["dropped_packets"]
    assert dropped.is_sorted() and dropped[-1] == 3


@pytest.mark.parametrize(("name", "fq"), [("bbr", "true"), ("bbr", "false"), ("cubic", "true")])
def test_a_paced_flow_is_paced_alike(name: str, fq: str) -> None:
    text = PACED.format(name=name, fq=fq)
    rates = [tables(engine, text)["samples"].filter(pl.col("time_ns") > 5e9) for engine in ENGINES]
    ours, kernels = (median(frame["pacing_bps"].to_list()) for frame in rates)
    assert ours > 1e6
    assert ours == pytest.approx(kernels, rel=0.02)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_not_paced_has_no_pacing_rate(engine: str) -> None:
    samples = tables(engine, PACED.format(name="cubic", fq="false"))["samples"]
    assert samples["pacing_bps"].unique().to_list() == [-1]
