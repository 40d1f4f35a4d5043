"""A script on the simulator's TCP."""

from __future__ import annotations

import json

from dumbbell import _core
from dumbbell._core import Monitor
from dumbbell.errors import EngineError, did_you_mean, nearest_name
from dumbbell.files.input import read_file
from dumbbell.packetdrill.plan import Plan, Played, judged
from dumbbell.packetdrill.suite import MOST_BYTES, Script


class Model:
    """Plays scripts on the simulator's TCP.

    `profile`: sysctls and behaviour, `linux-6.12`; None: the default one. Raises `EngineError` if
    there is none of this name.
    """

    def __init__(self, profile: str | None) -> None:
        known = list(_core.profiles())
        if profile is not None and profile not in known:
            near = nearest_name(profile, known)
            hint = did_you_mean(near)
            raise EngineError(f"{profile}: no such profile{hint}; there is {', '.join(known)}")
        self._profile = profile or _core.default_profile()
        self.name = f"sim, {self._profile}"

    def play(self, script: Script, plan: Plan, monitor: Monitor) -> Played:
        """Plays a script, within a few milliseconds."""
        del monitor  # There is nothing to wait for.

        def read(path: str) -> str | None:
            try:
                return read_file(script.path.parent / path, MOST_BYTES).decode()
            except (OSError, UnicodeDecodeError):
                return None

        result = _core.play_packetdrill(plan.text(script), self._profile, read)
        return judged(script, json.loads(result), modelled=True)
