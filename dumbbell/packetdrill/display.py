"""What is said about scripts: lines of those that failed, TAP, JUnit, JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from dumbbell.compare.junit import Case, xml
from dumbbell.console.words import many
from dumbbell.packetdrill.plan import Played, Verdict

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


def printed(played: Played) -> Iterator[str]:
    """What the script's code printed."""
    yield from (f"  printed: {one}" for one in played.printed)


def lacking(found: Sequence[Played]) -> Iterator[str]:
    """A line for each thing that the simulator does not have, with the number of scripts."""
    causes = Counter(one.message for one in found if one.verdict is Verdict.NOT_MODELLED)
    for cause, count in causes.most_common():
        yield f"• not modelled, {many(count, 'script')}: {cause}"


def summary(found: Sequence[Played], engine: str) -> str:
    """The last line."""
    passed = sum(one.passed for one in found)
    failed = sum(one.failed for one in found)
    lack = len(found) - passed - failed
    rest = f", {lack} ask for what is not modelled" if lack else ""
    mark = "✗" if failed else "✓"
    return f"{mark} {passed} of {many(len(found), 'script')} passed on {engine}{rest}"


def tap(found: Sequence[Played]) -> str:
    """Results as TAP, version 13."""
    lines = ["TAP version 13", f"1..{len(found)}"]
    for at, one in enumerate(found, start=1):
        skipped = "" if one.passed or one.failed else f" # SKIP {one.message}"
        lines.append(f"{'not ok' if one.failed else 'ok'} {at} - {one.script.name}{skipped}")
        if one.failed:
            lines += [f"# {line}" for line in "\n".join(failure_lines(one)).splitlines()]
    return "\n".join(lines) + "\n"


def junit(found: Sequence[Played], engine: str) -> str:
    """Results as JUnit XML."""
    cases = [
        Case("script", one.script.name, "\n".join(failure_lines(one)) if one.failed else None)
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
                "printed": list(one.printed),
                "packets": [
                    {"line": p.line, "expected_us": p.expected_us, "at_us": p.at_us}
                    for p in one.seen
                ],
            }
            for one in found
        ],
    }
