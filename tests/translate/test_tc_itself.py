"""Units beside those of tc, which sets up a token bucket in a network namespace of its own."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from dumbbell.translate import units

ASKED = [
    ("1mbit", "32kbit", "3000"),
    ("1mbps", "15k", "10kb"),
    ("1mibit", "2000", "3kbit"),
    ("2gbit", "100kb", "2m"),
    ("9600", "2000b", "5000"),
    ("0.5mbit", "5kb", "20k"),
    ("1kibps", "3000", "9000"),
    ("7tbit", "9m", "1g"),
]


def shown(rate: str, burst: str, limit: str) -> dict[str, Any]:
    """What tc shows of a token bucket that it has set up."""
    script = (
        f"tc qdisc add dev lo root tbf rate {rate} burst {burst} limit {limit}"
        " && tc -d -r -j qdisc show dev lo"
    )
    try:
        done = subprocess.run(
            ["unshare", "-rn", "sh", "-c", script], capture_output=True, text=True, timeout=30
        )
    except FileNotFoundError:
        pytest.skip("no unshare")
    if done.returncode != 0 or not done.stdout.strip():
        pytest.skip(f"no tc in a namespace of its own: {done.stderr.strip()[:80]}")
    found: dict[str, Any] = json.loads(done.stdout)[0]["options"]
    return found


@pytest.mark.parametrize(("rate", "burst", "limit"), ASKED)
def test_units_are_those_of_tc(rate: str, burst: str, limit: str) -> None:
    options = shown(rate, burst, limit)
    assert units.rate(rate) == 8 * options["rate"]
    assert units.size(limit) == options["limit"]
    # tc hands the burst to the kernel as a time, in ticks of 64 ns.
    bits, bucket = units.rate(rate), units.size(burst)
    assert bits is not None and bucket is not None
    assert int(options["burst_raw"], 16) * 64e-9 == pytest.approx(bucket * 8 / bits, rel=0.01)
