"""Spraying per flow on the kernel: its multipath routes choose the paths of the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell.errors import EngineError

HEAD = "dumbbell: 1\nname: per flow\n"
#: UDP, fragments and echoes between pods; links without rate or delay.
PATHS = """\
template: {fat-tree: {k: 4}}
flows:
  - {name: "u{i}", from: "h{i}", to: "h{i+8}", count: 16, stop: 290 ms, udp: 1 Mbit/s}
  - {name: "i{i}", from: "h{i}", to: "h{i+12}", count: 16, stop: 290 ms, ping: 20 ms}
  - name: "e{i}"
    from: "h{i}"
    to: "h{i+4}"
    count: 16
    stop: 290 ms
    ping: {interval: 20 ms, protocol: udp}
  - name: "f{i}"
    from: "h{i}"
    to: "h{i+9}"
    count: 16
    stop: 290 ms
    udp: {rate: 2 Mbit/s, datagram: 4 KB}
duration: 1 s
"""
#: A permutation of CUBIC flows. Hashed, some share a link.
CUBIC = """\
template:
  fat-tree: {k: 4, rate: 20 Mbit/s, delay: 1 ms, buffer: 50 packets, spray: SPRAY}
flows:
  - {from: "h{i}", to: "h{i+8}", count: 16, tcp: cubic}
duration: 3 s
"""


def run(text: str, engine: str, folder: Path) -> dumbbell.Results:
    """Runs an experiment on one engine."""
    file = folder / "e.yaml"
    file.write_text(HEAD + text, encoding="utf-8")
    return dumbbell.run(file, engine=engine)


def packets(results: dumbbell.Results) -> dict[str, int]:
    """Packets through each direction of each link."""
    return dict(results.pipes.select("pipe", "left_packets").iter_rows())


def assert_same_paths(engine: str, folder: Path) -> None:
    """Compares the packets of every link with the simulator's: flows send at given times."""
    expected, found = (packets(run(PATHS, name, folder)) for name in ("sim", engine))
    assert len(set(expected.values())) > 20, "links differ"
    assert found == expected


@pytest.mark.kernel
def test_flows_have_the_paths_of_the_simulator(tmp_path: Path) -> None:
    assert_same_paths("linux", tmp_path)


@pytest.mark.slow
@pytest.mark.root
def test_the_hosts_kernel_has_the_paths_of_the_simulator(tmp_path: Path) -> None:
    try:
        assert_same_paths("netns", tmp_path)
    except EngineError as error:
        if "lacks" in str(error):
            pytest.skip(str(error))
        raise


@pytest.mark.slow
@pytest.mark.kernel
@pytest.mark.parametrize("what", ["both", "data", "acks"])
def test_connections_use_the_links_of_the_simulator(what: str, tmp_path: Path) -> None:
    text = CUBIC.replace("SPRAY", f"{{policy: per_flow, what: {what}}}")
    ours, kernels = (run(text, engine, tmp_path) for engine in ("sim", "linux"))
    used = [
        {pipe for pipe, count in packets(results).items() if count > 0}
        for results in (ours, kernels)
    ]
    assert used[0] == used[1]
    assert 64 < len(used[0]) < 2 * 48
    # Flows on one link share it in other parts on each engine; their sum is the link's rate.
    goodput = [results.flows["delivered_bytes"].sum() for results in (ours, kernels)]
    assert abs(goodput[0] / goodput[1] - 1) < 0.03
