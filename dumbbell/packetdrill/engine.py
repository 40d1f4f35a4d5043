"""Engines that play scripts, by name."""

from __future__ import annotations

from dumbbell.engines import engine_named
from dumbbell.engines.linux.engine import LinuxEngine
from dumbbell.errors import EngineError
from dumbbell.packetdrill.guest import Kernel
from dumbbell.packetdrill.playing import Player


def player_named(name: str) -> Player:
    """The engine of a name. Raises `EngineError` if there is none, or it plays no scripts."""
    engine = engine_named(name)
    if isinstance(engine, LinuxEngine):
        return Kernel(engine)
    raise EngineError(f"{name} plays no scripts of packetdrill: a kernel does, as `linux`")
