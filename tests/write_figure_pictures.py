"""Writes the pictures of `docs/figures.md`, a file per kind, and that of `README.md`.

`python -m tests.write_figure_pictures [KIND…]`.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell.figures.paper import COLUMN_MM
from dumbbell.figures.theme import THEMES
from tests.helpers import ROOT

PICTURES = ROOT / "docs" / "images"

PAIRS = """\
dumbbell: 1
name: pairs
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: $rtt, buffer: 1 BDP}}
flows:
  - {name: first, from: s1, to: d1, tcp: $cc, start_jitter: 50 ms}
  - {name: second, from: s2, to: d2, tcp: $other, start_jitter: 50 ms}
taps: [{at: r1, link: s1-r1}, {at: r1, link: s2-r1}]
factors:
  rtt: [10 ms, 20 ms, 40 ms, 80 ms]
  cc: [reno, cubic, bbr]
  other: [reno, cubic, bbr]
sampling: {interval: 100 ms, keep: [samples, queues, drops]}
repeats: 4
duration: 15 s
"""
LOADED = """\
dumbbell: 1
name: loaded
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 30 ms, forward: {queue: $queue}}}
flows:
  - {name: download, from: s1, to: d1, tcp: cubic, start: 2 s, stop: 12 s}
  - {name: echo, from: s2, to: d2, ping: 100 ms}
factors:
  queue:
    - {label: drop-tail, value: {pfifo: {limit: 150 packets}}}
    - {label: codel, value: codel}
    - {label: fq_codel, value: fq_codel}
sampling: {interval: 100 ms, keep: [samples, queues, probes]}
duration: 15 s
"""
TAPPED = """\
dumbbell: 1
name: tapped
template: {dumbbell: {rate: 5 Mbit/s, rtt: 40 ms, buffer: 12 packets}}
flows:
  - {name: transfer, from: s1, to: d1, tcp: {congestion_control: cubic, bytes: 400 KiB}}
taps: [{name: sender, at: s1, link: s1-r1}, {name: receiver, at: d1, link: r2-d1}]
sampling: {interval: 20 ms, keep: [samples], packets: {from: 0 s, to: 3 s}}
duration: 3 s
"""
_BESIDE = {"other": "cubic"}
_AT = {"rtt": "40 ms"}

#: Kind → experiment and options of its picture.
DRAWN: dict[str, tuple[str, dict[str, Any]]] = {
    "sweep": (PAIRS, {"by": "cc", "where": _BESIDE, "flow": "first"}),
    "bars": (PAIRS, {"x": "other", "by": "cc", "where": _AT, "flow": "first"}),
    "matrix": (PAIRS, {"where": _AT}),
    "delay-throughput": (PAIRS, {"where": {**_AT, "other": "cubic"}}),
    "runs": (PAIRS, {"metric": "goodput_mbps", "by": ["cc", "rtt"],
                     "where": {**_BESIDE, "flow": "first", "rtt": ["10 ms", "40 ms"]}}),
    "goodput": (PAIRS, {"by": "flow", "where": {"cc": "bbr", "other": "cubic"}}),
    "rtt": (PAIRS, {"by": "cc", "where": _BESIDE, "flow": "first"}),
    "window": (PAIRS, {"by": "flow", "where": {**_AT, "cc": "bbr", "other": "cubic"}}),
    "series": (PAIRS, {"where": {**_AT, "cc": "bbr", "other": "cubic"}}),
    "cdf": (LOADED, {"by": "queue"}),
    "queue-delay": (LOADED, {}),
    "rrul": (LOADED, {"where": {"queue": "drop-tail"}}),
    "sojourn": (LOADED, {"where": {"queue": "codel"}}),
    "sequence": (TAPPED, {"end_ms": 450}),
    "ladder": (TAPPED, {"start_ms": 0, "end_ms": 110}),
}  # fmt: skip

#: Kind → width in mm of those with many panels.
_WIDE = {"series": 178.0, "sojourn": 178.0}


def picture(kind: str) -> Path:
    """File of a kind's picture."""
    return PICTURES / f"figure-{kind}.svg"


def main() -> None:
    """Draws the named kinds, or all, and then the picture of the README too."""
    kinds = sys.argv[1:] or list(DRAWN)
    found = {text: _ran(text) for text in dict.fromkeys(DRAWN[kind][0] for kind in kinds)}
    for kind in kinds:
        text, options = DRAWN[kind]
        svg = found[text].plot(kind, **options).printed(_WIDE.get(kind, COLUMN_MM))
        written(picture(kind), svg)
    if not sys.argv[1:]:
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        text = re.findall(r"```yaml\n(.*?)```", readme, re.DOTALL)[0]
        at = {"rtt": "40 ms"}
        shown = _ran(text, set=at, repeats=1).plot("window", by="flow", where=at)
        written(PICTURES / "two-flows.svg", shown.svg())


def _ran(text: str, **options: Any) -> dumbbell.Results:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "e.yaml"
        file.write_text(text, encoding="utf-8")
        return dumbbell.run(file, **options)


def written(file: Path, svg: str) -> None:
    """Writes a picture on a light ground, since a page may be dark."""
    ground = f'><rect width="100%" height="100%" fill="{THEMES["light"].ground}"/>'
    file.write_text(svg.replace(">", ground, 1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
