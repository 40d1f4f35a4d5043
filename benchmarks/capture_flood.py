"""Memory of `dumbbell capture` for a flood of SYNs: `python benchmarks/capture_flood.py [SYNS]`.

Writes a capture of that many SYNs (300 000 by default), each from another host, half of
them answered by an RST, and measures the peak resident memory of a survey and of `--json -`.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

FILE_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
TARGET = b"\x0a\x00\x00\x01"
SYN, RST_ACK = 0x02, 0x14
SURVEY = "import sys; from dumbbell import _core; _core.survey(sys.argv[1])"


def packet(number: int, flags: int) -> bytes:
    """Capture record of a SYN from a new host, or of the target's response."""
    host = struct.pack("!I", 0x0B000000 + number)
    port = 1024 + number % 60000
    ends = (host, TARGET) if flags == SYN else (TARGET, host)
    ports = (port, 80) if flags == SYN else (80, port)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, number & 0xFFFF, 0, 64, 6, 0, *ends)
    sequence = number * 2654435761 & 0xFFFFFFFF
    sent, heard = (sequence, 0) if flags == SYN else (0, sequence + 1 & 0xFFFFFFFF)
    tcp = struct.pack("!HHIIBBHHH", *ports, sent, heard, 0x50, flags, 64240, 0, 0)
    at = number * 10 + (flags != SYN)
    return struct.pack("<IIII", at // 10**6, at % 10**6, 40, 40) + ip + tcp


def write(path: Path, syns: int) -> None:
    """Writes the flood."""
    with path.open("wb") as file:
        file.write(FILE_HEADER)
        for number in range(syns):
            file.write(packet(number, SYN))
            if number % 2:
                file.write(packet(number, RST_ACK))


def most_resident_bytes(command: list[str]) -> int:
    """Peak resident memory of a finished process."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command}: exit code {process.returncode}")
    return usage.ru_maxrss * 1024


def main() -> None:
    """Measures and prints the results."""
    syns = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "flood.pcap"
        write(capture, syns)
        survey = [sys.executable, "-c", SURVEY, str(capture)]
        printing = [sys.executable, "-m", "dumbbell", "capture", str(capture), "--json", "-"]
        for name, command in (("survey", survey), ("--json -", printing)):
            used = most_resident_bytes(command)
            print(f"{name}: {used / 1e6:.0f} MB, {used / syns:.0f} bytes per connection")


if __name__ == "__main__":
    main()
