"""Many scripts, several at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from typing import Protocol

from dumbbell._core import Monitor
from dumbbell.packetdrill.plan import Plan, Played, Verdict, not_played
from dumbbell.packetdrill.suite import Script


class Player(Protocol):
    """An engine that plays scripts."""

    name: str

    def play(self, script: Script, plan: Plan, monitor: Monitor) -> Played:
        """Plays a script."""


def play_all(
    player: Player,
    scripts: Sequence[Script],
    plan: Plan,
    *,
    workers: int,
    repeats: int = 1,
    progress: Callable[[Played], None] = lambda _: None,
) -> list[Played]:
    """Plays scripts; what came of each, in their order.

    Args:
        player: Engine.
        scripts: Scripts.
        plan: How they are played.
        workers: Scripts at once.
        repeats: A script fails, too, if one of its repeats has another result.
        progress: Told about each script that is done.
    """
    monitor = Monitor()

    def one(script: Script) -> Played:
        if script.unreadable is not None:
            return not_played(script, *script.unreadable)
        first = player.play(script, plan, monitor)
        for _ in range(repeats - 1):
            again = player.play(script, plan, monitor)
            if again != first:
                message = f"two repeats differ: {first.message or 'passed'}; {again.message}"
                return replace(first, verdict=Verdict.FAILED, message=message)
        return first

    with ThreadPoolExecutor(max_workers=workers) as pool:
        tasks = {pool.submit(one, script): at for at, script in enumerate(scripts)}
        found: dict[int, Played] = {}
        try:
            for task in as_completed(tasks):
                played = task.result()
                found[tasks[task]] = played
                progress(played)
        except BaseException:
            monitor.cancel()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [found[at] for at in sorted(found)]
