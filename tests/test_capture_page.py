"""The page of a capture: what its program computes, by node where it is installed."""

from __future__ import annotations

import json
import subprocess
from importlib.resources import files
from typing import Any

import pytest

pytestmark = pytest.mark.peers("node")


def computed(expression: str) -> Any:
    """What an expression comes to behind the page's functions."""
    code = files("dumbbell.capture").joinpath("scripts/packets.js").read_text(encoding="utf-8")
    code += f"\nconsole.log(JSON.stringify({expression}));"
    done = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("flight", "window", "y", "w"),
    [
        ([0, 1000], [None, 3000], 3300, None),
        ([5000, 1000], [3000, None], 5500, None),
        ([0, 1000], [6_000_000, 100], 1100, 6_600_000),
        ([], [], 1.1, None),
    ],
)
def test_neither_bytes_in_flight_nor_the_window_is_cut_off(
    flight: list[int], window: list[int | None], y: float, w: float | None
) -> None:
    found = computed(f"tops({json.dumps(flight)}, {json.dumps(window)})")
    assert found["y"] == pytest.approx(y)
    assert found["w"] == (None if w is None else pytest.approx(w))
