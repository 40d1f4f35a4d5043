"""Speed and memory of `dumbbell capture`, compared with tshark and tcptrace: `make bench-capture`.

The simulator writes the captures: 50 connections (full frames, and 96 bytes of each) and 10 000
short ones. Every measurement is a separate process, the best of three with the file in the page
cache. Prints a table and writes `capture.json`. See docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPEATS = 3
KIB = 1024
MB, GB = 1e6, 1e9

MANY = """\
dumbbell: 1
name: many
template: {dumbbell: {pairs: 50, rate: 500 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows:
  - {from: "s{i}", to: "d{i}", count: 50, tcp: cubic, start_jitter: 100 ms}
taps: [{at: r1, link: bottleneck}]
sampling: {capture: {snap: SNAP}}
duration: 8 s
"""
SHORT = """\
dumbbell: 1
name: short
template: {dumbbell: {pairs: 100, rate: 500 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows:
  - from: "s{i}"
    to: "d{i}"
    count: 100
    tcp: {congestion_control: cubic, bytes: 50 KB}
    start_jitter: 5 s
    name: "f{i}-GROUP"
"""

#: One timed call of the analysis, with the memory above that of the imports.
OURS = """
import json, re, sys, time
from dumbbell import _core
def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
before, begin = peak(), time.perf_counter()
found = _core.survey(sys.argv[1])
print(json.dumps({"wall_s": time.perf_counter() - begin, "above": peak() - before,
                  "packets": json.loads(found.small)["file"]["packets"]}))
"""


@dataclass(frozen=True)
class Entry:
    """A line of `capture.json`.

    Attributes:
        capture: `full frames`, `96 bytes` or `10 000 connections`.
        tool: `dumbbell` (the analysis alone, without Python's start), `tshark`, `tcptrace`.
        wall_s: Best time of three.
        bytes_per_s: Bytes of the file per second.
        packets_per_s: Packets of the capture per second.
        peak_rss_bytes: Peak memory of the process; for `dumbbell` without its imports.
    """

    capture: str
    tool: str
    wall_s: float
    bytes_per_s: float
    packets_per_s: float
    peak_rss_bytes: int


def blocks(data: bytes) -> Iterator[bytes]:
    """Packet blocks of a pcapng file of the simulator."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            yield data[at : at + length]
        at += length


def as_pcap(source: Path, target: Path) -> None:
    """Converts a capture to pcap, which all tools read."""
    with target.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 1))
        for block in blocks(source.read_bytes()):
            _, high, low, kept, length = struct.unpack_from("<IIIII", block, 8)
            seconds, fraction = divmod(high << 32 | low, 1_000_000_000)
            out.write(struct.pack("<IIII", seconds, fraction, kept, length))
            out.write(block[28 : 28 + kept])


def make(text: str, path: Path) -> None:
    """Runs an experiment and writes its capture as pcap."""
    import dumbbell

    with tempfile.TemporaryDirectory() as folder:
        experiment = Path(folder) / "e.yaml"
        experiment.write_text(text, encoding="utf-8")
        dumbbell.run(experiment, captures=Path(folder) / "c")
        (capture,) = (Path(folder) / "c").iterdir()
        as_pcap(capture, path)


def ours(path: Path) -> tuple[float, int, int]:
    """Seconds, bytes above the imports, packets."""
    done = subprocess.run(
        [sys.executable, "-c", OURS, str(path)], capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    return answer["wall_s"], answer["above"] * KIB, answer["packets"]


def peer(command: list[str]) -> tuple[float, int]:
    """Seconds and peak memory of a process."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return time.perf_counter() - begin, usage.ru_maxrss * KIB


def measured(name: str, path: Path) -> list[Entry]:
    """Measures each tool on a capture."""
    size = path.stat().st_size
    subprocess.run(["cat", str(path)], stdout=subprocess.DEVNULL, check=True)
    runs = [ours(path) for _ in range(REPEATS)]
    packets = runs[0][2]

    def entry(tool: str, wall_s: float, peak: int) -> Entry:
        return Entry(name, tool, wall_s, size / wall_s, packets / wall_s, peak)

    entries = [entry("dumbbell", *min(run[:2] for run in runs))]
    commands = {
        "tshark": ["tshark", "-q", "-z", "conv,tcp", "-r", str(path)],
        "tcptrace": ["tcptrace", "-l", str(path)],
    }
    for tool, command in commands.items():
        if shutil.which(tool) is not None:
            entries.append(entry(tool, *min(peer(command) for _ in range(REPEATS))))
    return entries


def main() -> None:
    """Measures, prints and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=HERE / "capture.json")
    parser.add_argument("--make", nargs=2, metavar=("TEXT", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        make(arguments.make[0], Path(arguments.make[1]))
        return
    short = SHORT.split("  - from", 1)
    flows = "".join("  - from" + short[1].replace("GROUP", str(group)) for group in range(100))
    tap = "taps: [{at: r1, link: bottleneck}]\nsampling: {capture: true}\nduration: 7 s\n"
    texts = {
        "full frames": MANY.replace("SNAP", "2000 bytes"),
        "96 bytes": MANY.replace("SNAP", "96 bytes"),
        "10 000 connections": short[0] + flows + tap,
    }
    entries: list[Entry] = []
    for name, text in texts.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "capture.pcap"
            # A separate process, because a child's peak memory starts at its parent's.
            subprocess.run([sys.executable, __file__, "--make", text, str(path)], check=True)
            found = measured(name, path)
        for one in found:
            print(
                f"{one.capture:20} {one.tool:10} {one.wall_s:8.3f} s"
                f" {one.bytes_per_s / GB:7.2f} GB/s {one.packets_per_s / MB:7.2f} M packets/s"
                f" {one.peak_rss_bytes / MB:7.1f} MB {one.wall_s / found[0].wall_s:7.1f} x",
                flush=True,
            )
        entries += found
    arguments.output.write_text(
        json.dumps([asdict(one) for one in entries], indent=1) + "\n", "utf-8"
    )


if __name__ == "__main__":
    main()
