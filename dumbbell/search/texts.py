"""Texts of experiments made from the text of a file: with points as cells, or with one fixed."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.experiment.load import Opened
from dumbbell.experiment.source import Node, parse
from dumbbell.experiment.space import Level
from dumbbell.search.points import DURATION, Point

_COMMENT = re.compile(r"\s*#")
#: Reference to a factor in a text: `${name}` or `$name`.
_REFERENCE = re.compile(r"(?<!\$)(?:\$\{([^{}]*)\}|\$([^\W\d]\w*))")
#: Step of a path: a field, or an index or `*` in brackets.
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,6}|\*)\]")
#: Width of lines that are written.
_WIDTH = 100


class Text:
    """Text of an experiment file with a search.

    Attributes:
        paths: Name → paths of the fields that it sets; without an entry it stands as `$name`.
    """

    def __init__(
        self,
        text: str,
        file: str,
        paths: Mapping[str, Sequence[str]],
        overrides: Mapping[str, Sequence[str]],
    ) -> None:
        """Takes a text and its overrides: values of fields, levels of factors.

        Raises:
            DumbbellError: A factor that is tied to others has an override.
        """
        self.paths = paths
        for section in ("search", "expect"):
            text = _without(text, parse(text, file), section)
        self._text = text
        if overrides:
            tree = self._tree()
            for name, levels in overrides.items():
                _override(tree, name, [_value(parse(one, f"--set {name}")) for one in levels])
            self._text = _dumped(tree)

    def of_points(self, name: str, points: Sequence[Point], repeats: int, seed: int) -> str:
        """Text whose factors are tied as in these points, beside the factors of the file."""
        tree = self._tree()
        group = CommentedMap()
        for one in points[0]:
            levels: Any = [_labelled(point[one]) for point in points]
            paths = self.paths.get(one)
            if paths is not None:
                levels = CommentedMap({"levels": levels, "path": list(paths)})
            group[one] = levels
        known = tree.get("factors")
        if not known:
            tree["factors"] = {"zip": group}
        elif set(known) & {"grid", "zip", "points"}:
            before = known.get("zip", [])
            known["zip"] = [*(before if isinstance(before, list) else [before]), group]
        else:
            tree["factors"] = {"grid": known, "zip": group}
        tree["name"], tree["repeats"], tree["seed"] = name, repeats, seed
        return _dumped(tree)

    def fixed(
        self,
        name: str,
        point: Point,
        repeats: int,
        seed: int,
        expect: Sequence[Mapping[str, Any]] = (),
    ) -> str:
        """Text with the values of a point in place of its names, and expectations."""
        tree = self._tree()
        for field in list(tree):
            tree[field] = _replaced(tree[field], point)
        for one, paths in self.paths.items():
            for path in paths if one in point else ():
                _assign(tree, _steps(path), _value(point[one].node))
        tree["name"], tree["repeats"], tree["seed"] = name, repeats, seed
        if expect:
            tree["expect"] = [_flow(one) for one in expect]
        return _dumped(tree)

    def _tree(self) -> Any:
        return _yaml().load(self._text)


def _yaml() -> YAML:
    made = YAML()
    made.preserve_quotes = True
    made.width = _WIDTH
    made.indent(mapping=2, sequence=4, offset=2)
    return made


def _dumped(tree: Any) -> str:
    out = io.StringIO()
    _yaml().dump(tree, out)
    return out.getvalue()


def _without(text: str, root: Node, section: str) -> str:
    """Text without a section, and without the comment above it."""
    begin = root.key_lines.get(section)
    if begin is None:
        return text
    others = sorted(line for key, line in root.key_lines.items() if key != section)
    if begin in others:  # all fields on one line
        tree = _yaml().load(text)
        del tree[section]
        return _dumped(tree)
    lines = text.splitlines(keepends=True)
    end = min((line for line in others if line > begin), default=len(lines) + 1)
    while end - 1 > begin and end <= len(lines) and _is_above(lines[end - 2]):
        end -= 1  # belongs to the next section
    while begin > 1 and _COMMENT.match(lines[begin - 2]):
        begin -= 1
    return "".join(lines[: begin - 1] + lines[end - 1 :])


def _is_above(line: str) -> bool:
    """True for an empty line or a comment at the margin, which belong to what follows."""
    return not line.strip() or line.startswith("#")


def _labelled(level: Level) -> Any:
    node = level.node
    if isinstance(node.value, str) and node.value == node.text == level.label:
        return node.value
    return CommentedMap({"label": level.label, "value": _value(node)})


def _value(node: Node) -> Any:
    return _flow(node.plain())


def _flow(value: Any) -> Any:
    """The value, to be written on one line."""
    if isinstance(value, Mapping):
        mapping = CommentedMap({key: _flow(one) for key, one in value.items()})
        mapping.fa.set_flow_style()
        return mapping
    if isinstance(value, list):
        sequence = CommentedSeq([_flow(one) for one in value])
        sequence.fa.set_flow_style()
        return sequence
    return value


def _replaced(node: Any, point: Point) -> Any:
    """The tree with levels in place of references to the names of a point."""
    if isinstance(node, dict | list):
        for key, child in list(node.items() if isinstance(node, dict) else enumerate(node)):
            changed = _replaced(child, point)
            if changed is not child:
                node[key] = changed
        return node
    if not isinstance(node, str) or "$" not in node:
        return node
    whole = _REFERENCE.fullmatch(node.strip())
    if whole is not None:
        name = _referred(whole)
        return _value(point[name].node) if name in point else node

    def text(match: re.Match[str]) -> str:
        name = _referred(match)
        return point[name].node.text if name in point else match[0]

    return _REFERENCE.sub(text, node)


def _referred(match: re.Match[str]) -> str:
    """Name of the factor in a match of `_REFERENCE`."""
    return str(match[2] if match[1] is None else match[1]).strip()


def _steps(path: str) -> list[str | int]:
    """`flows[*].tcp` → `["flows", "*", "tcp"]`; a list index is an int. The path is checked."""
    found = ((match[1], match[2]) for match in _STEP.finditer(path))
    return [name or (index if index == "*" else int(index)) for name, index in found]


def text_of(opened: Opened) -> Text:
    """Text of an opened experiment file, with its overrides."""
    paths = dict(opened.reading.core.space)
    overrides = {
        name: levels
        for name, levels in opened.overrides.items()
        if name not in paths and name.partition(".")[0] not in ("search", "expect")
    }
    set_paths = {name: own for name, own in paths.items() if own}
    every = {DURATION: [DURATION], **set_paths}
    return Text(opened.info.yaml, opened.file, every, overrides)


def _override(tree: Any, name: str, values: list[Any]) -> None:
    factors = tree.get("factors") or {}
    grid = factors.get("grid", {}) if set(factors) & {"grid", "zip", "points"} else factors
    if name in grid:
        if isinstance(grid[name], dict) and "levels" in grid[name]:
            grid[name]["levels"] = values
        else:
            grid[name] = values
    elif _steps(name)[0] in tree or "." not in name:
        if any(name in part for part in _tied(factors)):
            message = f"--set {name}: the factor is tied to others; a search cannot choose from it"
            raise DumbbellError(message, code=Code.SET_LEVEL)
        _assign(tree, _steps(name), values[0])


def _tied(factors: Any) -> list[Any]:
    found = []
    for key in ("zip", "points"):
        part = factors.get(key, [])
        found += part if isinstance(part, list) else [part]
    return found


def _assign(node: Any, path: Sequence[str | int], value: Any) -> None:
    step, rest = path[0], path[1:]
    picked = range(len(node)) if step == "*" and isinstance(node, list) else [step]
    for one in picked:
        if rest:
            _assign(node[one], rest, value)
        else:
            node[one] = value
