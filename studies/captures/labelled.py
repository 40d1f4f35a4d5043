"""Our labels beside those of TCPRS: `python studies/captures/labelled.py CLONE`.

TCPRS was an analyser of retransmissions for Bro, now Zeek. Commit 0d81bfc157 of
github.com/zeek/zeek has 104 captures of real connections and, for 103 of them, its verdict on every
retransmission. This program reads both from a clone of that repository, and prints all
retransmissions that only one of the two finds, or whose causes differ: see
docs/captures-accuracy.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dumbbell import _core

COMMIT = "0d81bfc157"
BASELINES = "testing/btest/Baseline"
TRACES = "testing/btest/Traces/tcp"
#: Columns of TCPRS's log: time stamp and cause.
TIME, CAUSE = 0, 12
#: Causes of TCPRS (`RTYPE_…` in TCPRS_Support.h) that say why. Others say that a retransmission
#: belongs to an earlier one (5), or that a value for a rule is missing (0, 6).
TIMEOUTS = {1, 14, 15}
FASTS = {2, 3, 12, 13, 16}
#: Our kinds for a cause of TCPRS. It knows neither tail loss probes (RFC 8985, of 2021) nor a kind
#: for SYNs; both come from a timer.
SAME = {"time-out": {"time-out", "tail loss probe", "handshake"}, "fast": {"fast"}}

#: Differences that were examined, packet by packet: TCPRS says time-out, and these are fast.
FAST_INDEED = {
    ("comp005", 416): "0.1 ms after a SACK",
    ("comp005", 603): "0.1 ms after a SACK",
    ("comp018", 132): "0.1 ms after a SACK, in recovery",
    ("fack018", 54): "0.1 ms after a SACK of data sent after the lost retransmission",
    ("fack033", 112): "0.1 ms after a SACK of data sent after the lost retransmission",
    ("loss-window-approximation", 185): "one RTT after SACK passed the tap near the receiver",
    ("loss-window-approximation", 241): "one RTT after SACK passed the tap near the receiver",
    ("loss-window-approximation", 376): "one RTT after SACK passed the tap near the receiver",
    ("loss-window-approximation", 556): "one RTT after SACK passed the tap near the receiver",
    ("loss-window-approximation", 761): "one RTT after SACK passed the tap near the receiver",
    ("loss-window-approximation", 805): "one RTT after a partial ACK passed the tap",
}


@dataclass
class Found:
    """Comparison of all captures."""

    captures: int = 0
    #: Captures in which both find the same retransmissions of data.
    same_count: int = 0
    #: Retransmissions of data that TCPRS and we find.
    data: tuple[int, int] = (0, 0)
    #: Retransmissions by TCPRS's cause (time-out, fast, none) and our kind.
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: Capture and frame of retransmissions whose causes differ: theirs, ours.
    differences: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)
    #: Capture and time of what TCPRS alone finds, with its cause.
    missed: list[tuple[str, str, str]] = field(default_factory=list)
    #: Capture, frame and kind of what we alone find.
    alone: list[tuple[str, int, str]] = field(default_factory=list)


def show(clone: Path, path: str) -> bytes | None:
    """A file of the commit; None if the commit has none."""
    command = ["git", "-C", str(clone), "show", f"{COMMIT}:{path}"]
    done = subprocess.run(command, capture_output=True)
    return done.stdout if done.returncode == 0 else None


def captures(clone: Path) -> list[tuple[str, str]]:
    """Folder and name of the captures with a baseline."""
    command = ["git", "-C", str(clone), "ls-tree", "--name-only", COMMIT, f"{BASELINES}/"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = [Path(line).name for line in done.stdout.splitlines()]
    found = [name.split(".") for name in names if name.startswith("tcpanalyzer.")]
    return [(folder, name) for _, folder, name in found]


def causes(log: str) -> dict[str, list[str]]:
    """TCPRS's causes by time stamp."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in log.splitlines():
        if line and not line.startswith("#"):
            columns = line.split("\t")
            cause = int(columns[CAUSE])
            named = "time-out" if cause in TIMEOUTS else "fast" if cause in FASTS else "none"
            found[columns[TIME]].append(named)
    return found


def kinds(capture: Path) -> Iterator[tuple[str, int, str, bool]]:
    """Time stamp, frame, kind, and whether it has data, of the retransmissions that we find."""
    found = json.loads(_core.capture_packets(str(capture), [], 1 << 40))
    for row, time_ns in enumerate(found["time_ns"]):
        if found["what"][row] == "retransmitted":
            time = f"{time_ns // 10**9}.{time_ns % 10**9 // 1000:06d}"
            yield time, found["frame"][row], found["kind"][row], found["payload_bytes"][row] > 0


def compare(clone: Path) -> Found:
    """Compares all captures of a clone of zeek/zeek."""
    found = Found()
    with tempfile.TemporaryDirectory() as folder:
        for kind, name in captures(clone):
            capture = show(clone, f"{TRACES}/{kind}/{name}.trace")
            if capture is None:
                continue
            log = show(clone, f"{BASELINES}/tcpanalyzer.{kind}.{name}/tcpretransmissions.log")
            file = Path(folder) / "c.pcap"
            file.write_bytes(capture)
            _compare_one(name, causes((log or b"").decode()), list(kinds(file)), found)
    return found


def _compare_one(
    name: str,
    theirs: dict[str, list[str]],
    ours: list[tuple[str, int, str, bool]],
    found: Found,
) -> None:
    waiting = {time: list(those) for time, those in theirs.items()}
    both = data = 0
    for time, frame, kind, has_data in ours:
        data += has_data
        if not waiting.get(time):
            found.alone.append((name, frame, kind))
            continue
        cause = waiting[time].pop(0)
        both += has_data
        found.pairs[cause, kind] += 1
        if cause != "none" and kind not in SAME[cause]:
            found.differences[name, frame] = (cause, kind)
    left = [(name, time, cause) for time, those in waiting.items() for cause in those]
    found.missed += left
    found.captures += 1
    found.same_count += both == data and not left
    found.data = (found.data[0] + both + len(left), found.data[1] + data)


def report(found: Found) -> list[str]:
    """The result as Markdown."""
    lines = [
        f"{found.captures} captures; {found.data[0]} retransmissions of data by TCPRS, "
        f"{found.data[1]} by Dumbbell; the same in {found.same_count} captures.",
        "",
        "| TCPRS | dumbbell | retransmissions |",
        "| --- | --- | ---: |",
        *(f"| {their} | {our} | {n} |" for (their, our), n in found.pairs.most_common()),
        "",
        "| capture | frame | TCPRS | dumbbell | decided |",
        "| --- | ---: | --- | --- | --- |",
    ]
    for (name, frame), (their, our) in found.differences.items():
        reason = FAST_INDEED.get((name, frame), "**open**")
        lines.append(f"| {name} | {frame} | {their} | {our} | {reason} |")
    lines += [f"only TCPRS: {name} at {time} s: {cause}" for name, time, cause in found.missed]
    lines += [f"only dumbbell: {name} frame {frame}: {kind}" for name, frame, kind in found.alone]
    return lines


def main() -> None:
    """Prints the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clone", type=Path)
    sys.stdout.write("\n".join(report(compare(parser.parse_args().clone))) + "\n")


if __name__ == "__main__":
    main()
