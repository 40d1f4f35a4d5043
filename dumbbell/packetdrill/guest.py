"""A script on a kernel in virtual time: a guest of its own boots for it."""

from __future__ import annotations

import json
from collections.abc import Iterable

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
#: How the guest says on its console which command of the shell it runs.
_RUNNING = "shell: "


class Kernel:
    """Plays scripts on a kernel. Raises `EngineError` if the kernel is not there."""

    def __init__(self, engine: LinuxEngine) -> None:
        self._engine = engine
        self.name = engine.name

    def play(self, script: Script, plan: Plan, monitor: Monitor) -> Played:
        """Plays a script. The same script gives the same result, to the microsecond."""
        files = {"packetdrill.json": plan.text(script)}
        command, name = self._engine.command, "_".join(script.path.parts[1:])
        try:
            with booted(command, guest_program(), files, _SEED, LIMIT_S, monitor, name=name) as (
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
                died = f"the guest died{'' if why is None else f': {why}'}"
                return not_played(script, died, _line_of_shell(script, console))
        except EngineError as error:
            message, _, said = str(error).partition("; its console")
            return not_played(script, message, _line_of_shell(script, said.splitlines()))


def _line_of_shell(script: Script, console: Iterable[str]) -> int:
    """Line of the shell's command that was running, as the console says; 0: none was."""
    told = [one for one in console if one.startswith("shell")]
    if not told or not told[-1].startswith(_RUNNING):
        return 0
    begin = told[-1].removeprefix(_RUNNING)
    text = "".join(one if one.isprintable() else " " for one in script.text)
    commands = (at for at, one in enumerate(text) if one == "`")
    found = (at for at in commands if text[at + 1 :].lstrip().startswith(begin))
    return next((script.text.count("\n", 0, at) + 1 for at in found), 0)
