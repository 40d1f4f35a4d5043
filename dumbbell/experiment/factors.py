"""Factors of an experiment and their combinations.

A value refers to a factor as `${name}` or `$name`, or the factor names the path of a field to
set. The label of a level is its spelling in the file.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.experiment.source import Node

MAX_CELLS = 100_000
MAX_LABEL = 200
REFERENCE = re.compile(r"(?<!\$)(?:\$\{([^{}]*)\}|\$([^\W\d]\w*))")
_NAME = re.compile(r"[^\W\d][\w.-]{0,99}\Z")


def referred(match: re.Match[str]) -> str:
    """Name of the factor in a match of `REFERENCE`."""
    return str(match[2] if match[1] is None else match[1]).strip()


@dataclass(frozen=True, slots=True)
class Level:
    """Level of a factor: its label and its value."""

    label: str
    node: Node


@dataclass(slots=True)
class Factors:
    """All factors of a file.

    Attributes:
        levels: Factor → levels in order.
        rows: Groups of combined levels. The cells are the product of the groups.
        paths: Factor → paths that it sets, with their lines in the file.
        lines: Factor → line in the file.
        fields: Factor → field of the file, where it is not below `factors`.
    """

    levels: dict[str, list[Level]]
    rows: list[list[dict[str, Level]]]
    paths: dict[str, list[tuple[str, int]]]
    lines: dict[str, int]
    fields: dict[str, str] = field(default_factory=dict)

    def field_of(self, name: str) -> str:
        """Field of the file that declares a factor."""
        return self.fields.get(name, f"factors.{name}")

    def remove(self, name: str) -> None:
        """Removes a factor that is tied to no other."""
        del self.levels[name]
        self.paths.pop(name, None)
        self.rows = [group for group in self.rows if name not in group[0]]

    def count(self) -> int:
        """Number of cells."""
        total = 1
        for group in self.rows:
            total *= len(group)
        return total

    def cells(self) -> Iterator[dict[str, Level]]:
        """All combinations. Factors are in the order of the file; the last one varies fastest."""
        for parts in itertools.product(*self.rows):
            merged: dict[str, Level] = {}
            for part in parts:
                merged |= part
            yield {name: merged[name] for name in self.levels}


class Reader:
    """Reader of factors; `out` holds what is read."""

    def __init__(self, file: str, reserved: frozenset[str]) -> None:
        self.file = file
        self.reserved = reserved
        self.out = Factors({}, [], {}, {})

    def fail(self, message: str, line: int, at: str, found: str | None = None) -> ExperimentError:
        """Error of a field, to raise."""
        return ExperimentError(message, file=self.file, line=line, field=at, found=found)

    def read(self, node: Node) -> Factors:
        """Reads the value of `factors`. Raises `ExperimentError`."""
        if node.value is None:
            return self.out
        if not isinstance(node.value, dict):
            raise self.fail("should be a mapping", node.line, "factors", shortened(node.text))
        parts = ("grid", "zip", "points")
        if not set(node.value) & set(parts):
            self.grid(node, "factors")
            return self.out
        for key, part in node.value.items():
            at = f"factors.{key}"
            if key == "grid":
                self.grid(part, at)
            elif key == "zip":
                groups = part.value if isinstance(part.value, list) else [part]
                for group in groups:
                    self.zip(group, at)
            elif key == "points":
                self.points(part, at)
            else:
                message = "beside grid, zip and points there are no factors; put it under grid"
                raise self.fail(message, node.key_lines[key], at)
        return self.out

    def mapping(self, node: Node, at: str) -> dict[str, Node]:
        """Entries of a mapping. Raises `ExperimentError`."""
        if not isinstance(node.value, dict):
            raise self.fail("should be a mapping", node.line, at, shortened(node.text))
        return node.value

    def grid(self, node: Node, at: str) -> None:
        """Reads factors, every combination of which is run."""
        for name, spec in self.mapping(node, at).items():
            levels = self.factor(name, spec, node.key_lines.get(name, node.line), at)
            self.out.rows.append([{name: level} for level in levels])

    def zip(self, node: Node, at: str) -> None:
        """Reads factors with the same number of levels, paired in order."""
        if not self.mapping(node, at):
            raise self.fail("no factor is named", node.line, at)
        columns = {
            name: self.factor(name, spec, node.key_lines.get(name, node.line), at, unique=False)
            for name, spec in self.mapping(node, at).items()
        }
        lengths = {name: len(levels) for name, levels in columns.items()}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{name} has {n}" for name, n in lengths.items())
            raise self.fail("zipped factors need equally many levels", node.line, at, found)
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        self.add_rows(rows, node.line, at)

    def points(self, node: Node, at: str) -> None:
        """Reads combinations, each with the same factors."""
        if not isinstance(node.value, list) or not node.value:
            raise self.fail("should be a list of points", node.line, at, shortened(node.text))
        rows: list[dict[str, Level]] = []
        for i, point in enumerate(node.value):
            here = f"{at}[{i}]"
            row = {
                name: self.level(level, f"{here}.{name}")
                for name, level in self.mapping(point, here).items()
            }
            if rows and set(row) != set(rows[0]):
                names = ", ".join(rows[0])
                raise self.fail(f"every point needs the same factors: {names}", point.line, here)
            rows.append(row)
        if not rows[0]:
            raise self.fail("no factor is named", node.line, at)
        for name in rows[0]:
            self.declare(name, node.line, at)
            seen = {row[name].label: row[name] for row in rows}
            self.out.levels[name] = list(seen.values())
        self.add_rows(rows, node.line, at)

    def add_rows(self, rows: list[dict[str, Level]], line: int, at: str) -> None:
        """Adds combined levels. Raises `ExperimentError` for a combination given twice."""
        labels = [tuple(level.label for level in row.values()) for row in rows]
        seen = set[tuple[str, ...]]()
        for label in labels:
            if label in seen:
                raise self.fail("a combination is given twice", line, at, ", ".join(label))
            seen.add(label)
        self.out.rows.append(rows)

    def declare(self, name: str, line: int, at: str) -> None:
        """Notes a name. Raises `ExperimentError` if no factor can have it."""
        if not _NAME.match(name):
            message = "the name of a factor is letters, digits, '_', '-', '.'"
            raise self.fail(message, line, at, shortened(name))
        if name in self.reserved:
            message = f"{name} is a column of the results; name the factor differently"
            raise self.fail(message, line, at)
        if name in self.out.levels:
            raise self.fail(f"{name} is a factor already", line, at)
        self.out.lines[name] = line

    def factor(
        self, name: str, spec: Node, line: int, at: str, *, unique: bool = True
    ) -> list[Level]:
        """Reads the levels of a factor, and its paths. Raises `ExperimentError`."""
        self.declare(name, line, at)
        here = f"{at}.{name}"
        levels = spec
        if isinstance(spec.value, dict):
            for key in spec.value:
                if key not in ("levels", "path"):
                    message = "unknown field"
                    raise ExperimentError(
                        message,
                        file=self.file,
                        line=spec.key_lines[key],
                        field=f"{here}.{key}",
                        allowed=("levels", "path"),
                        nearest=nearest_name(key, ("levels", "path")),
                        code=Code.UNKNOWN_FIELD,
                    )
            if "levels" not in spec.value:
                raise self.fail("levels are missing", line, here)
            levels = spec.value["levels"]
            if "path" in spec.value:
                self.out.paths[name] = self.path(spec.value["path"], here)
        if not isinstance(levels.value, list):
            raise self.fail("should be a list of levels", line, here, shortened(levels.text))
        if not levels.value:
            raise self.fail("a factor without levels", line, here)
        read = [self.level(one, f"{here}[{i}]") for i, one in enumerate(levels.value)]
        seen = set[str]()
        for level, written in zip(read, levels.value, strict=True):
            if unique and level.label in seen:
                raise self.fail("a level is given twice", written.line, here, level.label)
            seen.add(level.label)
        self.out.levels[name] = list({level.label: level for level in read}.values())
        return read

    def path(self, node: Node, at: str) -> list[tuple[str, int]]:
        """Reads the paths that a factor sets. Raises `ExperimentError`."""
        parts = node.value if isinstance(node.value, list) else [node]
        for part in parts:
            if not isinstance(part.value, str):
                raise self.fail("path should be text", node.line, at, shortened(part.text))
        return [(str(part.value), part.line) for part in parts]

    def level(self, node: Node, at: str) -> Level:
        """Reads a level. Raises `ExperimentError`."""
        label, value = node.text, node
        if isinstance(node.value, dict) and set(node.value) == {"label", "value"}:
            label, value = node.value["label"].text, node.value["value"]
        label = " ".join(label.split())
        if not label or len(label) > MAX_LABEL:
            message = "the level needs a label: {label: …, value: …}"
            raise self.fail(message, node.line, at, shortened(label) or "nothing")
        if REFERENCE.search(value.text):
            message = "a level cannot refer to a factor"
            raise self.fail(message, node.line, at, shortened(value.text))
        return Level(label, value)


def read(node: Node | None, file: str, reserved: frozenset[str]) -> Factors:
    """Reads the factors of a file.

    Args:
        node: Value of `factors`, or None.
        file: Name of the file, for messages.
        reserved: Names that factors cannot have: columns of result tables.

    Raises:
        ExperimentError: First error, with its line.
    """
    factors = Reader(file, reserved).read(node) if node is not None else Factors({}, [], {}, {})
    if factors.count() > MAX_CELLS:
        line = node.line if node is not None else 1
        message = f"{factors.count()} combinations, more than {MAX_CELLS}"
        raise ExperimentError(message, file=file, line=line, field="factors", code=Code.CELLS)
    return factors


def restrict(factors: Factors, name: str, levels: Sequence[Level]) -> None:
    """Replaces the levels of a factor (`--set`).

    Raises:
        ExperimentError: A factor of zip or points has no such level.
    """
    for g, group in enumerate(factors.rows):
        if name not in group[0]:
            continue
        if len(group[0]) == 1:
            factors.rows[g] = [{name: level} for level in levels]
            factors.levels[name] = list(levels)
            return
        wanted = {level.label for level in levels}
        known = [level.label for level in factors.levels[name]]
        for label in wanted:
            if label not in known:
                raise ExperimentError(
                    "no such level of a factor that is tied to others",
                    file=f"--set {name}",
                    found=label,
                    allowed=known,
                    nearest=nearest_name(label, known),
                    code=Code.SET_LEVEL,
                )
        rows = [row for row in group if row[name].label in wanted]
        factors.rows[g] = rows
        for other in group[0]:
            seen = {row[other].label: row[other] for row in rows}
            factors.levels[other] = list(seen.values())
