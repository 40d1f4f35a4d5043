"""Speed and memory of the simulator, compared with ns-3: `make bench`.

Prints a table and writes `results.json`. Every measurement is a separate process; the simulator
runs three times and the median counts. See docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
NS3 = HERE / "peers" / "ns3"
NS3_PROGRAM = HERE.parent / "target" / "benchmarks" / "ns3-scenario"
NS3_HEADER = Path("/usr/include/ns3/core-module.h")
PEER_LIMIT_S = 15 * 60
REPEATS = 3
KIB = 1024
MB = 1e6

LEAST_UTILISATION = 0.85
A_MEMORY_MUST_MB = 30
GROWTH_MUST = 2
GRID = "grid"
GRID_MUST_S = 240
GRID_AIM_S = 90


@dataclass(frozen=True)
class Scenario:
    """A benchmark: line rate, and limit and target of its time in seconds."""

    name: str
    rate_bps: float
    must_s: float
    aim_s: float


SCENARIOS = [
    Scenario("A", 20e6, 0.15, 0.05),
    Scenario("B", 1e9, 1.6, 0.6),
    Scenario("C", 1e9, 3, 1),
    Scenario("D", 10e9, 6, 2),
]


@dataclass(frozen=True)
class Entry:
    """A line of `results.json`.

    Attributes:
        scenario: A to D, or `grid`.
        engine: `sim` for the simulator.
        wall_s: Time of the simulation without process start; for the grid, the total time.
        packets: Packets that left the bottleneck towards the receivers; for the grid, that left a
            host.
        packets_per_s: Packets per second of `wall_s`.
        peak_rss_bytes: Peak memory of the whole process.
        rss_above_imports_bytes: Peak memory less that of the imports; for the simulator only.
        cpu_s: Processor time of the simulation; for ns-3 and the grid, of the whole process. Far
            below `wall_s`, another program ran on the machine.
        process_s: Time of the whole process, start and imports included.
        longer_than_s: Time limit of an aborted run. All other values are 0 then.
    """

    scenario: str
    engine: str
    wall_s: float
    packets: int
    packets_per_s: float
    peak_rss_bytes: int
    rss_above_imports_bytes: int | None = None
    cpu_s: float = 0.0
    process_s: float = 0.0
    longer_than_s: float | None = None


@dataclass(frozen=True)
class Measured:
    """Output and cost of a process; `answer` is None after the time limit."""

    answer: dict[str, Any] | None
    process_s: float
    cpu_s: float
    peak_rss_bytes: int


COLUMNS = {
    "": 4,
    "engine": 7,
    "wall s": 9,
    "must": 6,
    "aim": 6,
    "verdict": 13,
    "cpu s": 8,
    "process s": 10,
    "packets": 9,
    "M pkt/s": 8,
    "ns/pkt": 8,
    "peak MB": 8,
    "above": 7,
    "Mbit/s": 9,
}
"""Titles and widths of the table. `above`: peak less imports. `Mbit/s`: goodput."""


def print_row(cells: Mapping[str, str]) -> None:
    """Prints a row of the table: text left-aligned, numbers right-aligned."""
    texts = ("", "engine", "verdict")
    parts = [
        " " + f"{cells.get(name, ''):{'<' if name in texts else '>'}{width - 1}}"
        for name, width in COLUMNS.items()
    ]
    print("".join(parts).rstrip(), flush=True)


def shown(entry: Entry, goodput_bps: float) -> dict[str, str]:
    """Columns of an entry."""
    above = entry.rss_above_imports_bytes
    return {
        "": entry.scenario,
        "engine": entry.engine,
        "wall s": f"{entry.wall_s:.3f}",
        "cpu s": f"{entry.cpu_s:.3f}",
        "process s": f"{entry.process_s:.2f}",
        "packets": str(entry.packets),
        "M pkt/s": f"{entry.packets_per_s / 1e6:.3f}",
        "ns/pkt": f"{1e9 / entry.packets_per_s:.0f}",
        "peak MB": f"{entry.peak_rss_bytes / MB:.1f}",
        "above": "" if above is None else f"{above / MB:.1f}",
        "Mbit/s": f"{goodput_bps / 1e6:.1f}",
    }


def measure(command: Sequence[str | Path], limit_s: float = PEER_LIMIT_S) -> Measured:
    """Runs a process that prints a line of JSON."""
    begin = time.perf_counter()
    # wait4 measures this child; getrusage would give the maximum of all children so far.
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            process_s = time.perf_counter() - begin
            if pid:
                break
            if process_s > limit_s:
                process.kill()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                return Measured(None, process_s, 0, usage.ru_maxrss * KIB)
            time.sleep(min(0.001 + process_s / 1000, 0.1))
        process.returncode = os.waitstatus_to_exitcode(status)
        printed = process.stdout.read()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed: {process.returncode}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Measured(json.loads(printed), process_s, cpu_s, usage.ru_maxrss * KIB)


def child(*arguments: str | Path, limit_s: float = 3600) -> Measured:
    """Measures the simulator."""
    return measure([sys.executable, HERE / "child.py", *arguments], limit_s)


def medians(count: int, once: Callable[[], Measured]) -> tuple[dict[str, Any], float, int]:
    """Answer with the median `wall_s` of some measurements, and median time and memory."""
    found = [once() for _ in range(count)]
    answers = sorted((one.answer or {} for one in found), key=lambda answer: answer["wall_s"])
    return (
        answers[count // 2],
        statistics.median(one.process_s for one in found),
        int(statistics.median(one.peak_rss_bytes for one in found)),
    )


def ours(scenario: Scenario, imports_bytes: int) -> Entry:
    """Runs a scenario on the simulator and prints a row."""
    file = HERE / "scenarios" / f"{scenario.name}.yaml"
    answer, process_s, peak = medians(REPEATS, lambda: child("run", file))
    wall_s, packets = answer["wall_s"], answer["packets"]
    entry = Entry(
        scenario=scenario.name,
        engine="sim",
        wall_s=wall_s,
        packets=packets,
        packets_per_s=packets / wall_s,
        peak_rss_bytes=peak,
        rss_above_imports_bytes=peak - imports_bytes,
        cpu_s=answer["cpu_s"],
        process_s=process_s,
    )
    bounds = {
        "must": f"{scenario.must_s:g}",
        "aim": f"{scenario.aim_s:g}",
        "verdict": verdict(wall_s, scenario.must_s, scenario.aim_s),
    }
    print_row(shown(entry, answer["goodput_bps"]) | bounds)
    check_utilisation(scenario.name, answer["bottleneck_bps"] / scenario.rate_bps)
    return entry


def verdict(value: float, must: float, aim: float) -> str:
    """Verdict on a value in words."""
    if value <= aim:
        return "aim met"
    return "must met" if value <= must else "MUST MISSED"


def check_utilisation(name: str, utilisation: float) -> None:
    """Warns if the link was underused or beyond its capacity."""
    if not LEAST_UTILISATION <= utilisation <= 1:
        print(f"!!! {name}: utilisation {utilisation:.3f}, not {LEAST_UTILISATION} to 1: !!!")
        print("!!! this run did not do the work that its time is quoted for             !!!")


def ns3_built() -> bool:
    """Builds the ns-3 program against Debian's ns-3, if installed."""
    missing = [tool for tool in ("g++", "make") if shutil.which(tool) is None]
    if not NS3_HEADER.exists():
        missing.append("libns3-dev")
    if missing:
        print(f"\nns-3 left out: needs {', '.join(missing)} (apt-get install libns3-dev g++ make)")
        return False
    command = ["make", "--silent", "-C", str(NS3), f"BUILD={NS3_PROGRAM.parent}"]
    if subprocess.run(command, check=False).returncode != 0:
        print("\nns-3 left out: our program for it could not be built; see above")
        return False
    return True


def ns3(scenario: Scenario) -> Entry:
    """Runs a scenario once on ns-3 and prints a row."""
    found = measure([NS3_PROGRAM, scenario.name])
    if found.answer is None:
        print(
            f"{scenario.name:<4}{'ns-3':<6} longer than {PEER_LIMIT_S / 60:g} minutes", flush=True
        )
        return Entry(
            scenario.name, "ns-3", 0, 0, 0, found.peak_rss_bytes, longer_than_s=PEER_LIMIT_S
        )
    wall_s, packets = found.answer["wall_s"], found.answer["packets"]
    entry = Entry(
        scenario=scenario.name,
        engine="ns-3",
        wall_s=wall_s,
        packets=packets,
        packets_per_s=packets / wall_s,
        peak_rss_bytes=found.peak_rss_bytes,
        cpu_s=found.cpu_s,
        process_s=found.process_s,
    )
    print_row(shown(entry, found.answer["goodput_bps"]))
    check_utilisation(scenario.name, found.answer["goodput_bps"] / scenario.rate_bps)
    return entry


def grid() -> Entry:
    """Runs the grid of the study `multipath` (five parts) on two workers."""
    found = child(GRID)
    answer = found.answer or {}
    print(
        f"\nstudy multipath's grid, {answer['runs']} runs on 2 workers: {answer['wall_s']:.0f} s; "
        f"must {GRID_MUST_S} s, aim {GRID_AIM_S} s: "
        f"{verdict(answer['wall_s'], GRID_MUST_S, GRID_AIM_S)}"
        f" (in the simulator {answer['simulating_s']:.0f} s, summed over both workers)",
        flush=True,
    )
    return Entry(
        scenario=GRID,
        engine="sim",
        wall_s=answer["wall_s"],
        packets=answer["packets"],
        packets_per_s=answer["packets"] / answer["wall_s"],
        peak_rss_bytes=found.peak_rss_bytes,
        cpu_s=found.cpu_s,
        process_s=found.process_s,
    )


def compare(entries: Sequence[Entry]) -> None:
    """Prints ratios between scenarios and engines."""
    by_key = {(one.scenario, one.engine): one for one in entries}
    a, d = by_key.get(("A", "sim")), by_key.get(("D", "sim"))
    print()
    if a is not None and a.rss_above_imports_bytes is not None:
        above = a.rss_above_imports_bytes / MB
        print(
            f"memory of A above the imports: {above:.1f} MB; must {A_MEMORY_MUST_MB}: "
            f"{verdict(above, A_MEMORY_MUST_MB, 0)}"
        )
    if a is not None and d is not None:
        growth = a.packets_per_s / d.packets_per_s
        print(
            f"cost per packet, D over A: {growth:.2f}; must {GROWTH_MUST}: "
            f"{verdict(growth, GROWTH_MUST, 0)} "
            f"(in processor time {d.cpu_s / d.packets / (a.cpu_s / a.packets):.2f})"
        )
    for (name, engine), other in by_key.items():
        own = by_key.get((name, "sim"))
        if engine == "sim" or own is None:
            continue
        if other.longer_than_s is not None:
            print(f"{name}: {engine} takes more than {other.longer_than_s / own.wall_s:.0f} × ours")
        else:
            print(
                f"{name}: {engine} takes {other.wall_s / own.wall_s:.0f} × our time, "
                f"{other.cpu_s / own.cpu_s:.0f} × our processor time"
            )


def chosen(text: str) -> list[Scenario]:
    """Scenarios by letter: `A,B`, or `all`."""
    if text == "all":
        return SCENARIOS
    known = {scenario.name: scenario for scenario in SCENARIOS}
    letters = [letter.strip().upper() for letter in text.split(",") if letter.strip()]
    for letter in letters:
        if letter not in known:
            raise argparse.ArgumentTypeError(f"no scenario {letter}; there are {', '.join(known)}")
    return [scenario for scenario in SCENARIOS if scenario.name in letters]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--only", type=chosen, default=SCENARIOS, metavar="A,B", help="only these scenarios"
    )
    parser.add_argument(
        "--peers",
        type=chosen,
        default=chosen("A"),
        metavar="A,B|all",
        help=f"scenarios on ns-3, at most {PEER_LIMIT_S // 60} minutes each [default: A]",
    )
    parser.add_argument("--no-peers", action="store_true", help="no ns-3")
    parser.add_argument("--grid", action="store_true", help="also the grid of the study multipath")
    parser.add_argument(
        "--output", type=Path, default=HERE / "results.json", help="the numbers as JSON"
    )
    options = parser.parse_args()

    imports = [child("imports") for _ in range(REPEATS)]
    imports_bytes = int(statistics.median(one.peak_rss_bytes for one in imports))
    imports_s = statistics.median(one.process_s for one in imports)
    print(f"imports alone: {imports_s:.2f} s, {imports_bytes / MB:.1f} MB\n")
    print_row({title: title for title in COLUMNS})
    entries = [ours(scenario, imports_bytes) for scenario in options.only]
    if not options.no_peers:
        wanted = [scenario for scenario in options.peers if scenario in options.only]
        if wanted and ns3_built():
            entries += [ns3(scenario) for scenario in wanted]
    compare(entries)
    if options.grid:
        entries.append(grid())
    # Fields that do not apply to an entry are omitted.
    rows = [{k: v for k, v in asdict(one).items() if v is not None} for one in entries]
    options.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"\nwritten: {options.output}")


if __name__ == "__main__":
    main()
