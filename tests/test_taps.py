"""The way of packets put together from what was seen at points, beside what the simulator knows."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell import _core
from dumbbell.animation.captures import scene_of_captures
from dumbbell.capture import CaptureError
from dumbbell.errors import DumbbellError
from dumbbell.experiment import load
from dumbbell.trace.taps import everywhere, hops_of_run
from tests.test_trace import EXPERIMENT

KEY = ["flow", "direction", "packet_number", "pipe"]


def test_taps_at_every_interface_tell_what_the_simulator_knows(tmp_path: Path) -> None:
    file = tmp_path / "many.yaml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    (cell,) = load(file).cells
    spec = everywhere(json.loads(cell.scenario))
    spec["sampling"]["hops"] = {"from_ns": 0, "to_ns": cell.duration_ns}
    output = _core.run(json.dumps(spec), 1)
    tables = {name: pl.read_ipc_stream(io.BytesIO(data)) for name, data in output.tables.items()}
    found = hops_of_run(tables["packets"], spec)
    known = tables["hops"]
    both = known.join(found, on=KEY, suffix="_found")
    assert both.height == found.height, "no hop is made up"
    # What is lost before the first tap, nobody can see.
    unseen = known.join(found, on=KEY, how="anti")
    assert unseen.filter(pl.col("dropped") != "random").is_empty()
    assert set(unseen["pipe"]) <= {"s2-r1/forward"}
    for column in ("offered_ns", "leaves_ns", "frame_bytes", "seq_bytes", "kind", "tcp_flags"):
        assert (both[column] == both[f"{column}_found"]).all(), column
    dropped = both["dropped"] != ""
    assert dropped.equals(both["dropped_found"] != ""), "where it was dropped, and only there"
    assert dropped.sum() > 20
    arrived = both.filter(pl.col("dropped") == "")
    assert (arrived["ended_ns"] == arrived["ended_ns_found"]).all()
    # When a packet was dropped in a queue is not seen: it is told where it came.
    overflow = both.filter(pl.col("dropped") == "overflow")
    assert overflow.height > 5
    assert (overflow["ended_ns"] == overflow["ended_ns_found"]).all()


CAPTURED = """\
dumbbell: 1
name: cap
template: {dumbbell: {pairs: 2, rate: 5 Mbit/s, rtt: 30 ms, buffer: 12 packets}}
flows:
  - {name: a, from: s1, to: d1, tcp: cubic}
  - {name: b, from: s2, to: d2, start: 500 ms, tcp: reno}
  - {name: p, from: s1, to: d1, ping: {interval: 100 ms}}
taps:
  - {name: far, at: r2, link: bottleneck}
  - {name: near, at: r1, link: bottleneck}
  - {name: source, at: s1, link: s1-r1}
sampling: {interval: 20 ms, keep: [drops], capture: true, hops: {to: 3 s}}
duration: 3 s
"""


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> tuple[dumbbell.Results, Path]:
    folder = tmp_path_factory.mktemp("captured")
    (folder / "cap.yaml").write_text(CAPTURED, encoding="utf-8")
    results = dumbbell.run(folder / "cap.yaml", captures=folder / "one")
    dumbbell.run(folder / "cap.yaml", captures=folder / "each", per_tap=True)
    return results, folder


@pytest.mark.slow
def test_a_capture_of_three_points_is_put_in_order(
    captured: tuple[dumbbell.Results, Path],
) -> None:
    results, folder = captured
    scene = scene_of_captures([str(folder / "one" / "cap-0.pcapng")])
    assert {(link.a, link.b) for link in scene.links} == {("near", "source"), ("far", "near")}
    kinds = [flow.kind for flow in scene.flows]
    assert kinds == ["tcp", "ping", "tcp"]
    # Between the routers nothing is lost: all of both flows that left one came to the other.
    between = scene.hops.filter(pl.col("pipe").str.starts_with("far|near"))
    real = results.hops.filter(
        (pl.col("pipe") == "bottleneck/forward") & (pl.col("leaves_ns") >= 0)
    )
    out = between.filter(pl.col("direction") == "out")
    assert out.height == real.height
    assert out.filter(pl.col("dropped") != "").is_empty()
    took = out.filter(pl.col("ended_ns") >= 0).select(pl.col("ended_ns") - pl.col("leaves_ns"))
    assert took["ended_ns"].to_numpy().min() >= 15_000_000
    # What s1 lost in the queue of r1 is missing at r1.
    first = scene.flows[0].name
    lost = scene.hops.filter((pl.col("flow") == first) & (pl.col("dropped") == "unseen"))
    assert lost.height == results.drops.filter(pl.col("flow") == "a").height
    assert set(lost["pipe"]) == {"near|source/backward"}
    again = scene.hops.filter(
        (pl.col("cause") == "again") & (pl.col("pipe") == "near|source/backward")
    )
    (flow,) = results.flows.filter(pl.col("flow") == "a").iter_rows(named=True)
    assert again.filter(pl.col("flow") == first).height == flow["retransmitted_packets"]


def test_a_file_per_point_gives_the_same(captured: tuple[dumbbell.Results, Path]) -> None:
    _, folder = captured
    one = scene_of_captures([str(folder / "one" / "cap-0.pcapng")])
    files = sorted(map(str, (folder / "each").glob("*.pcapng")))
    each = scene_of_captures(files)
    assert {flow.name for flow in each.flows} == {flow.name for flow in one.flows}
    columns = ["offered_ns", "ended_ns", "flow", "direction", "kind", "seq_bytes"]
    assert each.hops.select(columns).sort(columns).equals(one.hops.select(columns).sort(columns))


def test_one_point_alone_moves_nothing(captured: tuple[dumbbell.Results, Path]) -> None:
    _, folder = captured
    with pytest.raises(DumbbellError, match="no packet was seen at two points"):
        scene_of_captures([str(next((folder / "each").glob("*near*")))])
    with pytest.raises(CaptureError, match="neither pcap, pcapng nor snoop"):
        scene_of_captures([str(folder / "cap.yaml")])
