"""All rates × 2 and all times ÷ 2: each number changes by its unit.

TCP is left out, since its clocks do not scale: the least retransmission time-out (200 ms), the
delayed ACK (40 ms) and jiffies are constants of Linux. Datagrams and echoes have no clock of their
own, so all that links and queues do to them scales exactly.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import dumbbell
from dumbbell.metrics import METRICS
from dumbbell.results import Results
from tests.scale import SCALE

pytestmark = pytest.mark.slow

COUNT = 20 * SCALE
#: Unit → factor by which its numbers change.
FACTORS = {
    "Mbit/s": 2.0, "kbit/s": 2.0, "kB/s": 2.0, "1/min": 2.0, "s": 0.5, "ms": 0.5, "us": 0.5,
    "": 1.0, "share": 1.0, "%": 1.0, "packets": 1.0, "flows": 1.0, "connections": 1.0,
    "requests": 1.0, "requests/s": 2.0,
    "bytes": 1.0, "blocks": 1.0, "BDP": 1.0,
}  # fmt: skip
#: Metrics that compare with a constant of the world, and so do not scale.
CONSTANTS = {
    "voice_r": "the E-model's delay of 177 ms is a constant (ITU-T G.107)",
    "voice_mos": "as voice_r",
    "rpm": "a mean of few pings: which of them fall in the time of load",
    "peak_1ms_mbps": "its window of 1 ms is a constant",
    "peak_10ms_mbps": "as peak_1ms_mbps",
    "peak_100ms_mbps": "as peak_1ms_mbps",
    "probe_loss_ratio": "probes of the last second of load are left out",
}
QUEUES = ("{pfifo: {limit: 20 packets}}", "{pfifo: {limit: 5 packets}}", "{bfifo: {limit: 30 KiB}}")


def written(number: int, scale: int) -> str:
    """An experiment of datagrams and echoes; `scale` 2 has half of all times, twice the rates."""
    draw = random.Random(number)
    rate, delay_us = draw.randint(2, 40) * scale, draw.randint(2, 40) * 1000 // scale
    flows = [
        f"  - {{name: f{i}, from: s1, to: d1, start: {draw.randint(0, 100) * 1000 // scale} us, "
        f"udp: {{rate: {draw.randint(1, 30) * scale} Mbit/s, "
        f"datagram: {draw.choice((200, 958, 1472))} bytes}}}}"
        for i in range(draw.randint(1, 3))
    ]
    flows.append(f"  - {{name: p, from: s1, to: d1, ping: {10_000 // scale} us}}")
    return "\n".join(
        [
            "dumbbell: 1",
            "name: scaled",
            "template:",
            f"  dumbbell: {{pairs: 1, rtt: {delay_us} us, rate: {rate} Mbit/s, "
            f"queue: {draw.choice(QUEUES)}, "
            f"access: {{rate: {1000 * scale} Mbit/s, buffer: 1000 packets}}}}",
            "flows:",
            *flows,
            f"sampling: {{interval: {10_000 // scale} us, keep: [samples, queues, probes]}}",
            f"duration: {2_000_000 // scale} us",
        ]
    )


def ran(folder: Path, number: int, scale: int) -> Results:
    file = folder / "scaled.yaml"
    file.write_text(written(number, scale) + "\n", encoding="utf-8")
    return dumbbell.run(file)


@pytest.mark.parametrize("number", range(COUNT))
def test_each_number_scales_by_its_unit(number: int, tmp_path: Path) -> None:
    one, other = ran(tmp_path, number, 1), ran(tmp_path, number, 2)
    compared = 0
    for metric in METRICS.values():
        if metric.name in CONSTANTS:
            continue
        values = [metric.computed(results)["value"].to_numpy() for results in (one, other)]
        expected = values[0] * FACTORS[metric.unit]
        same = np.allclose(values[1], expected, rtol=1e-3, atol=1e-9, equal_nan=True)
        assert same, f"{metric.name}: {values[1]}, expected {expected}"
        compared += int(np.isfinite(expected).sum())
    assert compared > 20


def test_every_unit_has_a_factor() -> None:
    assert {metric.unit for metric in METRICS.values()} <= set(FACTORS)
    assert set(CONSTANTS) <= set(METRICS)
