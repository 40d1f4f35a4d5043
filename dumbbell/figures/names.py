"""Why a figure shows nothing: a flow, repeat or level that the results do not have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dumbbell.errors import did_you_mean, nearest_name, shortened
from dumbbell.metrics import Tables

#: Columns beside factors by which rows may be chosen.
_COLUMNS = (
    "run", "repeat", "seed", "engine", "flow", "pipe", "kind", "congestion_control", "session",
    "group", "arrivals",
)  # fmt: skip


def no_factor(name: str, known: Iterable[str]) -> ValueError:
    """Error about a name that is no factor, with the nearest one and all that there are."""
    return ValueError(_unknown("factor", name, known))


def where_said(where: Mapping[str, str | Sequence[str]]) -> str:
    """The choice of rows in words: ` where flow is own, rtt is 10 ms`; nothing for none."""
    each = [f"{name} is {' or '.join(_several(found))}" for name, found in where.items()]
    return f" where {', '.join(each)}" if each else ""


def wrong_name(results: Tables, options: Mapping[str, Any]) -> str | None:
    """Sentence about the first name among the options of a figure that the results do not have.

    Options are those of `PlotOptions`; names of rows alone are looked at: `flow`, `repeat` and the
    levels of `where`. None: they have all.
    """
    where = {name: _several(found) for name, found in (options.get("where") or {}).items()}
    flows = [*where.pop("flow", ()), *_several(options.get("flow") or ())]
    levels = {name: [*map(str, known)] for name, known in results.experiment.factors.items()}
    for name in flows:
        known = results.flows["flow"].unique(maintain_order=True).to_list()
        if name not in known:
            return _unknown("flow", name, known)
    for factor, chosen in where.items():
        if factor not in levels and factor not in _COLUMNS:
            return _unknown("factor", factor, [*levels, "flow"])
        for name in chosen if factor in levels else ():
            if name not in levels[factor]:
                return _unknown(f"level of {factor}", name, levels[factor])
    repeat, repeats = options.get("repeat"), sorted(set(results.runs["repeat"].to_list()))
    if repeat is not None and repeat not in repeats:
        return f"no repeat {repeat}; there are {repeats[0]} to {repeats[-1]}"
    return None


def _several(found: str | Sequence[str]) -> Sequence[str]:
    return [found] if isinstance(found, str) else found


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    names = list(known)
    near = nearest_name(name, names)
    hint = did_you_mean(near, ";")
    there = shortened(", ".join(names), 200) or "none"
    return f"no {kind} {shortened(name)!r}{hint} there are {there}"
