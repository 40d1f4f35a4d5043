"""The file of results: one section per kind of measurement, each written by its script."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, LIMITS, Limit

OURS = "dumbbell"


@dataclass(frozen=True)
class Run:
    """The fastest of several runs of a scenario.

    Attributes:
        case: Letter of the scenario.
        engine: `dumbbell`, or a peer.
        access: True if links of hosts serialise.
        cpu_s: Processor time. Ours: set-up, simulation, result tables. Peers: the event loop alone.
        process_s: Processor time of the whole process.
        packets: Data packets that left the bottleneck, or that receivers got if there is none.
        goodput_bps: Payload delivered, over the simulated time.
        simulated_s: Simulated time. Less than the scenario's: stopped at the limit of time.
        peak_bytes: Peak memory of the whole process.
        finished: False if the run was stopped at the limit of processor time.
        above_bytes: Peak memory above that of the imports; ours only.
        reading_s: Processor time of reading the experiment file; ours only.
        setup_s: Processor time of set-up; ours, where it is measured.
    """

    case: str
    engine: str
    access: bool
    cpu_s: float
    process_s: float
    packets: int
    goodput_bps: float
    simulated_s: float
    peak_bytes: int
    finished: bool = True
    above_bytes: int | None = None
    reading_s: float | None = None
    setup_s: float | None = None

    @property
    def run_s(self) -> float:
        """Processor time without set-up."""
        return self.cpu_s - (self.setup_s or 0)

    @property
    def per_packet_ns(self) -> float:
        """Processor time per data packet."""
        return self.cpu_s / self.packets * 1e9 if self.packets else float("nan")

    @property
    def per_bit_s(self) -> float:
        """Processor time per delivered bit."""
        return self.cpu_s / (self.goodput_bps * self.simulated_s)


def fastest(runs: Iterable[Run]) -> Run:
    """The run with the least processor time: others were disturbed."""
    return min(runs, key=lambda run: run.cpu_s)


@dataclass(frozen=True)
class Results:
    """What the file holds."""

    sections: Mapping[str, Any]

    @property
    def runs(self) -> list[Run]:
        """Runs of scenarios."""
        return [Run(**row) for row in self.sections.get("runs", [])]

    def run(self, case: str, engine: str = OURS, *, access: bool = False) -> Run | None:
        """One run, None if there is none."""
        for run in self.runs:
            if (run.case, run.engine, run.access) == (case, engine, access):
                return run
        return None

    def value(self, limit: Limit) -> float | None:
        """What was measured for a limit, in its unit; None: not measured."""
        if limit.quantity == "growth":
            small, large = self.run("A"), self.run("D")
            return large.per_packet_ns / small.per_packet_ns if small and large else None
        if limit.quantity == "fabric":
            ours, peer = self.run("G"), self.run("G", "htsim")
            return ours.per_bit_s / peer.per_bit_s if ours and peer else None
        run = self.run(limit.case)
        if any(case.name == limit.case for case in CASES):
            found = getattr(run, limit.quantity) if run else None
        else:
            single = self.sections.get("others", {}) | self.sections.get("memory", {})
            found = single.get(limit.quantity)
        return None if found is None else found / limit.one

    def judged(self) -> list[tuple[Limit, float]]:
        """Limits with what was measured, those without a measurement left out."""
        found = [(limit, self.value(limit)) for limit in LIMITS]
        return [(limit, value) for limit, value in found if value is not None]


def ratio(other: Run, ours: Run) -> str:
    """Processor time per delivered bit of another simulator over ours, as text.

    Unfinished: a lower bound of the whole processor time over ours.
    """
    times = other.per_bit_s / ours.per_bit_s if other.finished else other.cpu_s / ours.cpu_s
    text = f"{times:.2f} ×" if times < 10 else f"{times:.0f} ×"
    return text if other.finished else f"> {text}"


def as_row(run: Run) -> dict[str, Any]:
    """A run as JSON, without fields that do not apply."""
    return {key: value for key, value in asdict(run).items() if value is not None}


def load(path: Path) -> Results:
    """Reads a file of results; empty if there is none."""
    if not path.exists():
        return Results({})
    return Results(json.loads(path.read_text(encoding="utf-8")))


def write(path: Path, **sections: Any) -> Results:
    """Replaces sections of a file of results."""
    found = {**load(path).sections, **sections}
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return Results(found)


def machine() -> dict[str, Any]:
    """Processor, cores and system of this machine."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
    }
