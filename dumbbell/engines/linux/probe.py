"""Test of a kernel: one small run per promise of the engine."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dumbbell._core import Monitor
from dumbbell.catalogue import congestion_controls, disciplines
from dumbbell.engines.base import Run
from dumbbell.engines.linux.engine import LinuxEngine
from dumbbell.engines.linux.kernel import kernel_named
from dumbbell.engines.linux.parts import lacks
from dumbbell.errors import EngineError
from dumbbell.experiment.load import load_text

_BYTES = 1 << 20
_PLAIN = "rate: 10 Mbit/s, rtt: 20 ms, buffer: 50 packets"
_LINE = "rate: 10 Mbit/s, rtt: 20 ms, backward: {buffer: 50 packets}"
_SWITCH = "shaper: {tbf: {rate: 10 Mbit/s, burst: 5 KiB}}, netem: {limit: 100 packets}"
_TEXT = """\
dumbbell: 1
name: probe
template: {{{template}}}
flows: [{{name: f, from: s1, to: d1, tcp: {{congestion_control: {cc}, fq: {fq}, bytes: 1 MiB}}}}]
duration: 20 s
"""


def _changed(change: str) -> str:
    """Template whose bottleneck changes during the transfer."""
    return f"dumbbell: {{{_PLAIN}, forward: {{changes: [{{at: 200 ms, {change}}}]}}}}"


#: What is tried: a name, the template, the congestion control. A queue in packets is a netem with a
#: rate.
PROBES: dict[str, tuple[str, str]] = {
    **{
        one.name: (f"dumbbell: {{{_PLAIN}}}", one.name)
        for one in congestion_controls().values()
        if one.linux is not None and one.linux.name == one.name
    },
    "tbf with bfifo": ("dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 60 KiB}", "cubic"),
    "tbf with netem": (f"parallel-paths: {{paths: 1, rtt: 20 ms, {_SWITCH}}}", "cubic"),
    "netem's random loss": (f"dumbbell: {{{_PLAIN}, forward: {{loss: 1 %}}}}", "cubic"),
    "netem's bursty loss": (
        f"dumbbell: {{{_PLAIN}, forward: {{loss: {{gilbert_elliott: "
        "{good_to_bad: 1 %, bad_to_good: 50 %}}}}",
        "cubic",
    ),
    "netem's duplication": (f"dumbbell: {{{_PLAIN}, forward: {{duplication: 1 %}}}}", "cubic"),
    "netem's corruption": (f"dumbbell: {{{_PLAIN}, forward: {{corruption: 1 %}}}}", "cubic"),
    "scripted loss": (
        f"dumbbell: {{{_PLAIN}, forward: {{loss: {{scripted: [{{flow: f, nth: [3, 40]}}]}}}}}}",
        "cubic",
    ),
    "change of a rate": (_changed("rate: 5 Mbit/s"), "cubic"),
    "change of a delay": (_changed("delay: 30 ms"), "cubic"),
    "a link that goes down": (
        _changed("loss: 100 %}, {at: 400 ms, loss: none"),
        "cubic",
    ),
    "policer": (
        f"dumbbell: {{{_PLAIN}, forward: {{policer: {{rate: 9 Mbit/s, burst: 30 KiB}}}}}}",
        "cubic",
    ),
    **{
        name: (f"dumbbell: {{{_LINE}, forward: {{queue: {queue}}}}}", "cubic")
        for name, queue in {
            **{name: name for name, one in disciplines().items() if one.parameters},
            "prio": "{prio: {bands: [{dscp: EF}, {}]}}",
            "drr": "{drr: {classes: [{dscp: EF}, {}]}}",
            "htb": "{htb: {rate: 10 Mbit/s, queue: codel}}",
        }.items()
    },
    "fq at the host": (f"dumbbell: {{{_PLAIN}}}", "bbr"),
    "teql": (f"parallel-paths: {{paths: 2, rtt: 20 ms, {_SWITCH}}}", "cubic"),
}


@dataclass(frozen=True)
class Probed:
    """Result of one test."""

    name: str
    well: bool
    found: str


def probe(kernel: str = "") -> Iterator[Probed]:
    """Tries everything on a kernel, one after the other: a mebibyte has to arrive each time.

    Raises `EngineError` if there is no such kernel.
    """
    engine, built = LinuxEngine(kernel), kernel_named(kernel)
    known = {name: one.linux for name, one in disciplines().items()}
    known |= {name: one.linux for name, one in congestion_controls().items()}
    for name, (template, cc) in PROBES.items():
        if name in known and lacks(known[name], built.config):
            continue  # newer than this kernel, or of a patch
        fq = "true" if name == "fq at the host" else "false"
        text = _TEXT.format(template=template, cc=cc, fq=fq)
        cell = load_text(text, Path("probe.yaml")).cells[0]
        try:
            result = engine.execute(Run("probe", cell.scenario, 1, cell.duration_ns), Monitor())
        except EngineError as error:
            yield Probed(name, False, str(error))
            continue
        row = pl.read_ipc_stream(io.BytesIO(result.tables["flows"])).row(0, named=True)
        took_s = (row["end_ns"] - row["start_ns"]) / 1e9
        found = f"{row['delivered_bytes'] / _BYTES:.3g} MiB in {took_s:.2f} s"
        yield Probed(name, row["delivered_bytes"] == _BYTES, found)
