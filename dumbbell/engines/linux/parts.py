"""What a kernel lacks of what a scenario names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from dumbbell.catalogue import Discipline, disciplines
from dumbbell.engines.base import scenario_error
from dumbbell.scenario import read_scenario


def check_disciplines(scenario: str, config: Path, version: str) -> None:
    """Raises `ScenarioError` for the first queue discipline that a kernel was built without.

    Args:
        scenario: The scenario.
        config: Options of the kernel.
        version: Its version, for the message.
    """
    known = {one.key: one for one in disciplines().values()}
    for number, link in enumerate(read_scenario(scenario)["links"]):
        for way, pipe in (("forward", link["forward"]), ("backward", link["backward"])):
            for key in _keys(pipe["queue"]):
                one = known.get(key)
                if one is not None and lacks(one, config):
                    place = f"links[{number}].{way}.queue.{key}"
                    raise scenario_error(place, _message(one, version))


def lacks(one: Discipline, config: Path) -> bool:
    """Returns true if a kernel was built without a discipline."""
    return one.linux is None or f"CONFIG_{one.linux.option}" not in _options(config)


def _message(one: Discipline, version: str) -> str:
    if one.linux is None:
        return f"no Linux has {one.name}: {one.not_in_linux}"
    newer = "`dumbbell kernel build --release 7.3` builds one that has it"
    return f"Linux {version} has no {one.name}; Linux has it since {one.linux.since}: {newer}"


def _keys(queue: Any) -> Iterator[str]:
    """Names of a queue and of the queues of its classes, as in the scenario."""
    for key, held in queue.items() if isinstance(queue, dict) else ():
        yield key
        for one in held.get("bands") or held.get("classes") or ():
            yield from _keys(one.get("queue"))


@lru_cache(maxsize=8)
def _options(config: Path) -> frozenset[str]:
    lines = config.read_text(encoding="utf-8").splitlines()
    return frozenset(line.partition("=")[0] for line in lines if line.endswith("=y"))
