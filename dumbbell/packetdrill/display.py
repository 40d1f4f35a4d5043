"""What is said about scripts: lines of those that failed, TAP, JUnit, JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dumbbell.compare.junit import Case, xml
from dumbbell.console.words import many
from dumbbell.packetdrill.plan import Played

#: Longest list of packets whose times are shown.
_MOST_TIMES = 10_000


def failure_lines(played: Played) -> Iterator[str]:
    """Lines about a script that failed: where, why, both packets."""
    place = f"{played.script.name}:{played.line}" if played.line else played.script.name
    yield f"✗ {place}: {played.message}"
    if played.expected is not None:
        yield f"    expected  > {played.expected}"
    if played.sent is not None:
        yield f"    sent      > {played.sent}"


def times(played: Played) -> Iterator[str]:
    """A line for each packet that was sent: when, and how far from the script's time."""
    for one in played.seen[:_MOST_TIMES]:
        at = f"{one.at_us / 1e6:.6f} s"
        if one.expected_us is None:
            yield f"  line {one.line}: sent at {at}, at any time"
        else:
            yield f"  line {one.line}: sent at {at}, {one.at_us - one.expected_us:+d} µs"


def summary(found: Sequence[Played], engine: str) -> str:
    """The last line."""
    passed = sum(one.passed for one in found)
    mark = "✓" if passed == len(found) else "✗"
    return f"{mark} {passed} of {many(len(found), 'script')} passed on {engine}"


def tap(found: Sequence[Played]) -> str:
    """Results as TAP, version 13."""
    lines = ["TAP version 13", f"1..{len(found)}"]
    for at, one in enumerate(found, start=1):
        lines.append(f"{'ok' if one.passed else 'not ok'} {at} - {one.script.name}")
        if not one.passed:
            lines += [f"# {line}" for line in "\n".join(failure_lines(one)).splitlines()]
    return "\n".join(lines) + "\n"


def junit(found: Sequence[Played], engine: str) -> str:
    """Results as JUnit XML."""
    cases = [
        Case("script", one.script.name, None if one.passed else "\n".join(failure_lines(one)))
        for one in found
    ]
    return xml("packetdrill", cases, [("engine", engine)])


def to_json(found: Sequence[Played], engine: str) -> dict[str, Any]:
    """Results as JSON."""
    return {
        "engine": engine,
        "scripts": [
            {
                "name": one.script.name,
                "verdict": one.verdict.value,
                "line": one.line or None,
                "message": one.message or None,
                "expected": one.expected,
                "sent": one.sent,
                "deviation_us": one.deviation_us,
                "packets": [
                    {"line": p.line, "expected_us": p.expected_us, "at_us": p.at_us}
                    for p in one.seen
                ],
            }
            for one in found
        ],
    }
