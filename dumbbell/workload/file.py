"""Output of a derived workload: a table, and an experiment file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from rich import box
from rich.table import Table
from rich.text import Text

from dumbbell.codes import Code
from dumbbell.console.words import noun
from dumbbell.errors import DumbbellError, shortened
from dumbbell.workload.derive import Group, Workload

#: Maximum duration of an experiment (s of virtual time).
_DURATION_MAX_S = 24 * 3600
#: Words that YAML does not read as text.
_NO_TEXTS = {"yes", "no", "on", "off", "true", "false", "null", "y", "n"}


def table(workload: Workload) -> Table:
    """Table of the captured and the derived distribution."""
    shown = Table(title="Connections by payload", title_justify="left", box=box.SIMPLE_HEAD)
    shown.add_column("class", overflow="fold")
    headings = ["below\nkB", "captured\nnumber", "\n%", "bytes\n%"]
    headings += ["derived\nnumber", "\n%", "bytes\n%", "each\nkB"]
    for heading in headings:
        shown.add_column(heading, justify="right", no_wrap=True)
    for row in _rows(workload):
        shown.add_row(*map(Text, row))
    return shown


def _rows(workload: Workload) -> list[tuple[str, ...]]:
    """Cells of the table, a row per class; sizes in kB, shares in percent."""
    captured = sum(row.captured for row in workload.classes)
    captured_bytes = sum(row.captured_bytes for row in workload.classes)
    derived = sum(group.connections for group in workload.groups)
    derived_bytes = sum(group.connections * group.payload_bytes for group in workload.groups)
    rows: list[tuple[str, ...]] = []
    for row in reversed(workload.classes):
        mine = [group for group in workload.groups if group.class_ == row.name]
        own = sum(group.connections * group.payload_bytes for group in mine)
        rows.append(
            (
                shortened(row.name, 30),
                "–" if row.to_bytes is None else f"{(row.to_bytes + 1) / 1e3:g}",
                str(row.captured),
                _percent(row.captured, captured),
                _percent(row.captured_bytes, captured_bytes),
                str(row.derived),
                _percent(row.derived, derived),
                _percent(own, derived_bytes),
                _each([group.payload_bytes for group in mine]),
            )
        )
    return rows


def _each(sizes: Sequence[int]) -> str:
    """Size of the connections of a class, in kB."""
    if len(sizes) > 3:
        return f"{min(sizes) / 1e3:g}–{max(sizes) / 1e3:g}"
    return ", ".join(f"{size / 1e3:g}" for size in sizes) or "–"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}" if whole else "–"


def experiment(
    workload: Workload,
    origin: str,
    *,
    buffer: str = "50 packets",
    congestion_control: str = "cubic",
) -> str:
    """Text of an experiment file with the workload: server, client, and a bottleneck between.

    The bottleneck lies between routers: the queue of a host would report its drops to TCP at once.

    Args:
        workload: Derived workload.
        origin: Name of the capture, for a comment.
        buffer: Queue limit of the bottleneck, in the syntax of experiment files.
        congestion_control: Congestion control of all connections.

    Raises:
        DumbbellError: The run would take more than a day of virtual time.
    """
    duration = _duration_s(workload)
    if duration > _DURATION_MAX_S:
        raise DumbbellError(
            f"at {workload.rate_bps / 1e6:g} Mbit/s the workload may take {duration} s: more than"
            " a day; set a higher --rate",
            code=Code.WORKLOAD,
        )
    names = _group_names(workload.groups)
    lines = [
        f"# From the capture {shortened(origin)}, by `dumbbell workload from-capture`:",
        *(f"#   {line}" for line in _distribution(workload)),
        *(f"# {shortened(note, 400)}" for note in workload.notes),
        "dumbbell: 1",
        f"name: {_quoted(_plain(f'workload-{origin}'))}",
        "hosts: {server: , client: }",
        "routers: {r1: , r2: }",
        "links:",
        "  - {between: [server, r1]}",
        "  - name: line",
        "    between: [r1, r2]",
        f"    rate: {workload.rate_bps} bit/s",
        f"    delay: {_time(workload.rtt_ns // 2)}",
        f"    buffer: {json.dumps(buffer)}",
        "  - {between: [r2, client]}",
        "flows:",
    ]
    for (name, flow), group in zip(names, workload.groups, strict=True):
        ends = ("client", "server") if group.is_upload else ("server", "client")
        lines += [
            f"  - name: {json.dumps(flow)}",
            f"    group: {_quoted(name)}",
            f"    count: {group.connections}",
            f"    from: {ends[0]}",
            f"    to: {ends[1]}",
            f"    start: {_time(group.start_ns)}",
            f"    start_jitter: {_time(group.spread_ns)}",
            f"    tcp: {{congestion_control: {json.dumps(congestion_control)},"
            f" bytes: {group.payload_bytes} bytes}}",
        ]
    lines += [f"duration: {duration} s", "repeats: 10"]
    return "\n".join(lines) + "\n"


def _distribution(workload: Workload) -> Iterable[str]:
    for name, below, captured, share, _, derived, share_derived, _, each in _rows(workload):
        bound = "" if below == "–" else f" (below {below} kB)"
        yield (
            f"{name}{bound}: {captured} {noun(int(captured), 'connection')} ({share} %) →"
            f" {derived} ({share_derived} %) of {each} kB"
        )


def _duration_s(workload: Workload) -> int:
    """Duration in s: four times what the rate alone requires, which allows for losses."""
    total = sum(group.connections * group.payload_bytes for group in workload.groups)
    last_ns = max(group.start_ns + group.spread_ns for group in workload.groups)
    carrying = Fraction(4 * 8 * total, workload.rate_bps)
    return math.ceil(Fraction(last_ns + 50 * workload.rtt_ns, 10**9) + carrying) + 10


def _group_names(groups: Sequence[Group]) -> list[tuple[str, str]]:
    """Distinct names for an experiment file: of groups (class and direction), and of flows."""
    both_ways = len({group.is_upload for group in groups}) > 1
    names: dict[tuple[str, bool], str] = {}
    counts: dict[str, int] = {}
    found = []
    for group in groups:
        key = (group.class_, group.is_upload)
        if key not in names:
            plain = _plain(group.class_) or "class"
            stem = f"{plain}-up" if group.is_upload and both_ways else plain
            name, number = stem, 2
            while name in names.values():
                name, number = f"{stem}-{number}", number + 1
            names[key] = name
        name = names[key]
        counts[name] = counts.get(name, 0) + 1
        found.append((name, counts[name]))
    several = {name for name, count in counts.items() if count > 1}
    return [(name, f"{name}-{n}" if name in several else name + "-{i}") for name, n in found]


def _plain(text: str) -> str:
    """Name without characters that YAML, factors or counted flows interpret."""
    return re.sub(r"[^\w.-]+", "-", text, flags=re.ASCII)[:60].strip("-")


def _quoted(text: str) -> str:
    """Name in YAML, quoted where YAML would not read it as text."""
    is_plain = re.fullmatch(r"[A-Za-z][A-Za-z-]*", text) and text.lower() not in _NO_TEXTS
    return text if is_plain else json.dumps(text)


def _time(ns: int) -> str:
    return f"{ns / 1e6:.3f}".rstrip("0").rstrip(".") + " ms"
