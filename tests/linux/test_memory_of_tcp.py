"""Memory of TCP in a guest: a long fat path does not bring the kernel into memory pressure."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell

TEXT = """\
dumbbell: 1
name: satellite
template:
  dumbbell:
    rate: 100 Mbit/s
    rtt: 600 ms
    forward: {buffer: 1 BDP}
    backward: {buffer: 10000 packets}
hosts:
  defaults: {cubic_hystart: false}
  s1: {tcp_wmem: [4096, 1000000, 128000000]}
  d1: {tcp_rmem: [4096, 131072, 128000000]}
flows: [{name: f, from: s1, to: d1, tcp: cubic}]
sampling: {interval: 200 ms, keep: [samples]}
duration: 12 s
"""


@pytest.mark.kernel
@pytest.mark.slow
def test_the_receive_window_stays_open_on_100_mbit_s_and_600_ms(tmp_path: Path) -> None:
    """With `tcp_mem` of the kernel's choice (32 MiB) it fell to 174 kB, and then to 6 kB."""
    file = tmp_path / "e.yaml"
    file.write_text(TEXT, encoding="utf-8")
    samples = dumbbell.run(file, engine="linux").samples.sort("time_ns")
    late = samples.filter(samples["time_ns"] > 9e9)
    # Two BDP are 15 MB.
    assert late["rwnd_bytes"].min() > 15e6
