"""Estimates of events, rows and memory before a run, and refusal above a limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell import _core
from dumbbell.codes import Code
from dumbbell.engines.base import scenario_error
from dumbbell.errors import DumbbellError, did_you_mean, nearest_name
from dumbbell.units import SIZE, QuantityError, whole

#: Approximate packets times links per second of the simulator.
_EVENTS_PER_S = 2e6
#: Packets times links per second of the engine linux, and the time of a guest's boot in s
#: (docs/linux-engine.md).
_LINUX_EVENTS_PER_S, _BOOT_S = 5e4, 0.34
#: Time around a run of the simulator in s: hand-out, tables, store.
_AROUND_S = 0.003


@dataclass(frozen=True)
class Limit:
    """Limit of a run.

    Attributes:
        most: Maximum, in `unit`.
        key: Field of the estimate.
        unit: Unit in messages.
    """

    most: float
    key: str
    unit: str


#: Limits by their names for `--allow`. A run at all limits takes 15 minutes and 4 GB.
LIMITS: Mapping[str, Limit] = {
    "events": Limit(2e9, "events", "packets times links"),
    "rows": Limit(3e7, "rows", "rows"),
    "memory": Limit(4e9, "memory_bytes", "bytes of memory"),
    "captures": Limit(4e9, "capture_bytes", "bytes of captures"),
}

_FIELDS = {"probes": "sampling", "interval_ns": "sampling.interval_ns"}

Allowed = Mapping[str, float]


def allowed(chosen: str | Sequence[str] | Mapping[str, float] | None) -> Allowed:
    """Value of `--allow` as limit → number: `events=5e9`, `memory=16 GB`, `all`.

    Raises:
        DumbbellError: The limit is unknown, or its number is malformed.
    """
    if isinstance(chosen, Mapping):
        pairs: Iterator[tuple[str, Any]] = iter(chosen.items())
    else:
        texts = [chosen] if isinstance(chosen, str) else chosen or ()
        pairs = (text.partition("=")[::2] for text in texts)
    found: dict[str, float] = {}
    for name, number in pairs:
        if name == "all" and not number:
            return dict.fromkeys(LIMITS, float("inf"))
        if name not in LIMITS:
            near = nearest_name(name, LIMITS)
            hint = did_you_mean(near)
            words = ", ".join((*LIMITS, "all"))
            raise DumbbellError(
                f"--allow {name}: no such limit{hint}; allowed: {words}", code=Code.LIMIT
            )
        found[name] = _number(name, number)
    return found


def _number(name: str, text: str | float) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        if name in ("memory", "captures"):
            return float(whole(text, SIZE))
    except QuantityError:
        pass
    example = "16 GB" if name in ("memory", "captures") else "5e9"
    raise DumbbellError(
        f"--allow {name}={text}: should be a number, as {name}={example}", code=Code.LIMIT
    )


def check(scenario: str, raised: Allowed) -> list[int]:
    """Refuses a scenario with an estimate above a limit.

    Returns the numbers of the flows with neither a rate nor a delay on their paths.

    Raises:
        ScenarioError: The costliest field, the estimate, and the option that allows it.
    """
    estimate = _core.budget(scenario)
    for name, limit in LIMITS.items():
        found, most = estimate[limit.key], raised.get(name, limit.most)
        if found > most:
            raise scenario_error(*_refusal(name, limit, estimate, most), Code.BUDGET)
    boundless: list[int] = estimate["boundless"]
    return boundless


def is_notable(estimate: Mapping[str, Any], raised: Allowed) -> bool:
    """Returns true if :func:`check` refuses a scenario with this estimate, or returns flows."""
    above = (estimate[one.key] > raised.get(name, one.most) for name, one in LIMITS.items())
    return bool(estimate["boundless"]) or any(above)


def estimated_s(engine: str, scenario: str, duration_ns: int) -> float:
    """Estimated time of a run in s, on one core of an ordinary machine."""
    return time_s(engine, _core.budget(scenario), duration_ns)


def time_s(engine: str, estimate: Mapping[str, Any], duration_ns: int) -> float:
    """As :func:`estimated_s`, from the estimate of a scenario."""
    if engine == "netns":  # in real time
        return duration_ns / 1e9
    events = float(estimate["events"])
    if engine.partition(":")[0] == "linux":
        return _BOOT_S + events / _LINUX_EVENTS_PER_S
    return _AROUND_S + events / _EVENTS_PER_S


def _refusal(name: str, limit: Limit, estimate: Mapping[str, Any], most: float) -> tuple[str, str]:
    """Field and message of a refusal, with the option that allows it."""
    found = estimate[limit.key]
    if name == "memory":
        return estimate["heaviest"], _too_large(found, most, estimate["heaviest"])
    allow = f"or allow it: --allow {name}={_rounded_up(found):g}"
    said = f"a run would take about {found:.1e} {limit.unit}, above the limit of {most:.0e}"
    if name != "events":
        place = estimate["longest"]
        what = "a longer interval, a shorter stretch of time or fewer taps would do"
        return _FIELDS.get(place, f"sampling.{place}"), f"{said}; {what}, {allow}"
    took = f"{said}, some {_duration(found / _EVENTS_PER_S)} in the simulator"
    if estimate["boundless"]:
        first = estimate["boundless"][0]
        what = "its path has neither a rate nor a delay: give a link on it one"
        return f"flows[{first}]", f"{took}; {what}, {allow}"
    if estimate["busiest"] is None:
        return "sampling.interval_ns", f"{took}; a longer interval would do, {allow}"
    place = f"flows[{estimate['busiest']}]"
    return place, f"{took}; a shorter run or lower rates would do, {allow}"


def _too_large(found: float, most: float, place: str) -> str:
    """Message about memory above the limit. `place`: the field that needs most of it."""
    section = place.partition("[")[0].partition(".")[0]
    advice = {
        "sampling": "a longer interval, a shorter stretch of time or fewer taps",
        "arrivals": "a shorter run or fewer flows per second",
        "flows": "fewer flows, or shorter queues and paths",
    }.get(section, "a smaller network")
    allow = f"--allow memory='{_rounded_up(found) / 1e9:g} GB'"
    return (
        f"a run would take about {found / 1e9:.2g} GB of memory, above the limit of "
        f"{most / 1e9:g} GB; {advice} would do, or allow it: {allow}"
    )


def _rounded_up(number: float) -> float:
    """Next larger number with one significant digit, as a value for `--allow`."""
    step = 10.0 ** (len(f"{number:.0f}") - 1)
    return step * (number // step + 1)


def _duration(seconds: float) -> str:
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours"
