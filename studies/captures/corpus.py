"""Our labels beside tshark's on captures of any origin: `python studies/captures/corpus.py FOLDER`.

Reads every capture with TCP below a folder, counts packets, connections and labels of segments with
data as `dumbbell capture` and as tshark see them, and prints a table in Markdown of all pairs of
labels that differ. `--examples N` names that many frames of each. docs/captures-accuracy.md has a
table made with it, and why they differ.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dumbbell import _core
from dumbbell.capture import CaptureError, survey

#: tshark's labels of a segment with data by the field that says so, the strongest first.
LABELS = {
    "tcp.analysis.keep_alive": "keep-alive",
    "tcp.analysis.zero_window_probe": "keep-alive",
    "tcp.analysis.spurious_retransmission": "retransmitted",
    "tcp.analysis.fast_retransmission": "retransmitted",
    "tcp.analysis.retransmission": "retransmitted",
    "tcp.analysis.out_of_order": "reordered",
}
FIELDS = ["frame.number", "tcp.stream", "tcp.len", *LABELS]
SECONDS_MAX = 120

#: What we and tshark call a segment.
Pair = tuple[str, str]


@dataclass
class Found:
    """What was counted over all files."""

    files: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    packets: int = 0
    equal: Counter[str] = field(default_factory=Counter)
    connections: list[int] = field(default_factory=lambda: [0, 0])
    pairs: Counter[Pair] = field(default_factory=Counter)
    where: dict[Pair, set[Path]] = field(default_factory=lambda: defaultdict(set))
    examples: dict[Pair, list[str]] = field(default_factory=lambda: defaultdict(list))


def dissected(file: Path) -> tuple[int, int, dict[int, str]] | None:
    """Frames, streams, and the label of each frame with TCP data as tshark has them."""
    command = ["tshark", "-n", "-r", str(file), "-T", "fields", "-E", "separator=,"]
    command += ["-E", "occurrence=l"]
    for name in FIELDS:
        command += ["-e", name]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return None
    frames, streams, labels = 0, set(), {}
    for number, stream, length, *said in csv.reader(io.StringIO(done.stdout.decode())):
        frames += 1
        if not stream:
            continue
        streams.add(stream)
        if length not in ("", "0"):
            names = [name for name, value in zip(LABELS.values(), said, strict=True) if value]
            labels[int(number)] = names[0] if names else "new"
    return frames, len(streams), labels


def labelled(file: Path) -> Iterator[tuple[int, str]]:
    """Frames with data and what we call them, with the evidence."""
    found = json.loads(_core.capture_packets(str(file), [], 1 << 40))
    for row, frame in enumerate(found["frame"]):
        if found["payload_bytes"][row]:
            evidence = found["evidence"][row]
            label = found["what"][row] or "aside"
            yield frame, f"{label} ({evidence})" if evidence else label


def compare(file: Path, name: str, found: Found, most: int) -> None:
    """Adds one file."""
    try:
        ours = survey(file)
    except CaptureError as error:
        found.refused[str(error).removeprefix(f"{file}: ")[:60]] += 1
        return
    numbers = {row["connection"] for row in ours["connections"]}
    connections = len(numbers) + ours["file"]["connections_not_opened"]
    if not connections:
        return
    theirs = dissected(file)
    if theirs is None:
        found.refused["tshark takes too long"] += 1
        return
    frames, streams, labels = theirs
    found.files += 1
    found.packets += ours["file"]["packets"]
    found.equal["packets"] += ours["file"]["packets"] == frames
    found.equal["connections"] += connections == streams
    found.connections[0] += connections
    found.connections[1] += streams
    mine = dict(labelled(file))
    for frame in sorted(mine.keys() | labels.keys()):
        pair = (mine.get(frame, "not TCP data"), labels.get(frame, "not TCP data"))
        found.pairs[pair] += 1
        found.where[pair].add(file)
        if len(found.examples[pair]) < most:
            found.examples[pair].append(f"{name} {frame}")


def differs(pair: Pair) -> bool:
    """Do the two call it otherwise?"""
    return pair[0].split(" (")[0] != pair[1]


def table(found: Found) -> list[str]:
    """The result as Markdown."""
    same = sum(count for pair, count in found.pairs.items() if not differs(pair))
    total = sum(found.pairs.values())
    lines = [
        f"{found.files} files with TCP, {found.packets} packets; equal numbers of packets in "
        f"{found.equal['packets']} files, of connections in {found.equal['connections']} "
        f"({found.connections[0]} and tshark's {found.connections[1]} in all); equal labels of "
        f"{same} of {total} segments with data.",
        "",
        "| dumbbell (evidence) | tshark | segments | files |",
        "| --- | --- | ---: | ---: |",
    ]
    for pair, count in found.pairs.most_common():
        if differs(pair):
            files = len(found.where[pair])
            lines.append(f"| {pair[0]} | {pair[1]} | {count} | {files} |")
    return lines


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--examples", type=int, default=0, metavar="N")
    wanted = parser.parse_args()
    found = Found()
    for file in sorted(path for path in wanted.folder.rglob("*") if path.is_file()):
        compare(file, str(file.relative_to(wanted.folder)), found, wanted.examples)
    lines = table(found)
    lines += [f"\nrefused {count}: {why}" for why, count in found.refused.most_common()]
    for pair, examples in found.examples.items():
        if differs(pair):
            lines += [f"\n{pair[0]} / {pair[1]}:", *(f"  {one}" for one in examples)]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
