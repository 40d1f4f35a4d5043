"""Engines: they execute runs.

`base` is their protocol: `sim`, `linux` (builds kernels, starts guests), `netns`. `preflight` warns
before a run.
"""

from __future__ import annotations

from collections.abc import Callable

from dumbbell.codes import Code
from dumbbell.engines.base import Engine, Monitor, Run, RunResult
from dumbbell.engines.sim import SimEngine
from dumbbell.errors import EngineError, did_you_mean, nearest_name
from dumbbell.runs import MEASURED


def _linux(variant: str) -> Engine:
    from dumbbell.engines.linux.engine import LinuxEngine

    return LinuxEngine(variant)


def _netns(_: str) -> Engine:
    from dumbbell.engines.netns import NetnsEngine

    return NetnsEngine()


ENGINES: dict[str, Callable[[str], Engine]] = {
    "sim": lambda _: SimEngine(),
    "linux": _linux,
    "netns": _netns,
}
"""Constructors of engines by name. The argument is the part after a colon (`linux:mine`)."""


def engine_named(name: str) -> Engine:
    """Engine by name, optionally with a kernel: `linux:mine`.

    Raises:
        EngineError: The engine is unknown.
    """
    kind, _, variant = name.partition(":")
    if kind == MEASURED:
        raise EngineError(
            "measured runs cannot be made again or explained: of each there is only what its file "
            "has. Simulated runs beside them are in their own experiment (--experiment NAME)",
            code=Code.ENGINE,
        )
    if kind not in ENGINES or (variant and kind != "linux"):
        near = nearest_name(kind, ENGINES)
        hint = did_you_mean(near)
        raise EngineError(
            f"no engine {name!r}{hint}; there are {', '.join(ENGINES)}", code=Code.UNKNOWN_ENGINE
        )
    return ENGINES[kind](variant)


__all__ = ["ENGINES", "Engine", "Monitor", "Run", "RunResult", "SimEngine", "engine_named"]
