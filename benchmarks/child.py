"""Child processes of the benchmarks, measured separately. Each prints one line of JSON.

`imports`: nothing but the imports of `run`. `run FILE [--access BPS] [--scale FACTOR]`: reads and
runs an experiment. `setup FILE`: only builds its network. `memory SCENARIO`: memory of a scenario's
run. `grid`, `call`, `import`: see the functions. `export FILE` prints the scenario of an
experiment file, for profiling the simulator alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl

import dumbbell
from dumbbell import _core
from dumbbell.experiment import load

SEED = 1
WORKERS = 2
BOTTLENECK = "bottleneck/forward"
S_PER_NS = 1e-9
BITS = 8
KIB = 1024
AMPLE_PACKETS = 1_000_000
# The 134 cells of the published study, without our further parts and variants.
GRID_PARTS = ["single-vs-multi", "delay", "loss", "fairness", "udp"]

CALLS = 300
SMALL = Path(__file__).parent / "scenarios" / "call.yaml"
STARTS = 11
#: Programs whose whole processes `child.py import` measures.
STARTED = {
    "python_s": ["-c", "pass"],
    "import_s": ["-c", "import dumbbell"],
    "help_s": ["-m", "dumbbell", "--help"],
    "version_s": ["-m", "dumbbell", "--version"],
    "first_call_s": ["-c", "import sys, dumbbell; dumbbell.run(sys.argv[1]).flows", "FILE"],
    "run_s": ["-m", "dumbbell", "run", "FILE", "--store", "STORE"],
}


def read(path: Path) -> dict[str, Any]:
    """The scenario of an experiment file with one cell."""
    scenario: dict[str, Any] = json.loads(load(path).cells[0].scenario)
    return scenario


def with_access(scenario: dict[str, Any], rate_bps: int) -> None:
    """Gives a rate to all links but the bottleneck, with a queue that never fills."""
    for link in scenario["links"]:
        if link["name"] != BOTTLENECK.split("/")[0]:
            for pipe in (link["forward"], link["backward"]):
                pipe["shaper"] = {"serial": {"rate_bps": rate_bps}}
                pipe["queue"] = {"drop_tail": {"limit_bytes": None, "limit_packets": AMPLE_PACKETS}}


def run(path: Path, access_bps: int = 0, scale: float = 1) -> dict[str, float]:
    """Reads and runs a benchmark scenario.

    Processor times of reading and of the simulation alone. Data packets that left the bottleneck,
    or that receivers got if there is no link of this name.
    """
    begin = time.process_time()
    cell = load(path).cells[0]
    reading_s = time.process_time() - begin
    text, duration_s = cell.scenario, cell.duration_ns * S_PER_NS * scale
    del cell
    if access_bps or scale != 1:
        scenario = json.loads(text)
        if access_bps:
            with_access(scenario, access_bps)
        scenario["duration_ns"] = round(duration_s / S_PER_NS)
        text = json.dumps(scenario)
        del scenario
    begin, cpu_begin = time.perf_counter(), time.process_time()
    output = _core.run(text, SEED)
    wall_s, cpu_s = time.perf_counter() - begin, time.process_time() - cpu_begin
    pipes, flows = (pl.read_ipc_stream(output.tables[name]) for name in ("pipes", "flows"))
    found = {
        "reading_s": reading_s,
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "simulated_s": duration_s,
        "packets": int(flows["received_packets"].sum()),
        "goodput_bps": int(flows["delivered_bytes"].sum()) * BITS / duration_s,
        "retransmitted": int(flows["retransmitted_packets"].sum()),
        "events": output.events,
    }
    bottleneck = pipes.filter(pl.col("pipe") == BOTTLENECK).to_dicts()
    if bottleneck:
        found["packets"] = bottleneck[0]["left_packets"]
        found["dropped"] = bottleneck[0]["dropped_overflow_packets"]
        found["bottleneck_bps"] = bottleneck[0]["left_bytes"] * BITS / duration_s
    return found


def setup(path: Path) -> dict[str, float]:
    """Processor time of a run that ends at once: the network is built, nothing is sent."""
    scenario = read(path) | {"duration_ns": 1}
    text = json.dumps(scenario)
    begin = time.process_time()
    _core.run(text, SEED)
    return {"setup_s": time.process_time() - begin}


def memory(path: Path) -> dict[str, float]:
    """Peak memory of a scenario's run above what the process had before, and its cost."""
    text = path.read_text(encoding="utf-8")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # proc(5): resets VmHWM
    before = status_bytes("VmRSS")
    begin = time.process_time()
    output = _core.run(text, SEED)
    cpu_s = time.process_time() - begin
    peak = status_bytes("VmHWM")
    pipes, flows = (pl.read_ipc_stream(output.tables[name]) for name in ("pipes", "flows"))
    pipe = pipes.row(by_predicate=pl.col("pipe") == BOTTLENECK, named=True)
    return {
        "peak_bytes": peak - before,
        "cpu_s": cpu_s,
        "packets": pipe["left_packets"],
        "sent_bytes": pipe["left_bytes"],
        "delivered_bytes": int(flows["delivered_bytes"].sum()),
    }


def status_bytes(field: str) -> int:
    """A size in /proc/self/status."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    line = next(line for line in lines if line.startswith(field))
    return int(line.split()[1]) * KIB


def grid() -> dict[str, float]:
    """Runs and evaluates study 1's grid in a temporary store."""
    from dumbbell.studies import run_study  # not among the imports of the other commands

    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="dumbbell-bench-") as folder:
        store = Path(folder) / "store"
        result = run_study("multipath", parts=GRID_PARTS, workers=WORKERS, store=store)
    wall_s = time.perf_counter() - begin
    runs = pl.concat([part.runs.select("wall_s", "packets") for part in result.parts.values()])
    return {
        "wall_s": wall_s,
        "packets": int(runs["packets"].sum()),
        "runs": runs.height,
        "simulating_s": float(runs["wall_s"].sum()),
    }


def call() -> dict[str, float]:
    """Runs a simulation of 1 s from Python in a loop, as an optimisation does.

    Medians in s: the call and one of its tables, and the simulation alone.
    """
    dumbbell.run(SMALL)
    walls_s, simulating_s = [], []
    for seed in range(CALLS):
        begin = time.perf_counter()
        results = dumbbell.run(SMALL, seed=seed)
        results.flows["delivered_bytes"].sum()
        walls_s.append(time.perf_counter() - begin)
        simulating_s.append(results.runs["wall_s"][0])
    return {
        "wall_s": statistics.median(walls_s),
        "simulating_s": statistics.median(simulating_s),
        "calls": CALLS,
    }


def start() -> dict[str, float]:
    """Starts the interpreter with our package. Medians of whole processes in s.

    Byte code is written before the first measured start, as on any user's second start.
    """
    with tempfile.TemporaryDirectory(prefix="dumbbell-bench-") as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": f"{folder}/code"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        found = {}
        for name, arguments in STARTED.items():
            walls_s = []
            for number in range(STARTS + 1):
                places = {"FILE": str(SMALL), "STORE": f"{folder}/{name}-{number}"}
                command = [sys.executable, *(places.get(part, part) for part in arguments)]
                begin = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True, env=environment)
                walls_s.append(time.perf_counter() - begin)
            found[name] = statistics.median(walls_s[1:])
        return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=[*ALONE, *OF_A_FILE, "export"])
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--access", type=int, default=0, metavar="BPS")
    parser.add_argument("--scale", type=float, default=1, metavar="FACTOR")
    options = parser.parse_args()
    if options.command in ALONE:
        found = ALONE[options.command]()
    elif options.file is None:
        parser.error(f"{options.command} needs a file")
    elif options.command == "export":
        found = read(options.file)
    elif options.command == "run":
        found = run(options.file, options.access, options.scale)
    else:
        found = OF_A_FILE[options.command](options.file)
    print(json.dumps(found))


ALONE = {"imports": dict, "grid": grid, "call": call, "import": start}
OF_A_FILE = {"run": run, "setup": setup, "memory": memory}

if __name__ == "__main__":
    main()
