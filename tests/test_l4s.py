"""L4S in the simulator: short queues for Prague beside CUBIC, and marks that arrive."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.errors import ExperimentError
from tests.helpers import ROOT

TEXT = """\
dumbbell: 1
name: l4s
hosts: {defaults: {profile: linux-7.3, tcp_ecn: $ecn}}
template:
  dumbbell: {pairs: 2, rate: 50 Mbit/s, rtt: 20 ms, forward: {queue: $queue}, backward: $back}
flows:
  - {name: one, from: s1, to: d1, tcp: $cc}
  - {name: other, from: s2, to: d2, tcp: cubic, start: 1 s}
sampling: {interval: 20 ms, keep: [samples, queues]}
duration: 20 s
factors:
  ecn: [2]
  cc: [prague]
  queue: [dualpi2]
  back: [{label: ample, value: {buffer: 1000 packets}}]
"""


def run(folder: Path, text: str = TEXT, **chosen: str) -> dumbbell.Results:
    file = folder / "e.yaml"
    file.write_text(text, encoding="utf-8")
    return dumbbell.run(file, set=chosen)


def rtt_ms(results: dumbbell.Results, flow: str) -> float:
    samples = results.samples.filter((pl.col("flow") == flow) & (pl.col("time_ns") > 5_000_000_000))
    return float(samples["srtt_ns"].mean() or 0) / 1e6  # type: ignore[arg-type]


def test_prague_waits_less_than_cubic_and_shares_the_line(tmp_path: Path) -> None:
    """RFC 9332 §1: each class its delay, and neither starves."""
    results = run(tmp_path)
    (low, classic) = (rtt_ms(results, flow) for flow in ("one", "other"))
    assert 20 <= low < 24, "a step of 1 ms, and the frames before it"
    # The target is 15 ms; a frame of the other queue is in the way of each.
    assert 28 < classic < 42
    bytes_of = dict(results.flows.select("flow", "delivered_bytes").iter_rows())
    # The patched kernel: 1.98 to 2.73 over six seeds (mean 2.40).
    assert 1.9 < bytes_of["one"] / bytes_of["other"] < 2.8
    (pipe,) = results.pipes.filter(pl.col("pipe") == "bottleneck/forward").iter_rows(named=True)
    assert pipe["dropped_overflow_packets"] == 0 < pipe["dropped_aqm_packets"]


def test_one_queue_gives_both_the_delay_of_cubic(tmp_path: Path) -> None:
    results = run(tmp_path, queue="{pfifo: {limit: 200 packets}}")
    assert rtt_ms(results, "one") > 40


@pytest.mark.parametrize("cc", ["prague", "cubic", "dctcp"])
def test_each_mark_is_told(tmp_path: Path, cc: str) -> None:
    """Conservation: what the queue marks, the sender learns; at the end some are on their way."""
    text = TEXT.replace("  - {name: other, from: s2, to: d2, tcp: cubic, start: 1 s}\n", "")
    queue = "{dualpi2: {any_ect: true}}"
    results = run(tmp_path, text, ecn="3", cc=cc, queue=queue)
    (marked,) = results.pipes.filter(pl.col("pipe") == "bottleneck/forward")["marked_packets"]
    told = results.samples["delivered_ce_packets"].max()
    assert isinstance(told, int)
    # A packet that step and controller both mark counts twice at the queue.
    assert told <= marked and told > 0.97 * marked - 80


def test_what_multipath_cannot_do_is_refused(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "multipath.yaml").read_text(encoding="utf-8")
    text = text.replace("hosts: {phone: {}", "hosts: {phone: {tcp_ecn: 3}")
    with pytest.raises(
        ExperimentError, match=r"hosts\.phone\.tcp_ecn: .* no Accurate ECN on subflows"
    ):
        run(tmp_path, text)
