"""One cell of an experiment as an experiment of its own, without factors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_REFERENCE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_GROUPS = ("grid", "zip", "points")


def alone(contents: Mapping[str, Any], levels: Mapping[str, str]) -> dict[str, Any] | None:
    """The experiment with these levels in place of its references.

    None if a factor is set by a path, or a level is not found.
    """
    values: dict[str, Any] = {}
    for name, choices in _factors(contents.get("factors")):
        if not isinstance(choices, list):
            return None
        for one in choices:
            if name in levels and _label(one) == levels[name]:
                values.setdefault(name, _value(one))
    if set(values) != set(levels):
        return None
    left = {key: one for key, one in contents.items() if key not in ("factors", "search")}
    return {key: _replaced(one, values) for key, one in left.items()}


def _factors(given: Any) -> Iterator[tuple[str, Any]]:
    """Factors with their levels; of `points` each combination by itself."""
    if not isinstance(given, dict):
        return
    if not set(given) <= set(_GROUPS):
        yield from given.items()
        return
    for group in given.values():
        for part in group if isinstance(group, list) else [group]:
            for name, choices in part.items() if isinstance(part, dict) else ():
                yield name, choices if isinstance(choices, list | dict) else [choices]


def _label(level: Any) -> str:
    if isinstance(level, dict) and "label" in level:
        return str(level["label"])
    return str(level).lower() if isinstance(level, bool) else str(level)


def _value(level: Any) -> Any:
    return level["value"] if isinstance(level, dict) and "value" in level else level


def _replaced(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(one, values) for key, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, values) for one in value]
    if not isinstance(value, str):
        return value
    whole = _REFERENCE.fullmatch(value)
    if whole is not None:
        return values.get(whole[1] or whole[2], value)
    return _REFERENCE.sub(lambda one: str(values.get(one[1] or one[2], one[0])), value)
