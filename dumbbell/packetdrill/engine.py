"""Engines that play scripts, by name."""

from __future__ import annotations

from dumbbell.engines import engine_named
from dumbbell.engines.linux.engine import LinuxEngine
from dumbbell.engines.sim import SimEngine
from dumbbell.errors import EngineError
from dumbbell.packetdrill.guest import Kernel
from dumbbell.packetdrill.model import Model
from dumbbell.packetdrill.playing import Player


def player_named(name: str, profile: str | None = None) -> Player:
    """The engine of a name.

    Args:
        name: `sim`, `linux`, `linux:NAME`.
        profile: TCP profile of the simulator; None: the default one.

    Raises:
        EngineError: There is no such engine, or it plays no scripts; or there is no such profile.
    """
    engine = engine_named(name)
    if isinstance(engine, SimEngine):
        return Model(profile)
    if profile is not None:
        raise EngineError(f"{name} has no profile: its kernel is what it is")
    if isinstance(engine, LinuxEngine):
        return Kernel(engine)
    raise EngineError(f"{name} plays no scripts of packetdrill: `sim` and kernels (`linux`) do")
