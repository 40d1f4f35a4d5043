"""Engines: what executes a run."""

from __future__ import annotations

from collections.abc import Callable

from dumbbell.engines.base import Engine, Monitor, Run, RunResult
from dumbbell.engines.sim import SimEngine
from dumbbell.errors import EngineError, nearest_name

ENGINES: dict[str, Callable[[], Engine]] = {"sim": SimEngine}
"""Every engine by name."""


def engine_named(name: str) -> Engine:
    """The engine of this name.

    Raises:
        EngineError: There is none.
    """
    if name not in ENGINES:
        near = nearest_name(name, ENGINES)
        hint = f"; did you mean {near}?" if near is not None else ""
        raise EngineError(f"no engine {name!r}{hint}; there are {', '.join(ENGINES)}")
    return ENGINES[name]()


__all__ = ["ENGINES", "Engine", "Monitor", "Run", "RunResult", "SimEngine", "engine_named"]
