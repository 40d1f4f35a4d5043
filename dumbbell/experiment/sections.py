"""Sections of an experiment file, each read once per combination of the levels it depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.experiment import cells
from dumbbell.experiment.document import ExperimentFile
from dumbbell.experiment.factors import Factors, Level
from dumbbell.experiment.source import Node

#: Sections whose models stand for themselves when a file is read again.
_KEPT = (
    "template", "hosts", "routers", "switches", "links", "routes", "flows", "arrivals", "pages",
    "taps", "expect",
)  # fmt: skip
#: Sections held at a time: beyond, reading again is better than filling the memory.
_MOST = 4096

_Key = tuple[str, tuple[int, ...]]


class Sections:
    """What pydantic is given of each cell."""

    def __init__(self, root: Node, varied: Factors) -> None:
        if not isinstance(root.value, dict):
            raise TypeError("an experiment is a mapping")
        self.root = root
        self.paths: dict[str, dict[str, list[str]]] = {}
        for name, targets in varied.paths.items():
            for target, _ in targets:
                section = str(cells.steps(target)[0])
                self.paths.setdefault(section, {}).setdefault(name, []).append(target)
        self.touched: dict[str, tuple[str, ...]] = {}
        for section in dict.fromkeys([*root.value, *self.paths]):
            if section != "factors":
                part = root.value.get(section)
                used = {name for name, _ in cells.references(part)} if part is not None else set()
                used |= self.paths.get(section, {}).keys()
                self.touched[section] = tuple(name for name in varied.levels if name in used)
        self.known: dict[_Key, Any] = {}

    def given(self, levels: Mapping[str, Level]) -> dict[str, Any]:
        """The fields of a cell: plain values, and models where they were read before.

        Raises `PathError` for a path that leads nowhere.
        """
        return {section: self._section(section, levels) for section in self.touched}

    def keep(self, levels: Mapping[str, Level], document: ExperimentFile) -> None:
        """Remembers the models of a cell."""
        for section in _KEPT:
            if section in self.touched:
                value = getattr(document, section)
                if value is not None:
                    self.known[self._key(section, levels)] = value

    def _key(self, section: str, levels: Mapping[str, Level]) -> _Key:
        return section, tuple(id(levels[name]) for name in self.touched[section])

    def _section(self, section: str, levels: Mapping[str, Level]) -> Any:
        key = self._key(section, levels)
        if key not in self.known:
            if len(self.known) >= _MOST:
                self.known.clear()
            self.known[key] = self._read(section, levels)
        return self.known[key]

    def _read(self, section: str, levels: Mapping[str, Level]) -> Any:
        fields = self.root.value if isinstance(self.root.value, dict) else {}
        part = {section: fields[section]} if section in fields else {}
        paths = self.paths.get(section, {})
        tree = cells.substitute(Node(part, "", self.root.line), levels, paths)
        return tree.plain().get(section)
