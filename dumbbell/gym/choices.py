"""What a user chose for an environment, checked: names, and the length of a step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError, did_you_mean, nearest_name
from dumbbell.gym.catalogue import ACTIONS, OBSERVATIONS, REWARDS

_UNITS_NS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_COUNTED = {"rtt": "rtt", "ack": "acks", "acks": "acks"}
_STEP = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*")
_FORMS = "allowed: a time such as 10 ms, round trips such as 1 rtt, ACKs such as 8 acks"
#: Longest step, and shortest.
_MOST_NS, _LEAST_NS = 3_600 * 10**9, 1_000
#: Actions that set the same.
_EITHER = (("cwnd", "cwnd_factor"), ("pacing_rate", "pacing_factor"))


@dataclass(frozen=True, slots=True)
class Choices:
    """What agents see and set, and when.

    Attributes:
        actions: Names of `ACTIONS`, one element of an action each.
        observations: Names of `OBSERVATIONS`, one element of an observation each.
        reward: Name of `REWARDS`.
        normalised: Observations without unit.
        scaled: Actions from −1 to 1, on a logarithmic scale between their bounds.
        step: `10 ms`: virtual time; `1 rtt`: round trips; `8 acks`: ACKs of
            the first agent that has as many.
        longest: Most virtual time of a step that ends by round trips or ACKs.
        kind: `time`, `rtt` or `acks`.
        count: Round trips or ACKs.
        length_ns: Length of a step, or its most, ns.
    """

    actions: Sequence[str] = ("cwnd",)
    observations: Sequence[str] = ("throughput", "rtt", "min_rtt", "loss_rate", "in_flight", "cwnd")
    reward: str = "throughput_delay"
    normalised: bool = True
    scaled: bool = False
    step: str = "10 ms"
    longest: str = "1 s"
    kind: str = field(init=False)
    count: int = field(init=False)
    length_ns: int = field(init=False)

    def __post_init__(self) -> None:
        """Raises `DumbbellError`: a name or a time that there is not."""
        _check("action", self.actions, ACTIONS)
        _check("observation", self.observations, OBSERVATIONS)
        _check("reward", (self.reward,), REWARDS)
        for pair in _EITHER:
            if set(pair) <= set(self.actions):
                raise _refused(f"actions {pair[0]} and {pair[1]} set the same; take one of them")
        paces = set(_EITHER[1]) & set(self.actions)
        if "pacing_rate" in self.observations and not paces:
            raise _refused(
                "observation pacing_rate: no action sets a pacing rate, so there is none"
            )
        kind, number = _length("step", self.step)
        length_ns = number
        if kind != "time":
            other, length_ns = _length("longest", self.longest)
            if other != "time":
                raise _refused(f"longest: {self.longest!r} is no time")
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "count", 1 if kind == "time" else number)
        object.__setattr__(self, "length_ns", length_ns)

    def action_space(self) -> Box[np.floating[Any]]:
        """Bounds of an action."""
        if self.scaled:
            return Box(-1.0, 1.0, (len(self.actions),), np.float32)
        of = [ACTIONS[name] for name in self.actions]
        low, high = [one.low for one in of], [one.high for one in of]
        return Box(np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32)

    def observation_space(self) -> Box[np.floating[Any]]:
        """Bounds of an observation."""
        of = [OBSERVATIONS[name].bounds[self.normalised] for name in self.observations]
        low, high = zip(*of, strict=True)
        return Box(np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32)


def _refused(message: str) -> DumbbellError:
    return DumbbellError(message, code=Code.OPTION)


def check_list(what: str, names: Sequence[str]) -> None:
    """Raises `DumbbellError` unless these are some names, each once."""
    if isinstance(names, str) or not names:
        raise _refused(f"{what}s: a list of at least one name; found {names!r}")
    if len(set(names)) < len(names):
        raise _refused(f"{what}s: each name once; found {', '.join(names)}")


def _check(what: str, names: Sequence[str], known: Mapping[str, object]) -> None:
    check_list(what, names)
    for name in names:
        if name not in known:
            near = nearest_name(str(name), known)
            hint = did_you_mean(near)
            raise _refused(f"no {what} {name}{hint}; allowed: {', '.join(known)}")


def _length(what: str, text: str) -> tuple[str, int]:
    """`time` and ns; `rtt` or `acks` and their number."""
    found = _STEP.fullmatch(text) if isinstance(text, str) else None
    if found is None or found[2] not in _UNITS_NS | _COUNTED:
        raise _refused(f"{what}: found {text!r}; {_FORMS}")
    number = float(found[1])
    if found[2] in _COUNTED:
        if number != int(number) or not 1 <= number <= 1_000_000:
            raise _refused(f"{what}: found {text!r}; allowed: a whole number from 1 to 1000000")
        return _COUNTED[found[2]], int(number)
    length_ns = round(number * _UNITS_NS[found[2]])
    if not _LEAST_NS <= length_ns <= _MOST_NS:
        raise _refused(f"{what}: found {text!r}; allowed: 1 us to 3600 s")
    return "time", length_ns
