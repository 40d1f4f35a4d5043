"""A translation runs on the kernel's engine too, and both agree."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell.metrics import METRICS
from tests.translate.helpers import of

ROOT = "tc qdisc add dev eth0 root "
HTB = """tc qdisc add dev eth0 root handle 1: htb default 1
tc class add dev eth0 parent 1: classid 1:1 htb rate 20mbit burst 15k
tc qdisc add dev eth0 parent 1:1 """
LINES = [
    ROOT + "netem delay 100ms",
    ROOT + "netem delay 20ms rate 20mbit limit 100",
    ROOT + "tbf rate 20mbit burst 32kbit latency 50ms",
    HTB + "netem delay 10ms limit 100",
    HTB + "fq_codel",
]


def goodput(file: Path, engine: str) -> float:
    results = dumbbell.run(file, engine=engine, workers=1)
    return float(METRICS["goodput_mbps"].measure(results)["value"][0])


@pytest.mark.kernel
@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_both_engines_agree(line: str, tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(of(line).text, encoding="utf-8")
    assert goodput(file, "sim") == pytest.approx(goodput(file, "linux"), rel=0.01)
