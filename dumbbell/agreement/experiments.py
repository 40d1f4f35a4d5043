"""Cells as experiment files: one for each form of network, with and without chance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dumbbell.agreement.cells import Cell

#: Runs of a cell in which chance decides.
SEEDS = 24


def experiments(
    cells: Iterable[Cell], profile: str, seeds: int = SEEDS, first: int = 1
) -> dict[str, dict[str, Any]]:
    """Experiments by name; together they have every cell once.

    Args:
        cells: What is run.
        profile: Profile of all hosts: that of the kernel.
        seeds: Repeats of a cell in which chance decides. Others are run once.
        first: First seed.
    """
    found: dict[str, dict[str, Any]] = {}
    for cell in cells:
        form = next(iter(cell.network))
        name = f"drawn-{form}{'-with-chance' if cell.is_random else ''}"
        if name not in found:
            found[name] = _empty(name, form, profile, seeds if cell.is_random else 1, first)
        found[name]["factors"]["points"].append(
            {
                "cell": {"label": cell.name, "value": cell.network[form]},
                "taps": {"label": f"{cell.name} taps", "value": _taps(cell)},
                "flows": {"label": f"{cell.name} flows", "value": list(cell.flows)},
                "time": f"{cell.duration_s:g} s",
            }
        )
    return found


def _taps(cell: Cell) -> list[dict[str, str]]:
    """A tap at each interface of a sender."""
    if "links" in cell.network:
        return [{"at": "s1", "link": f"s1-{router}"} for router in ("r1", "r2")]
    return [{"at": one["from"], "link": f"{one['from']}-r1"} for one in cell.flows]


def _empty(name: str, form: str, profile: str, repeats: int, seed: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "dumbbell": 1,
        "name": name,
        "hosts": {"defaults": {"profile": profile}},
        form: "$cell",
        "taps": "$taps",
        "flows": "$flows",
        "duration": "$time",
        "sampling": "none",
        "factors": {"points": []},
        "repeats": repeats,
        "seed": seed,
    }
    if form == "links":
        found["hosts"] |= {"s1": {}, "d1": {}}
        found["routers"] = {"r1": {}, "r2": {}}
    return found
