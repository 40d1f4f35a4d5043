"""Instructions and cache misses per packet, counted by valgrind: `benchmarks/instructions.py`.

cachegrind runs the simulator alone on shortened scenarios, each with two durations. The difference
of the two is divided by the difference of their data packets, so that set-up does not count. The
counts do not depend on what else the machine does. The caches are simulated with fixed sizes.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, RESULTS, ROOT
from benchmarks.measure import child
from benchmarks.results import write

PROGRAM = ROOT / "target" / "release" / "examples" / "run_scenario"
BOTTLENECK = "bottleneck/forward"
#: Two durations in s, beyond slow start.
DURATIONS = {"A": (5.0, 10.0), "D": (0.5, 0.8)}
#: Size, ways, line: first level for instructions and data, and a second level of 1 MiB.
CACHES = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64"]
#: Name → words of cachegrind. First level of instructions, of data, second level of both.
COUNTS = {
    "instructions": "I   refs",
    "i1_misses": "I1  misses",
    "d1_misses": "D1  misses",
    "l2_misses": "LL misses",
}


def build() -> None:
    """Builds the simulator's example program."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "dumbbell-sim"]
    subprocess.run([*command, "--example", PROGRAM.name], check=True, cwd=ROOT)


def counted(text: str) -> dict[str, int]:
    """Counts in what cachegrind prints."""
    found = {}
    for name, words in COUNTS.items():
        number = re.search(rf"{words}: +([0-9,]+)", text)
        assert number is not None, text
        found[name] = int(number[1].replace(",", ""))
    return found


def packets(text: str) -> int:
    """Packets that left the bottleneck, in what the program prints."""
    line = next(line for line in text.splitlines() if f"pipe={BOTTLENECK} " in line)
    found = re.search(r" left_packets=(\d+)", line)
    assert found is not None
    return int(found[1])


def run(program: Path, scenario: dict[str, Any], duration_s: float) -> dict[str, int]:
    """Counts of a run of a scenario with another duration."""
    scenario = scenario | {"duration_ns": round(duration_s * 1e9)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.json"
        file.write_text(json.dumps(scenario), encoding="utf-8")
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", *CACHES]
        command += ["--cachegrind-out-file=/dev/null", str(program), str(file)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return counted(done.stderr) | {"packets": packets(done.stdout)}


def per_packet(short: dict[str, int], long: dict[str, int]) -> dict[str, float]:
    """Counts per packet between the ends of two runs."""
    more = {name: long[name] - short[name] for name in long}
    return {name: round(more[name] / more["packets"], 1) for name in COUNTS}


def main() -> None:
    """Counts, prints, writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", type=Path, help="run_scenario, already built")
    parser.add_argument("--output", type=Path, default=RESULTS, help="file of results")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("instructions left out: apt-get install valgrind")
        return
    if options.program is None:
        build()
    program = options.program or PROGRAM
    found = {}
    for case in CASES:
        if case.name in DURATIONS:
            scenario = child("export", case.file).answer
            counts = [run(program, scenario, duration) for duration in DURATIONS[case.name]]
            found[case.name] = per_packet(*counts)
            print(f"{case.name}: " + ", ".join(f"{v} {k}" for k, v in found[case.name].items()))
    write(options.output, instructions=found)


if __name__ == "__main__":
    main()
