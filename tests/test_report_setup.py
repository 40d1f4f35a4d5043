"""The set-up of an experiment in words."""

from __future__ import annotations

from pathlib import Path

import dumbbell
from dumbbell.report.setup import setup

TEXT = """\
dumbbell: 1
name: told
template:
  dumbbell:
    pairs: 2
    rtt: 20 ms
    forward:
      {rate: 10 Mbit/s, buffer: 50 packets, loss: 1 %, policer: {rate: 9 Mbit/s, burst: 50 KiB}}
    backward: {rate: 1 Mbit/s, buffer: 20 packets}
flows:
  - {from: s1, to: d1, tcp: cubic}
  - {from: s2, to: d2, start: 1 s, udp: {rate: 1 Mbit/s}}
duration: 2 s
"""


def told(folder: Path, text: str) -> str:
    file = folder / "told.yaml"
    file.write_text(text, encoding="utf-8")
    return setup(dumbbell.run(file))


def test_traffic_base_rtt_and_links_are_told(tmp_path: Path) -> None:
    assert told(tmp_path, TEXT) == (
        "CUBIC s1→d1 from 0 s, UDP s2→d2 from 1 s. Base RTT 20 ms. Links: bottleneck →: 10 Mbit/s, "
        "delay 10 ms, queue of 50 packets, 1 % loss, policer 9 Mbit/s; bottleneck ←: 1 Mbit/s, "
        "delay 10 ms, queue of 20 packets."
    )


def test_changes_and_cells_are_told(tmp_path: Path) -> None:
    changing = TEXT.replace("pairs: 2", "pairs: $pairs").replace(
        "policer", "changes: [{at: 1 s, rate: 5 Mbit/s}], policer"
    )
    words = told(tmp_path, changing + "factors: {pairs: [2, 3]}\n")
    assert words.startswith("First cell: CUBIC s1→d1 from 0 s, ")
    assert ", policer 9 Mbit/s, from 1 s 5 Mbit/s; " in words


def test_changes_that_are_not_told_are_counted(tmp_path: Path) -> None:
    """Else the loss of the fifth change would seem to last."""
    times = (f"{{at: {1 + one / 10} s, loss: {one % 2} %}}" for one in range(1, 8))
    words = told(tmp_path, TEXT.replace("policer", f"changes: [{', '.join(times)}], policer"))
    assert ", from 1.5 s 1 % loss, then 2 more changes; " in words
