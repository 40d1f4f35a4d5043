"""Experiments with a search whose answer is arithmetic: datagrams at constant rates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dumbbell.search.run import Outcome, search

#: The share of `mine` is mine / (mine + other): least at 1 and 9 Mbit/s. `rtt` and `buffer`
#: change nothing.
SHARES = """\
# Datagrams of two flows.
dumbbell: 1
name: datagrams
template:
  dumbbell: {pairs: 2, rtt: $rtt, forward: {rate: 100 Mbit/s, buffer: $buffer}}  # never full
flows:
  - {name: mine, from: s1, to: d1, udp: {rate: $mine, datagram: 958 bytes}, start_jitter: 1 ms}
  - {name: other, from: s2, to: d2, udp: {rate: $other, datagram: 958 bytes}, start_jitter: 1 ms}
duration: 2 s
# What is sought.
search:
  attack: {metric: share, flow: mine}
  space:
    rtt: [10 ms, 20 ms, 30 ms]
    buffer: {from: 10 packets, to: 1000 packets, scale: log, start: 100 packets}
    mine: {from: 1 Mbit/s, to: 9 Mbit/s, start: 5 Mbit/s}
    other: {from: 1 Mbit/s, to: 9 Mbit/s, start: 5 Mbit/s}
  evaluations: 24
  repeats: 2
"""

#: The queue delays by its length while it is full, and the line is used in proportion to the rate.
QUEUE = """\
dumbbell: 1
name: queue
template: {dumbbell: {rtt: 20 ms, forward: {rate: 10 Mbit/s, buffer: $buffer}}}
flows:
  - {name: f, from: s1, to: d1, tcp: reno, start_jitter: 1 RTT}
duration: 5 s
search:
  optimise:
    metric: queue_delay_p95_ms
    goal: minimise
    subject_to: [{metric: utilisation, above: 90 %}]
  space:
    buffer: {from: 1 packets, to: 60 packets, start: 50 packets}
  evaluations: 16
  repeats: 1
"""


def written(text: str, folder: Path) -> Path:
    """File of an experiment."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "e.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def searched(text: str, folder: Path, **options: Any) -> Outcome:
    """Outcome of a search, with its store in the folder `store`."""
    return search(written(text, folder), store=folder / "store", **options)


def levels(outcome: Outcome) -> dict[str, str]:
    """Values that were found."""
    return {name: level.label for name, level in outcome.found.point.items()}
