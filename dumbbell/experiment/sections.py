"""Sections of an experiment file, read once per combination of the levels they depend on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.experiment import cells
from dumbbell.experiment.document import ExperimentFile
from dumbbell.experiment.factors import Factors, Level
from dumbbell.experiment.source import Node

#: Sections with models that `Strict` accepts in place of a mapping.
_KEPT = (
    "template", "hosts", "routers", "switches", "links", "routes", "flows", "arrivals", "pages",
    "programs", "taps", "expect",
)  # fmt: skip
#: Maximum number of sections in memory.
_MAX_SECTIONS = 4096

_Key = tuple[str, tuple[int, ...]]


class Sections:
    """Input of pydantic for each cell, with models of unchanged sections."""

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
        """Fields of a cell: plain values, or the models of sections read before.

        Raises `PathError` for a path without a field.
        """
        return {section: self._section(section, levels) for section in self.touched}

    def keep(self, levels: Mapping[str, Level], document: ExperimentFile) -> None:
        """Stores the models of a cell for :meth:`given`."""
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
            if len(self.known) >= _MAX_SECTIONS:
                self.known.clear()
            self.known[key] = self._read(section, levels)
        return self.known[key]

    def _read(self, section: str, levels: Mapping[str, Level]) -> Any:
        fields = self.root.value if isinstance(self.root.value, dict) else {}
        part = {section: fields[section]} if section in fields else {}
        paths = self.paths.get(section, {})
        tree = cells.substitute(Node(part, "", self.root.line), levels, paths)
        return tree.plain().get(section)
