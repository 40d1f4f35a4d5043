"""A script on a kernel in virtual time: a guest of its own boots for it."""

from __future__ import annotations

import json

from dumbbell._core import Monitor
from dumbbell.engines.linux import death
from dumbbell.engines.linux.engine import LinuxEngine
from dumbbell.engines.linux.guest import guest_program
from dumbbell.engines.linux.launch import booted
from dumbbell.errors import EngineError
from dumbbell.packetdrill.plan import Plan, Played, judged, not_played
from dumbbell.packetdrill.suite import Script

#: Real seconds after which a script is taken for hung: the guest's time stands still while one of
#: its commands computes.
LIMIT_S = 60.0
_SEED = 1


class Kernel:
    """Plays scripts on a kernel. Raises `EngineError` if the kernel is not there."""

    def __init__(self, engine: LinuxEngine) -> None:
        self._engine = engine
        self.name = engine.name

    def play(self, script: Script, plan: Plan, monitor: Monitor) -> Played:
        """Plays a script. The same script gives the same result, to the microsecond."""
        files = {"packetdrill.json": plan.text(script)}
        command = self._engine.command
        try:
            with booted(command, guest_program(), files, _SEED, LIMIT_S, monitor) as (
                folder,
                console,
            ):
                result = folder / "played.json"
                if result.exists():
                    return judged(script, json.loads(result.read_bytes()))
                error = folder / "error.json"
                if error.exists():
                    return not_played(script, json.loads(error.read_bytes())["message"])
                why = death.cause(console)
                return not_played(script, f"the guest died{'' if why is None else f': {why}'}")
        except EngineError as error:
            return not_played(script, str(error).partition("; its console")[0])
