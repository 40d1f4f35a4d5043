"""Tree and factors of an experiment file, with overrides in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.experiment import cells, factors, space
from dumbbell.experiment.document import NEWER, ExperimentFile, is_newer
from dumbbell.experiment.factors import Factors, Level
from dumbbell.experiment.locate import SET
from dumbbell.experiment.source import Node, parse
from dumbbell.experiment.space import Choice, Space
from dumbbell.runs import column_names

Overrides = Mapping[str, str | int | float | bool | Sequence[str]]

#: Maximum length of a text whose tree is kept for the next call, in characters.
_MAX_KEPT = 16 << 10


@cache
def reserved_names() -> frozenset[str]:
    """Names that factors cannot have: the columns of result tables."""
    of_summaries = {"value", "mean", "low", "high", "count"}
    return column_names() | of_summaries


@lru_cache(maxsize=64)
def _kept(text: str, file: str) -> Node:
    return parse(text, file)


def _parsed(text: str, file: str) -> Node:
    """Tree of a text. Trees are never changed, so that calls in a loop share them."""
    return _kept(text, file) if len(text) <= _MAX_KEPT else parse(text, file)


class Design:
    """Tree and factors of a file.

    Attributes:
        file: Path of the file, as the user named it.
        varied: The factors.
        space: What its search may vary. A name that no override names has its start value in the
            tree; any other is a factor.
        space_paths: Name of the space → paths that it sets.
        overrides: Overrides as texts.
        paths: Factor → paths that it sets.
        root: The tree.
    """

    def __init__(self, text: str, path: Path, chosen: Overrides) -> None:
        self.file = str(path)
        root = _parsed(text, self.file)
        if not isinstance(root.value, dict):
            message = "an experiment is a mapping of fields"
            raise ExperimentError(message, file=self.file, line=root.line, code=Code.NOT_EXPERIMENT)
        if "dumbbell" not in root.value:
            message = "no experiment of Dumbbell: the file should begin with 'dumbbell: 1'"
            raise ExperimentError(message, file=self.file, line=root.line, code=Code.NOT_EXPERIMENT)
        version = root.value["dumbbell"]
        if is_newer(version.value):  # before fields that only newer programs know
            raise ExperimentError(
                NEWER,
                file=self.file,
                line=version.line,
                field="dumbbell",
                found=version.text,
                code=Code.NOT_EXPERIMENT,
            )
        self.varied = factors.read(root.value.get("factors"), self.file, reserved_names())
        self.space = space.read(root.value.get("search"), self.file, reserved_names(), self.varied)
        self.root, self.overrides = _override(root, self.varied, self.space, chosen)
        cells.check_references(self.root, self.varied, self.file)
        found = self.varied.paths
        paths = {name: [target for target, _ in targets] for name, targets in found.items()}
        self.space_paths = {name: own for name, own in paths.items() if name in self.space}
        fixed = {name for name in self.space if name not in self.overrides}
        start = {name: self.varied.levels[name][0] for name in fixed}
        starting = {name: own for name, own in paths.items() if name in fixed}
        self.root = _tree(self.root, start, starting, self.varied, self.file)
        for name in fixed:
            self.varied.remove(name)
        self.paths = {name: own for name, own in paths.items() if name not in fixed}

    def trees(self) -> Iterator[tuple[dict[str, Level], Node]]:
        """All combinations of levels with their trees."""
        for levels in self.varied.cells():
            yield levels, self.tree(levels)

    def tree(self, levels: Mapping[str, Level]) -> Node:
        """Tree of a cell."""
        return _tree(self.root, levels, self.paths, self.varied, self.file)

    def line(self, field: str) -> int | None:
        """Line of a top-level field; None: the file does not write it."""
        return self.root.key_lines.get(field) or None


def as_written(chosen: Overrides) -> dict[str, list[str]]:
    """Overrides as texts: each name with its levels or its value."""
    return {
        name: [str(one) for one in value] if isinstance(value, list | tuple) else [_text(value)]
        for name, value in chosen.items()
    }


def _override(
    root: Node, varied: Factors, sought: Space, chosen: Overrides
) -> tuple[Node, dict[str, list[str]]]:
    done = as_written(chosen)
    for name, texts in done.items():
        if not texts:
            raise ExperimentError("no level is given", file=f"{SET} {name}", code=Code.SET_FORM)
        nodes = [_outside(_parsed(text, f"{SET} {name}={text}")) for text in texts]
        if name in varied.levels:
            dimension = sought.get(name)
            own = dimension.levels if isinstance(dimension, Choice) else varied.levels[name]
            known = {level.label: level for level in own}
            labels = [(" ".join(node.text.split()), node) for node in nodes]
            levels = [known.get(label, Level(label, node)) for label, node in labels]
            factors.restrict(varied, name, levels)
            continue
        if len(nodes) != 1:
            raise ExperimentError(
                "a field takes one value", file=f"{SET} {name}", code=Code.SET_FORM
            )
        root = _assign(root, name, nodes[0], tuple(varied.levels))
    return root, done


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _outside(node: Node) -> Node:
    """Copy of a node from outside a file: every line is 0."""
    if isinstance(node.value, dict):
        inner = {key: _outside(child) for key, child in node.value.items()}
        return Node(inner, node.text, 0, dict.fromkeys(inner, 0))
    if isinstance(node.value, list):
        return Node([_outside(child) for child in node.value], node.text, 0)
    return Node(node.value, node.text, 0)


def _assign(root: Node, name: str, value: Node, known: tuple[str, ...]) -> Node:
    fields = tuple(one for one in ExperimentFile.names() if one not in ("factors", "dumbbell"))
    try:
        steps = cells.steps(name)
        if steps[0] not in fields:
            raise ValueError(name)
        return cells.assign(root, steps, value)
    except LookupError as error:
        message = f"no such field: {error.args[0]}"
        raise ExperimentError(message, file=f"{SET} {name}", code=Code.SET_FIELD) from None
    except ValueError:
        near = nearest_name(name, (*known, *fields))
        raise ExperimentError(
            "neither a factor nor a field",
            file=f"{SET} {name}",
            allowed=known,
            nearest=near,
            code=Code.SET_FIELD,
        ) from None


def _tree(
    root: Node,
    levels: Mapping[str, Level],
    paths: Mapping[str, Sequence[str]],
    varied: Factors,
    file: str,
) -> Node:
    try:
        return cells.substitute(root, levels, paths)
    except cells.PathError as error:
        lines = dict(varied.paths[error.factor])
        raise ExperimentError(
            error.message,
            file=file,
            line=lines.get(error.path) or None,
            field=f"{varied.field_of(error.factor)}.path",
            found=shortened(error.path),
        ) from None
