"""Small stores for tests of the explorer."""

from __future__ import annotations

from pathlib import Path

import dumbbell

#: Its name and a flow's are hostile to pages; all that is kept of a run is kept.
EXPERIMENT = """\
dumbbell: 1
name: two <img src=x onerror=alert(1)> & flows
template:
  dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: $rtt, buffer: 20 packets}
flows:
  - {name: a, from: s1, to: d1, tcp: $cc, start_jitter: 1 RTT}
  - {name: "<b>b</b>", from: s2, to: d2, tcp: bbr, start: 1 s, start_jitter: 1 RTT}
taps:
  - {name: tap, at: r1, link: s1-r1}
sampling: {interval: 10 ms, keep: [samples, queues, drops], packets: {to: 1 s}}
duration: 3 s
factors:
  rtt: [10 ms, 50 ms]
  cc: [reno, cubic]
repeats: 2
"""
NAME = "two <img src=x onerror=alert(1)> & flows"


def small_store(folder: Path) -> Path:
    """A store with four cells of two runs, which keep everything over time."""
    file = folder / "e.yaml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    dumbbell.run(file, store=folder / "store")
    return folder / "store"
