"""What a run will take is told before it begins, and is about what it takes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell import _core
from dumbbell.cli import app
from dumbbell.engines.preflight import concerns_everywhere
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.execution.budget import allowed, check
from dumbbell.experiment import load, load_text
from tests.helpers import ROOT, simulated

EXAMPLES = simulated(sorted((ROOT / "examples").glob("*.yaml")))

PAIR = "dumbbell: 1\nname: pair\nhosts: {a: , b: }\n"
DUMBBELL = (
    "dumbbell: 1\nname: one\ntemplate: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}\n"
    "flows: [{from: s1, to: d1, tcp: cubic}]\nduration: 1 s\n"
)
UNSAMPLED = DUMBBELL + "sampling: none\n"
SPEED = (
    "dumbbell: 1\nname: one\ntemplate: {dumbbell: {rate: 400 Gbit/s, rtt: 20 ms, buffer: 1 BDP}}\n"
    "flows: [{from: s1, to: d1, tcp: {congestion_control: cubic, sender: {tcp_wmem: "
    "[4096, 16384, 2000000000]}, receiver: {tcp_rmem: [4096, 131072, 2000000000]}}}]\n"
    "duration: 600 s\n"
)

#: Experiments that would run for minutes, or take all memory, with parts of what is said.
BOUNDLESS = {
    "no rate and no delay": (
        f"{PAIR}links: [{{between: [a, b]}}]\nflows: [{{from: a, to: b, tcp: cubic}}]\n"
        "duration: 1 s\n",
        ("x.yaml:5", "packets times links", "neither a rate nor a delay", "--allow events=5e+09"),
    ),
    "a sample a nanosecond": (
        f"{DUMBBELL}sampling: {{interval: 1 ns, keep: [samples]}}\n",
        ("x.yaml:6", "sampling.interval", "a longer interval", "--allow events="),
    ),
    "a sample a microsecond": (
        f"{DUMBBELL.replace('1 s', '100 s')}sampling: {{interval: 1 us, keep: [samples]}}\n",
        ("x.yaml:6", "sampling.interval", "rows", "--allow rows=2e+08"),
    ),
    "400 Gbit/s for ten minutes": (
        SPEED,
        ("x.yaml:4", "flows[0]", "minutes|hours", "lower rates", "--allow events="),
    ),
    "a hundred million arrivals": (
        f"{DUMBBELL.split('flows:')[0]}arrivals: [{{name: web, from: s1, to: d1, per_second: 1e5, "
        "size: 100 bytes, tcp: cubic}]\nduration: 1000 s\n",
        ("x.yaml:4", "arrivals[0]", "GB of memory", "fewer flows per second", "memory='"),
    ),
    "all packets of a fast link": (
        f"{SPEED.replace('400 G', '5 G').replace('600 s', '60 s')}"
        "sampling: {hops: {from: 0 s, to: 60 s}}\n",
        ("x.yaml:6", "sampling.hops", "rows", "a shorter stretch of time", "--allow rows="),
    ),
}


def scenario(text: str) -> str:
    return load_text(text, Path("x.yaml")).cells[0].scenario


@pytest.mark.parametrize("name", BOUNDLESS)
def test_what_would_take_too_much_is_refused_before_it_begins(name: str, tmp_path: Path) -> None:
    text, parts = BOUNDLESS[name]
    file = tmp_path / "x.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ExperimentError) as refused:
        dumbbell.run(file)
    for part in parts:
        assert any(word in str(refused.value) for word in part.split("|")), str(refused.value)


@pytest.mark.slow
def test_a_path_without_limits_is_told(tmp_path: Path) -> None:
    text, _ = BOUNDLESS["no rate and no delay"]
    file = tmp_path / "x.yaml"
    file.write_text(text.replace("duration: 1 s", "duration: 2 ms"), encoding="utf-8")
    done = CliRunner().invoke(app, ["run", str(file), "--store", str(tmp_path / "store")])
    assert done.exit_code == 0
    told = "".join(done.stderr.split())
    assert "warning:" in told
    assert "x.yaml:5" in told
    assert "neitheraratenoradelay" in told


def test_a_limit_that_is_raised_is_another_limit() -> None:
    text = scenario(BOUNDLESS["no rate and no delay"][0])
    check(text, allowed(["events=5e9"]))
    check(text, allowed(["all"]))
    check(text, allowed({"events": 5e9}))
    with pytest.raises(_core.ScenarioError, match="above the limit of 4e"):
        check(text, allowed(["events=4e9", "memory=16 GB"]))


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        ("flows", {"cubic}": "cubic, count: 100}"}),
        ("links", {"rtt:": "pairs: 1000, rtt:", "1 BDP": "1 packet"}),
        ("sampling.interval_ns", {"1 s": "1 s\nsampling: {interval: 1 us, keep: [samples]}"}),
    ],
)
def test_a_refusal_names_what_needs_most_memory(place: str, changes: dict[str, str]) -> None:
    text = DUMBBELL
    for old, new in changes.items():
        text = text.replace(old, new)
    if "sampling" not in text:
        text += "sampling: none\n"
    with pytest.raises(_core.ScenarioError, match="GB of memory") as refused:
        check(scenario(text), {"memory": 1e5, "rows": 1e9})
    assert refused.value.path == place


def test_memory_grows_with_flows_and_not_with_time() -> None:
    def bytes_of(text: str) -> float:
        return float(_core.budget(scenario(text))["memory_bytes"])

    several = UNSAMPLED.replace("cubic}", "cubic, count: 101}")
    # 6 kB: a sender and a receiver with their rows.
    assert bytes_of(several) - bytes_of(UNSAMPLED) == pytest.approx(100 * 6000, rel=0.3)
    longer = UNSAMPLED.replace("1 s", "100 s")
    assert bytes_of(longer) == pytest.approx(bytes_of(UNSAMPLED), rel=0.3)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ("event=5", "did you mean events"),
        ("memory=much", "memory=16 GB"),
        ("rows=", "rows=5e9"),
        ("=5", "no such limit; allowed: events, rows"),
    ],
)
def test_a_limit_that_is_none_is_refused(chosen: str, said: str) -> None:
    with pytest.raises(DumbbellError, match=said):
        allowed([chosen])


def test_one_limit_needs_no_list() -> None:
    assert allowed("all") == allowed(["all"])
    assert allowed("memory=16 GB") == allowed(["memory=16 GB"])


@pytest.mark.slow
@pytest.mark.parametrize("file", EXAMPLES, ids=[file.stem for file in EXAMPLES])
def test_an_estimate_is_of_the_order_of_what_a_run_takes(file: Path) -> None:
    """Loss and recovery make it less, acknowledgements of every segment more."""
    cell = load(file).cells[0]
    estimate = _core.budget(cell.scenario)
    output = _core.run(cell.scenario, 1)
    tables = {name: pl.read_ipc_stream(io.BytesIO(data)) for name, data in output.tables.items()}
    hops = tables["pipes"]["arrived_packets"].sum()
    assert hops / 3 <= estimate["events"] <= 6 * hops
    rows = sum(tables[name].height for name in ("samples", "queues", "packets", "hops", "probes"))
    assert 0.3 * rows <= estimate["rows"] <= 3 * rows
    captured = len(output.capture or b"")
    assert 0.3 * captured <= estimate["capture_bytes"] <= 4 * captured


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ("shaper: {tbf: {rate: 1 Mbit/s, burst: 1 byte}}, buffer: 10 packets", "shaper.tbf.burst"),
        ("policer: {rate: 1 Mbit/s, burst: 10 bytes}", "policer.burst"),
    ],
)
def test_a_bucket_for_no_frame_is_warned_of(field: str, place: str) -> None:
    text = (
        f"{PAIR}links: [{{between: [a, b], delay: 5 ms, {field}}}]\n"
        "flows: [{from: a, to: b, udp: 1 Mbit/s}]\nduration: 1 s\n"
    )
    found = concerns_everywhere(scenario(text))
    assert found, json.loads(scenario(text))["links"]
    assert all(
        place in one.path and "smaller than a full frame (1514 bytes)" in one.message
        for one in found
    )
    assert (
        concerns_everywhere(scenario(text.replace("1 byte", "2 KB").replace("10 b", "1514 b")))
        == []
    )
