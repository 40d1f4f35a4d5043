"""Words of netem on both engines. Both draw the same numbers: the same packets are lost, doubled,
early, and late by the same time.

Where numbers are correlated, the kernel begins with one that nobody knows (`init_crandom`). Its
weight is gone after some packets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dumbbell
from tests.scale import tried

pytestmark = pytest.mark.kernel

#: Packets after which the first number of a correlation is forgotten: 0.5^40 is below 2^-32.
RUN_IN = 40
#: Packets, 1 ms apart, that may be under way when the run ends.
RUN_OUT = 90
TEXT = """\
dumbbell: 1
name: words
hosts: {a: {}, b: {}}
routers: {r: {}}
links:
  - {name: in, between: [a, r], delay: 1 ms}
  - {name: line, between: [r, b], forward: {LINK}}
flows:
  - {name: f, from: a, to: b, udp: {rate: RATE, datagram: 200 bytes}}
taps: [{name: near, at: r, link: in}, {name: far, at: b, link: line}]
sampling: {packets: {to: 100 s}}
duration: DURATION
"""
Times = dict[int, list[int]]


def packets(
    folder: Path, link: str, engine: str, count: int, rate_kbps: int = 1600
) -> pl.DataFrame:
    """Packets that a stream offers to a link and that arrive behind it."""
    file = folder / "e.yaml"
    duration = f"{count * 200 * 8 / rate_kbps} ms"
    text = TEXT.replace("LINK", link).replace("RATE", f"{rate_kbps} kbit/s")
    file.write_text(text.replace("DURATION", duration), encoding="utf-8")
    return dumbbell.run(file, engine=engine).packets.filter(pl.col("flow") == "f")


def times(table: pl.DataFrame, tap: str) -> Times:
    """Times of each packet at a tap."""
    found: Times = {}
    at = table.filter(pl.col("tap") == tap).sort("time_ns", maintain_order=True)
    for number, time in at.select("packet_number", "time_ns").iter_rows():
        found.setdefault(number, []).append(time)
    return found


def on_both(folder: Path, link: str, count: int) -> list[tuple[Times, Times]]:
    """Times at the near and at the far end on both engines."""
    tables = [packets(folder, link, engine, count) for engine in ("sim", "linux")]
    return [(times(table, "near"), times(table, "far")) for table in tables]


WORDS = {
    "normal": "delay: {mean: 20 ms, jitter: 5 ms, distribution: normal}",
    "pareto": "delay: {mean: 20 ms, jitter: 5 ms, distribution: pareto}",
    "paretonormal": "delay: {mean: 20 ms, jitter: 3311 us, distribution: paretonormal}",
    "uniform": "delay: {mean: 5 ms, jitter: 9 ms}",
    "file": "delay: {mean: 20 ms, jitter: 5 ms, distribution: own.dist}",
    "correlation of delay": "delay: {mean: 20 ms, jitter: 5 ms, correlation: 50 %}",
    "correlation of loss": "loss: {random: {probability: 30 %, correlation: 40 %}}",
    "gemodel": "loss: {gemodel: {p: 5 %, r: 30 %, loss_bad: 80 %, loss_good: 1 %}}",
    "state": "loss: {state: {p13: 3 %, p31: 25 %, p32: 30 %, p23: 50 %, p14: 1 %}}",
    "duplicate": "delay: 5 ms, duplicate: 20 %, loss: 10 %",
    "reorder": "delay: 20 ms, reorder: {probability: 40 %, correlation: 50 %}",
    "gap": "delay: 20 ms, reorder: {probability: 100 %, gap: 5}",
    "seed": "delay: {mean: 20 ms, jitter: 5 ms}, loss: 10 %, seed: 42",
    "all": "delay: {mean: 9 ms, jitter: 4 ms, distribution: normal, correlation: 10 %}, "
    "loss: {gemodel: {p: 5 %}}, duplicate: 5 %, reorder: {probability: 9 %, gap: 3}",
}
LINKS = {name: f"netem: {{{words}, limit: 1000 packets}}" for name, words in WORDS.items()}
LINKS |= {
    "slot": "buffer: 500 packets, slots: {distribution: {name: normal, delay: 9 ms, jitter: 2 ms}}",
    "slot, packets": "buffer: 500 packets, "
    "slots: {distribution: {name: pareto, delay: 9 ms, jitter: 3 ms}, packets: 12}",
    "bursts in time": "loss: {gilbert_elliott: "
    "{good_to_bad: 20 %, bad_to_good: 40 %, every: 10137 us}}",
    "states in time": "loss: {state: {p13: 20 %, p31: 30 %, p32: 30 %, p14: 5 %, every: 10137 us}}",
}


@pytest.mark.parametrize("name", LINKS)
def test_both_engines_draw_the_same(tmp_path: Path, name: str) -> None:
    (tmp_path / "own.dist").write_text("# mine\n-8192 -8192 0 1000\n16000\n", encoding="utf-8")
    (_, ours), (_, theirs) = on_both(tmp_path, LINKS[name], 400)
    late = [number for number in sorted(ours) if RUN_IN <= number < 400 - RUN_OUT]
    assert late == [number for number in sorted(theirs) if RUN_IN <= number < 400 - RUN_OUT]
    assert {number: len(ours[number]) for number in late} == {
        number: len(theirs[number]) for number in late
    }
    apart = [
        abs(one - other)
        for number in late
        for one, other in zip(ours[number], theirs[number], strict=True)
    ]
    assert max(apart) < (20_000 if "in time" in name else 3000), name


def test_both_engines_damage_as_many(tmp_path: Path) -> None:
    """The kernel's tap sees damaged packets, the simulator's does not; no receiver takes them."""
    packets(tmp_path, "netem: {corrupt: 10 %, limit: 1000 packets}", "sim", 400)
    received = [
        dumbbell.run(tmp_path / "e.yaml", engine=engine).flows["delivered_bytes"].item() / 200
        for engine in ("sim", "linux")
    ]
    assert 320 < received[0] < 385
    # One packet may be under way at the end, and a bit may be one that nobody checks.
    assert received[0] == pytest.approx(received[1], abs=5)


def delays(near: Times, far: Times) -> Any:
    return np.array([far[number][0] - near[number][0] for number in far if number in near]) / 1e6


def normal(mean: float, deviation: float) -> Callable[[float], float]:
    return lambda ms: 0.5 + 0.5 * math.erf((ms - mean) / deviation / math.sqrt(2))


def pareto(mean: float, deviation: float) -> Callable[[float], float]:
    """Exponent 3, minimum 1: mean 1.5; a deviation of tc is 3/4 of it."""

    def share(ms: float) -> float:
        value = (ms - mean) / deviation * 3 / 4 + 1.5
        return 0.0 if value <= 1 else 1 - value**-3.0

    return share


@pytest.mark.parametrize(
    ("distribution", "share"), [("normal", normal(20, 2)), ("pareto", pareto(20, 2))]
)
def test_delays_have_their_distribution(
    tmp_path: Path, distribution: str, share: Callable[[float], float]
) -> None:
    """Kolmogorov–Smirnov: √n times the largest distance is below 1.63 in 99 of 100 samples."""
    link = f"netem: {{delay: {{mean: 20 ms, jitter: 2 ms, distribution: {distribution}}}, "
    table = packets(tmp_path, link + "limit: 1000 packets}", "sim", tried(4000, 10_000))
    found = np.sort(delays(times(table, "near"), times(table, "far")))
    expected = np.array([share(float(one)) for one in found])
    n = len(found)
    distance = max(
        np.max(np.arange(1, n + 1) / n - expected), np.max(expected - np.arange(n) / n)
    )  # fmt: skip
    assert n > 3900 and math.sqrt(n) * distance < 1.63


def test_correlated_losses_follow_each_other(tmp_path: Path) -> None:
    """A number is 0.4 of the one before and 0.6 of a new one, so losses come in a row.

    It is below 0.3 if the new one is below (0.3 - 0.4 × the one before) / 0.6. By integrals over
    the stationary distribution, which a chain of many numbers here stands for.
    """
    link = "netem: {loss: {random: {probability: 30 %, correlation: 40 %}}, limit: 1000 packets}"
    table = packets(tmp_path, link, "sim", 6000)
    near, far = times(table, "near"), times(table, "far")
    lost = np.array([number not in far for number in sorted(near)])
    numbers, last = [], 0.5
    for new in np.random.default_rng(1).random(200_000):
        last = 0.4 * last + 0.6 * new
        numbers.append(last)
    below = np.array(numbers) < 0.3
    assert np.mean(lost) == pytest.approx(np.mean(below), abs=0.02)
    again = [float(np.mean(each[1:][each[:-1]])) for each in (lost, below)]
    assert again[0] == pytest.approx(again[1], abs=0.05)
    assert again[0] > 1.5 * np.mean(lost)


def test_steps_in_time_hold_for_all_packets_of_a_step(tmp_path: Path) -> None:
    """A packet is lost if its step is bad: twice as many packets, twice as long runs."""
    link = LINKS["bursts in time"]
    runs = []
    for rate in (1600, 3200):
        table = packets(tmp_path, link, "sim", 6000 * rate // 1600, rate)
        near, far = times(table, "near"), times(table, "far")
        lost = [number not in far for number in sorted(near)]
        begins = sum(one and not before for before, one in zip([False, *lost], lost, strict=False))
        runs.append(sum(lost) / begins)
    assert runs[1] / runs[0] == pytest.approx(2, rel=0.05)
    # 10.137 ms of packets 1 ms apart, for 1/0.4 steps.
    assert runs[0] == pytest.approx(10.137 / 0.4, rel=0.2)
