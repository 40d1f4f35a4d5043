"""Properties of hosts that several flows or one end alone feel, on both engines."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.errors import DumbbellError
from tests import kernel

pytestmark = pytest.mark.kernel

PROFILE = f"linux-{kernel.RELEASE}"
COLUMNS = ("data_packets", "retransmitted_packets", "delivered_bytes")


def on_both(folder: Path, text: str) -> list[pl.DataFrame]:
    file = folder / "e.yaml"
    file.write_text(text.replace("PROFILE", PROFILE), encoding="utf-8")
    return [dumbbell.run(file, engine=engine).flows for engine in ("sim", "linux")]


@pytest.mark.parametrize("queue", ["fq_codel", "{sfq: {limit: 20 packets}}"])
def test_a_shaper_at_the_hosts_own_link_does_not_stop_tcp(tmp_path: Path, queue: str) -> None:
    """Small queues do not count it, also if the link has no delay (docs/linux-engine.md)."""
    ours, kernels = on_both(
        tmp_path,
        f"""\
dumbbell: 1
name: own
hosts: {{c: , s: , defaults: {{profile: PROFILE}}}}
routers: {{m: }}
links:
  - {{between: [c, m], forward: {{rate: 3.2 Mbit/s, queue: {queue}}}}}
  - {{between: [m, s], delay: 12 ms}}
flows: [{{from: c, to: s, tcp: cubic}}]
duration: 4 s
""",
    )
    (retransmitted,) = kernels["retransmitted_packets"]
    assert retransmitted > 0
    assert ours.select(COLUMNS).rows() == kernels.select(COLUMNS).rows()


def test_fq_of_a_host_paces_all_its_flows(tmp_path: Path) -> None:
    """BBR asks for fq. So Reno, which begins before it at the same host, is paced, too."""
    text = """\
dumbbell: 1
name: paced
hosts: {a: , b: , defaults: {profile: PROFILE}}
routers: {r: , q: }
links:
  - {between: [a, r], delay: 2 ms}
  - {between: [r, q], delay: 20 ms, rate: 8 Mbit/s, buffer: 25 packets}
  - {between: [q, b], delay: 1 ms}
flows:
  - {from: a, to: b, tcp: reno}
  - {from: a, to: b, tcp: bbr, start: 3.9 s}
duration: 4 s
"""
    ours, kernels = on_both(tmp_path, text)
    assert ours.select(COLUMNS).row(0) == kernels.select(COLUMNS).row(0)
    unpaced = text.replace("tcp: bbr", "tcp: {congestion_control: bbr, fq: false}")
    assert unpaced != text
    other = dumbbell.run(_written(tmp_path, unpaced)).flows
    assert other.select(COLUMNS).row(0) != kernels.select(COLUMNS).row(0)


def _written(folder: Path, text: str) -> Path:
    file = folder / "other.yaml"
    file.write_text(text.replace("PROFILE", PROFILE), encoding="utf-8")
    return file


def test_an_mtu_of_the_sender_alone_leaves_the_receivers_window(tmp_path: Path) -> None:
    """The receiver's windows are multiples of the MSS of its own device (`tp->advmss`)."""
    ours, kernels = on_both(
        tmp_path,
        """\
dumbbell: 1
name: mtu
template: {dumbbell: {rate: 3.3 Mbit/s, rtt: 61 ms, buffer: 50 packets}}
hosts: {s1: {mtu: 576 bytes}, defaults: {profile: PROFILE}}
flows: [{from: s1, to: d1, tcp: cubic}]
duration: 8 s
""",
    )
    assert kernels["retransmitted_packets"].item() > 50
    for column in COLUMNS:
        assert ours[column].item() == pytest.approx(kernels[column].item(), rel=0.001, abs=1), (
            column
        )


@pytest.mark.parametrize("traffic", ["cubic", "{congestion_control: cubic, bytes: 1 MiB}"])
def test_a_connection_that_tcp_gives_up_ends_the_flow_alone(tmp_path: Path, traffic: str) -> None:
    ours, kernels = on_both(
        tmp_path,
        f"""\
dumbbell: 1
name: aborted
template:
  dumbbell:
    rate: 3.2 Mbit/s
    rtt: 60 ms
    buffer: 20 packets
    forward: {{changes: [{{at: 2 s, loss: 100 %}}]}}
hosts: {{defaults: {{tcp_retries2: 3, profile: PROFILE}}}}
flows:
  - {{from: s1, to: d1, tcp: {traffic}}}
  - {{from: d1, to: s1, udp: 100 kbit/s}}
duration: 10 s
""",
    )
    assert kernels["end_ns"][0] < 9e9
    if kernel.RELEASE == "6.1":  # It gives up to 128 ms earlier or later; the cause is not known.
        assert ours["end_ns"][0] == pytest.approx(kernels["end_ns"][0], abs=130e6)
        return
    assert ours["end_ns"][0] == pytest.approx(kernels["end_ns"][0], abs=1000)
    assert ours.select(COLUMNS).rows() == kernels.select(COLUMNS).rows()


def test_a_send_buffer_that_limits_bbr_marks_it_application_limited(tmp_path: Path) -> None:
    """Application-limited samples do not end BBR's STARTUP."""
    ours, kernels = on_both(
        tmp_path,
        """\
dumbbell: 1
name: small-buffer
template: {dumbbell: {rate: 80 Mbit/s, rtt: 60 ms, buffer: 350 packets}}
hosts: {defaults: {tcp_wmem: [4096, 16384, 2097152], profile: PROFILE}}
flows: [{from: s1, to: d1, tcp: bbr}]
duration: 4 s
""",
    )
    assert kernels["retransmitted_packets"].item() > 1000
    assert ours["retransmitted_packets"].item() == pytest.approx(
        kernels["retransmitted_packets"].item(), rel=0.25
    )
    assert ours["delivered_bytes"].item() == pytest.approx(
        kernels["delivered_bytes"].item(), rel=0.02
    )


def test_a_threshold_is_refused_which_linux_would_ignore(tmp_path: Path) -> None:
    text = """\
dumbbell: 1
name: threshold
template: {dumbbell: {rate: 8 Mbit/s, rtt: 20 ms, buffer: 20 packets}}
hosts: {defaults: {ssthresh: 20}}
flows: [{from: s1, to: d1, tcp: reno}]
duration: 1 s
"""
    with pytest.raises(DumbbellError, match=r"ssthresh.*Linux has it from an earlier connection"):
        dumbbell.run(_written(tmp_path, text), engine="linux")
