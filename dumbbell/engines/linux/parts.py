"""Parts of Linux that a scenario needs and a kernel may lack: queues, algorithms, Accurate ECN."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from dumbbell.catalogue import InLinux, congestion_controls, disciplines
from dumbbell.engines.base import scenario_error
from dumbbell.engines.linux.kernel import Kernel
from dumbbell.engines.linux.modules import PREFIX
from dumbbell.plugins.kept import kept
from dumbbell.plugins.unusable import UnusableError
from dumbbell.scenario import Scenario, read_scenario

#: First release with Accurate ECN, and the values of `tcp_ecn` that need it.
_ACCURATE_ECN_SINCE = (6, 18)
_ACCURATE_ECN = (3, 4, 5)
_PARAMETER = re.compile(rb"\bmodule_param(?:_named)?\s*\(\s*(\w+)")
_NEWER = "`dumbbell kernel build --release 7.3` builds one that has it"


def check_parts(scenario: str, kernel: Kernel) -> None:
    """Raises `ScenarioError` for the first thing that a kernel lacks, with the kernel that has it.

    Args:
        scenario: The scenario.
        kernel: The kernel that is asked.
    """
    version = kernel.version
    read = read_scenario(scenario)
    wanted = (*_of_queues(read), *_of_flows(read))
    for place, name, part in wanted:
        patched = part is not None and not part.since
        if part is not None and (lacks(part, kernel.config) or (patched and not kernel.own)):
            raise scenario_error(place, f"Linux {version} has no {name}; {_where(name, part)}")
    release = tuple(int(one) for one in version.split(".")[:2] if one.isdecimal())
    for number, node in enumerate(read["nodes"]):
        tcp: dict[str, Any] = node.get("tcp") or {}  # type: ignore[assignment]
        if tcp.get("tcp_ecn") in _ACCURATE_ECN and release < _ACCURATE_ECN_SINCE:
            since = ".".join(map(str, _ACCURATE_ECN_SINCE))
            message = f"Linux {version} has no Accurate ECN; Linux has it since {since}: {_NEWER}"
            raise scenario_error(f"nodes[{number}].tcp.tcp_ecn", message)


def check_modules(scenario: str, kernel: Kernel | None) -> None:
    """Raises `ScenarioError` for the first plug-in that a kernel does not have.

    Args:
        scenario: The scenario.
        kernel: The kernel that is asked; None: the host's own, which has none.
    """
    if '"plugin":{' not in scenario:
        return
    for place, facts in _plugins(read_scenario(scenario)):
        name, sha256 = facts["name"], facts["sha256"]
        if kernel is None:
            message = f"{name} is a plug-in, which the host's own kernel does not have; "
            raise scenario_error(place, message + "the engines sim and linux run it")
        if kernel.modules.get(name) == sha256:
            _check_parameters(place, facts)
            continue
        how = f"`dumbbell kernel build --module tcp_{name}.c` builds one with it"
        if name in kernel.modules:
            how = f"its {name} was built from another text: {how}"
        else:
            names = ", ".join(kernel.modules) or "none"
            how = f"it has the modules: {names}. {how} (a module of Linux in C; others: engine sim)"
        called = f" {kernel.name}" if kernel.name else ""
        raise scenario_error(place, f"the kernel{called} does not have the plug-in {name}; {how}")


def _check_parameters(place: str, facts: dict[str, Any]) -> None:
    given = facts.get("parameters", [])
    try:
        known = {one.decode() for one in _PARAMETER.findall(kept(facts["sha256"]).read_bytes())}
    except UnusableError:
        return  # Another machine read the file; the same text has the same parameters.
    for name, value in given:
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise scenario_error(
                place, f"the module {facts['name']} has no parameter {name}; it has {there}"
            )
        if value != int(value):
            message = f"parameter {name} is {value}; a module of Linux takes whole numbers"
            raise scenario_error(place, message)


def module_parameters(scenario: str) -> list[str]:
    """Words of the kernel's command line with the parameters of a scenario's plug-ins."""
    if '"plugin":{' not in scenario:
        return []
    words = {
        f"{PREFIX}{facts['name']}.{name}={int(value)}"
        for _, facts in _plugins(read_scenario(scenario))
        for name, value in facts.get("parameters", [])
    }
    return sorted(words)


def _plugins(scenario: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Plug-ins that a part of a scenario names: place and facts."""
    if isinstance(scenario, list):
        for number, one in enumerate(scenario):
            yield from _plugins(one, f"{place}[{number}]")
    elif isinstance(scenario, dict):
        control = scenario.get("congestion_control")
        if isinstance(control, dict):
            yield f"{place}.congestion_control", control["plugin"]
        for key, one in scenario.items():
            if isinstance(one, dict | list):
                yield from _plugins(one, f"{place}.{key}" if place else key)


def lacks(part: InLinux | None, config: Path) -> bool:
    """Returns true if a kernel was built without a part. `part`: None: no kernel has it."""
    if part is None:
        return True
    return bool(part.option) and f"CONFIG_{part.option}" not in _options(config)


def _where(name: str, part: InLinux) -> str:
    if not part.since:
        return f"it exists as a patch: `dumbbell kernel build --patch FILE --name {name}`"
    return f"Linux has it since {part.since}: {_NEWER}"


def _of_queues(scenario: Scenario) -> Iterator[tuple[str, str, InLinux | None]]:
    known = {one.key: one for one in disciplines().values()}
    for number, link in enumerate(scenario["links"]):
        for way, pipe in (("forward", link["forward"]), ("backward", link["backward"])):
            for key in _keys(pipe["queue"]):
                if (one := known.get(key)) is not None:
                    yield f"links[{number}].{way}.queue.{key}", one.name, one.linux


def _of_flows(scenario: Scenario) -> Iterator[tuple[str, str, InLinux | None]]:
    for number, flow in enumerate(scenario["flows"]):
        tcp: Any = flow["traffic"].get("tcp")
        if tcp is not None and isinstance(tcp["congestion_control"], str):  # no plug-in
            one = congestion_controls()[tcp["congestion_control"]]
            yield f"flows[{number}].traffic.tcp.congestion_control", one.name, one.linux


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
