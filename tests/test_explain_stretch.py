"""Explanations of incidents that are longer than the packets first kept, and of full queues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from dumbbell.cli.app import app
from dumbbell.explain import Observed, What, explain, observe
from dumbbell.explain.made_again import TABLES
from dumbbell.explain.stretch import KeptStretch, stretch_around
from dumbbell.store import Store
from tests.test_explain import watched

#: A queue of 600 packets drains in 1.4 s, so an incident lasts longer than 3 s.
TEXT = """\
dumbbell: 1
name: bloated
template: {dumbbell: {rate: 5 Mbit/s, rtt: 40 ms, buffer: 600 packets}}
flows:
  - {name: up, from: s1, to: d1, tcp: cubic}
  - {name: call, from: s1, to: d1, udp: 1 Mbit/s}
sampling: {interval: 100 ms, keep: [samples, drops]}
duration: 40 s
"""
LIMIT = 600


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stretch")
    (folder / "e.yaml").write_text(TEXT, encoding="utf-8")
    command = ["run", str(folder / "e.yaml"), "--store", str(folder / "store"), "--workers", "1"]
    outcome = CliRunner().invoke(app, command)
    assert outcome.exit_code == 0, outcome.output
    return folder / "store"


def drops(store: Path) -> list[int]:
    """Times of the drops of `up`, s."""
    with Store(store, write=False) as opened:
        found = opened.results(opened.experiments()[-1].id).drops
    return sorted(found.filter(pl.col("flow") == "up")["time_ns"])


def told(store: Path, at_ns: int) -> dict[str, Any]:
    at = f"{at_ns / 1e9:.6f} s"
    options = ["explain", str(store), "--flow", "up", "--at", at, "--json"]
    outcome = CliRunner().invoke(app, options)
    assert outcome.exit_code == 0, outcome.output
    return dict(json.loads(outcome.stdout))


def bursts(times: list[int], apart_ns: int) -> list[list[int]]:
    """Drops that follow each other within a time."""
    found: list[list[int]] = []
    for time in times:
        if not found or time - found[-1][-1] > apart_ns:
            found.append([])
        found[-1].append(time)
    return found


@pytest.mark.parametrize("after_s", [0.0, 2.9])
def test_a_full_queue_has_its_limit_and_every_drop_is_counted(store: Path, after_s: float) -> None:
    burst = next(one for one in bursts(drops(store), 3_000_000_000) if one[0] > 5_000_000_000)
    found = told(store, burst[-1] + int(after_s * 1e9))
    incident = found["links"][0]
    assert (incident["what"], incident["time_ns"]) == ("drop", burst[0])
    assert incident["numbers"]["drops"] == len(burst)
    full = next(one for one in found["links"] if one["what"] == "full_queue")
    assert full["numbers"]["queued_packets"] == LIMIT
    assert f"full: {LIMIT} packets" in full["sentence"]
    assert found["notes"] == []


def seen_from(from_ns: int) -> Observed:
    """Observations of the planted full queue whose packets are kept from a time."""
    results, scenario = watched("full_queue")
    tables = {one: getattr(results, one) for one in TABLES}
    tables["hops"] = tables["hops"].filter(pl.col("offered_ns") >= from_ns)
    stretch = (from_ns, scenario["duration_ns"])
    return observe(scenario, "flow1", tables, stretch)


def test_packets_that_came_before_those_kept_are_not_denied() -> None:
    whole = explain(seen_from(0), 300_000_000)
    assert whole is not None
    assert not whole.cut
    first = whole.links[0]
    assert first.packet is not None
    late = explain(seen_from(first.time_ns - 3_000_000), 300_000_000)
    assert late is not None
    full = next(one for one in late.links if one.what is What.FULL_QUEUE)
    assert full.numbers["queued_packets"] in range(18, 21)  # of the last sample
    assert "arrived before the packets that are kept" in full.sentence
    after = explain(seen_from(first.time_ns + 1), 300_000_000)
    assert after is not None
    assert after.cut


def test_a_stretch_keeps_what_waits_at_its_start_and_grows_backwards() -> None:
    pipes = pl.DataFrame({"arrived_packets": [1000, -1], "sojourn_max_ns": [250, -1]})
    found = stretch_around(pipes, 20_000_000_000, 60_000_000_000, guest=False)
    assert (found.from_ns, found.to_ns) == (17_000_000_000, 30_000_000_001)
    assert found.from_ns - found.kept_ns == 251
    earlier = found.earlier()
    assert earlier is not None
    assert earlier.from_ns == 2 * found.from_ns - found.to_ns
    assert earlier.from_ns - earlier.kept_ns == 251
    assert KeptStretch(0, 0, 10, 0).earlier() is None


def test_a_guest_keeps_no_more_than_its_memory_has_space_for() -> None:
    pipes = pl.DataFrame({"arrived_packets": [6_000_000], "sojourn_max_ns": [-1]})
    found = stretch_around(pipes, 20_000_000_000, 40_000_000_000, guest=True)
    # Twice what is explained: what waits at its start is kept, too.
    assert 6_000_000 * (found.to_ns - found.kept_ns) / 40e9 <= 500_001
    kept = found
    while (earlier := kept.earlier()) is not None:
        kept = earlier
    assert 6_000_000 * (kept.to_ns - kept.kept_ns) / 40e9 <= 5 * 250_001


def test_a_segment_that_is_not_seen_again_has_no_time_of_arrival() -> None:
    """On a kernel a path that dies drops packets that no later one tells of."""
    results, scenario = watched("one_segment")
    tables = {one: getattr(results, one) for one in TABLES}
    lost = pl.col("dropped") != ""
    tables["hops"] = tables["hops"].with_columns(
        ended_ns=pl.when(lost).then(-1).otherwise("ended_ns"), dropped=pl.lit("")
    )
    found = explain(observe(scenario, "flow1", tables, (0, scenario["duration_ns"])), 90_000_000)
    assert found is not None
    text = " ".join(one.sentence for one in found.links)
    assert (
        "did not arrive in the time that is kept; it was seen last at bottleneck/forward." in text
    )
    assert "-0 s" not in text
    assert "none of its segments was dropped" not in text
    assert "No segment of it was lost" not in text
