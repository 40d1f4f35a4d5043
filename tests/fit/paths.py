"""A dumbbell with one captured flow, and what is estimated of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dumbbell import _core
from dumbbell.experiment.load import load


def captured(
    tcp: str | dict[str, Any],
    folder: Path,
    *,
    tap: str = "s1",
    others: Sequence[dict[str, Any]] = (),
    duration: str = "10 s",
    seed: int = 1,
    **path: Any,
) -> str:
    """Capture of a flow over 20 Mbit/s, 40 ms and 100 packets, if `path` says no other.

    `tap`: host of the tap, `s1` or `d1`. `others`: further flows, from `s2` to `d2`.
    """
    access = {"rate": "1 Gbit/s", "buffer": "1000 packets"}
    line = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "100 packets", "access": access, **path}
    contents = {
        "dumbbell": 1,
        "name": "captured",
        "template": {"dumbbell": {"pairs": 2, **line}},
        "flows": [
            {"name": "f", "from": "s1", "to": "d1", "tcp": tcp},
            *({"from": "s2", "to": "d2", **one} for one in others),
        ],
        "taps": [{"at": tap, "link": "s1-r1" if tap == "s1" else "r2-d1"}],
        "sampling": {"keep": [], "capture": True},
        "duration": duration,
    }
    file = folder / "captured.pcapng"
    file.write_bytes(_core.run(load(contents).cells[0].scenario, seed).capture or b"")
    return str(file)
