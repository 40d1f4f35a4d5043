"""Figures of `docs/models`: a measurement on both engines, kept as CSV, and its drawing.

`python -m tests.model_figures [NAME…]` measures anew and draws. `python -m tests.model_figures
--draw` draws from the CSV files alone, without a kernel.
"""

from __future__ import annotations

import csv
import hashlib
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import altair as alt
import polars as pl

import dumbbell
from dumbbell.catalogue import congestion_controls, disciplines
from dumbbell.engines.linux.kernel import kernels
from dumbbell.figures.theme import THEMES, config
from dumbbell.vega.drawing import drawn
from tests.helpers import ROOT

DOCS = ROOT / "docs" / "models"
DATA, IMAGES = DOCS / "data", DOCS / "images"
#: Largest picture, bytes.
MOST_BYTES = 40_000
#: A picture drawn by another version of this file is old.
_VERSION = "1"
_SIZE = (560, 190)

_WINDOW = """\
dumbbell: 1
name: window
template: {{dumbbell: {{rate: 20 Mbit/s, rtt: 40 ms, {bottleneck}}}}}
hosts: {{defaults: {{profile: {profile}{options}}}}}
flows: [{{name: own, from: s1, to: d1, tcp: {name}}}]
sampling: {{interval: 100 ms, keep: [samples]}}
duration: 20 s
"""
_COUPLED = """\
dumbbell: 1
name: window
hosts: {{s1: {{}}, d1: {{}}}}
routers: {{a: {{}}, b: {{}}}}
links:
  - {{between: [s1, a], rate: 20 Mbit/s, delay: 10 ms, buffer: 66 packets}}
  - {{between: [s1, b], rate: 10 Mbit/s, delay: 10 ms, buffer: 33 packets}}
  - {{between: [a, d1], delay: 10 ms}}
  - {{between: [b, d1], delay: 10 ms}}
flows: [{{name: own, from: s1, to: d1, mptcp: {{congestion_control: {name}}}}}]
sampling: {{interval: 100 ms, keep: [samples]}}
duration: 20 s
"""
_QUEUE = """\
dumbbell: 1
name: queue
template:
  dumbbell: {{pairs: 2, rtt: 40 ms, forward: {{{forward}}}, backward: {{buffer: 1000 packets}}}}
hosts: {{defaults: {{profile: {profile}{options}}}}}
flows:
  - {{name: first, from: s1, to: d1, tcp: cubic}}
  - {{name: second, from: s2, to: d2, tcp: cubic, start: 1 s}}
sampling: {{interval: 20 ms, keep: [queues]}}
duration: 20 s
"""
#: Kernel and profile of what Linux 6.1 does not have.
_KERNELS = {
    "bbr3": ("bbr3", "linux-6.12"),
    "prague": ("prague", "linux-7.3"),
    "dualpi2": ("7.3", "linux-7.3"),
}
_LABELS = {"bbr3": "Linux 6.12 with a patch", "prague": "Linux 7.3 with a patch"}
#: Disciplines with parameters, as in `studies/disciplines`; the others have their defaults.
_QUEUES = {
    "pfifo": "{pfifo: {limit: 100 packets}}",
    "bfifo": "{bfifo: {limit: 100000 bytes}}",
    "pfifo_head_drop": "{pfifo_head_drop: {limit: 100 packets}}",
    "red": "{red: {limit: 200000 bytes, min: 15000 bytes, max: 60000 bytes}}",
    "choke": "{choke: {limit: 200 packets, min: 10 packets, max: 40 packets}}",
    "prio": "{prio: {bands: [{dscp: EF}, {queue: {pfifo: {limit: 100 packets}}}]}}",
    "drr": "{drr: {classes: [{dscp: EF}, {queue: codel}]}}",
}
_SHAPERS = {
    "htb": "queue: {htb: {rate: 10 Mbit/s, queue: codel}}",
    "cake": "queue: {cake: {bandwidth: 10 Mbit/s}}",
}
_FIRST_SHARE = 0.2


@dataclass(frozen=True)
class Picture:
    """A figure of a page.

    Attributes:
        name: Name of the model, and with `-` for `+` of its files.
        text: Experiment.
        kernel: Kernel of the comparison; None: no kernel has the model.
    """

    name: str
    text: str
    kernel: str | None

    @property
    def is_queue(self) -> bool:
        """True for the queueing delay of a discipline, false for a window."""
        return self.name in disciplines()

    @property
    def data(self) -> Path:
        """Values."""
        return DATA / f"{stem(self.name)}.csv"

    @property
    def image(self) -> Path:
        """Drawing."""
        return IMAGES / f"{stem(self.name)}.svg"

    @property
    def digest(self) -> str:
        """Digest of the values, the text and this drawing's version, which the SVG repeats."""
        return hashlib.sha256(_VERSION.encode() + self.data.read_bytes()).hexdigest()[:16]


def stem(name: str) -> str:
    """Name of a model's files: `ledbat++` is `ledbat-plus-plus`."""
    return name.replace("++", "-plus-plus")


def pictures() -> dict[str, Picture]:
    """All figures by the name of their model."""
    found = {}
    for one in congestion_controls().values():
        kernel, profile = _KERNELS.get(one.name, ("6.1" if one.linux else None, "linux-6.1"))
        bottleneck, options = "buffer: 66 packets", ""
        if one.name == "dctcp":
            bottleneck = "forward: {queue: {codel: {ce_threshold: 2 ms}}}"
        if one.name == "prague":
            bottleneck, options = "forward: {queue: dualpi2}", ", tcp_ecn: 3"
        text = (_COUPLED if one.coupled else _WINDOW).format(
            name=one.name, profile=profile, bottleneck=bottleneck, options=options
        )
        found[one.name] = Picture(one.name, text, kernel)
    for queue in disciplines().values():
        kernel, profile = _KERNELS.get(queue.name, ("6.1" if queue.linux else None, "linux-6.1"))
        line = f"rate: 10 Mbit/s, queue: {_QUEUES.get(queue.name, queue.name)}"
        text = _QUEUE.format(forward=_SHAPERS.get(queue.name, line), profile=profile, options="")
        found[queue.name] = Picture(queue.name, text, kernel)
    return found


def measure(one: Picture) -> None:
    """Runs both engines and writes the values."""
    engines = {"simulator": "sim"}
    if one.kernel in {kernel.name for kernel in kernels() if kernel.name}:
        engines[_LABELS.get(one.kernel, f"Linux {one.kernel}")] = f"linux:{one.kernel}"
    elif one.kernel:
        sys.stderr.write(f"{one.name}: no kernel {one.kernel}\n")
    rows: list[tuple[str, float, float]] = []
    for label, engine in engines.items():
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "e.yaml"
            file.write_text(one.text, encoding="utf-8")
            results = dumbbell.run(file, engine=engine)
        if one.is_queue:
            rows += [(label, *row) for row in _delays(results)]
        elif congestion_controls()[one.name].coupled:
            for flow, path in (("own/1", "20 Mbit/s"), ("own/2", "10 Mbit/s")):
                rows += [(f"subflow over {path}", *row) for row in _windows(results, flow)]
        else:
            rows += [(label, *row) for row in _windows(results, "own")]
    with one.data.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("series", "share", "ms") if one.is_queue else ("series", "s", "packets"))
        writer.writerows(rows)


def _windows(results: dumbbell.Results, flow: str) -> list[tuple[float, int]]:
    """Congestion window over time."""
    found = results.samples.filter(pl.col("flow") == flow).sort("time_ns")
    return [
        (round(at / 1e9, 1), packets)
        for at, packets in found.select("time_ns", "cwnd_packets").iter_rows()
    ]


def _delays(results: dumbbell.Results) -> list[tuple[float, float]]:
    """Quantiles of the queueing delay: waiting bytes over the rate, without the first fifth."""
    queues = results.queues
    queues = queues.filter(pl.col("time_ns") > _FIRST_SHARE * queues["time_ns"].max())
    busiest = queues.group_by("pipe").agg(pl.col("queued_bytes").sum())
    pipe = busiest.sort("queued_bytes")["pipe"][-1]
    ms = sorted((queues.filter(pl.col("pipe") == pipe)["queued_bytes"] * 8 / 10e6 * 1e3).to_list())
    return [(i / 100, round(ms[round(i / 100 * (len(ms) - 1))], 2)) for i in range(101)]


def draw(one: Picture) -> None:
    """Draws the values."""
    with one.data.open(encoding="utf-8") as text:
        read = [dict(row) for row in csv.DictReader(text)]
    theme = THEMES["light"]
    labels = list(dict.fromkeys(row["series"] for row in read))
    colour = alt.Color(
        "series:N",
        title=None,
        sort=labels,
        scale=alt.Scale(domain=labels, range=[theme.series[0], theme.series[1]][: len(labels)]),
        legend=alt.Legend(orient="top"),
    )
    dash = alt.StrokeDash(
        "series:N", sort=labels, scale=alt.Scale(domain=labels, range=[[1, 0], [5, 3]]), legend=None
    )
    if one.is_queue:
        values = [{**row, "share": float(row["share"]), "ms": float(row["ms"])} for row in read]
        x = alt.X("ms:Q", title="queueing delay (ms)")
        y = alt.Y("share:Q", title="share of time", axis=alt.Axis(format="%", tickCount=4))
    else:
        values = [{**row, "s": float(row["s"]), "packets": int(row["packets"])} for row in read]
        x = alt.X("s:Q", title="time (s)", scale=alt.Scale(domain=[0, 20]))
        y = alt.Y("packets:Q", title="congestion window (packets)")
    chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_line(strokeWidth=1.5)
        .encode(x=x, y=y, color=colour, strokeDash=dash, order="share:Q" if one.is_queue else "s:Q")
        .properties(width=_SIZE[0], height=_SIZE[1])
    )
    spec = chart.to_dict()
    spec["config"] = {**config("light"), "background": theme.ground}
    svg = drawn(spec)
    one.image.write_text(f"{svg}\n<!-- {one.digest} -->\n", encoding="utf-8")


def is_current(one: Picture) -> bool:
    """Returns true if the drawing is that of the values."""
    return one.image.is_file() and f"<!-- {one.digest} -->" in one.image.read_text(encoding="utf-8")


def main() -> None:
    """Measures and draws the named figures, or all."""
    names = [name for name in sys.argv[1:] if name != "--draw"]
    for name, one in pictures().items():
        if names and name not in names:
            continue
        if "--draw" not in sys.argv:
            measure(one)
        draw(one)


if __name__ == "__main__":
    main()
