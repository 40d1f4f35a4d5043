"""Substitution of levels: the tree of a file → the tree of a cell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from dumbbell.codes import Code
from dumbbell.console.words import many
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.experiment.factors import REFERENCE, Factors, Level, referred
from dumbbell.experiment.source import Loc, Node, dotted

_STEP = re.compile(r"([^.\[\]]+)|\[(\d{1,6}|\*)\]")
_FIXED = ("dumbbell", "name", "description", "factors", "repeats", "seed", "search")


class PathError(Exception):
    """Path of a factor without a field."""

    def __init__(self, factor: str, path: str, message: str) -> None:
        super().__init__(message)
        self.factor = factor
        self.path = path
        self.message = message


def references(node: Node) -> Iterator[tuple[str, Node]]:
    """All references `${name}` and `$name` below a node."""
    if isinstance(node.value, dict):
        for child in node.value.values():
            yield from references(child)
    elif isinstance(node.value, list):
        for child in node.value:
            yield from references(child)
    elif isinstance(node.value, str) and "$" in node.value:
        for match in REFERENCE.finditer(node.value):
            yield referred(match), node


def check_references(root: Node, factors: Factors, file: str) -> None:
    """Raises an error unless every reference names a factor and every factor has an effect."""
    used = set(factors.paths)
    sections = root.value if isinstance(root.value, dict) else {}
    known = tuple(factors.levels)
    for section, part in sections.items():
        if section == "factors":
            continue
        for name, node in references(part):
            if name not in factors.levels:
                message = f"${{{shortened(name)}}} is no factor"
                raise ExperimentError(
                    message,
                    file=file,
                    line=node.line,
                    field=section,
                    allowed=known,
                    nearest=nearest_name(name, known),
                    code=Code.REFERENCE,
                )
            if section in _FIXED:
                message = "the same in all cells; it cannot refer to a factor"
                raise ExperimentError(
                    message, file=file, line=node.line, field=section, code=Code.REFERENCE
                )
            used.add(name)
    for name in known:
        if name not in used:
            message = f"the factor changes nothing: write ${{{name}}} somewhere, or give it a path"
            raise ExperimentError(
                message,
                file=file,
                line=factors.lines.get(name),
                field=factors.field_of(name),
                code=Code.UNUSED_FACTOR,
            )


def substitute(root: Node, cell: Mapping[str, Level], paths: Mapping[str, Sequence[str]]) -> Node:
    """Tree with levels: references replaced, then paths set. The argument stays unchanged.

    References to other factors stay.
    """
    labels = {name: level.node for name, level in cell.items()}
    tree = _replace(root, labels) if cell else root
    for name, targets in paths.items():
        for target in targets:
            try:
                tree = assign(tree, steps(target), cell[name].node)
            except LookupError as error:
                raise PathError(name, target, f"there is no such field: {error.args[0]}") from None
            except ValueError:
                raise PathError(name, target, "no path, such as flows[0].tcp") from None
    return tree


def _replace(node: Node, levels: Mapping[str, Node]) -> Node:
    if isinstance(node.value, dict):
        changed = {
            key: child if key == "factors" else _replace(child, levels)
            for key, child in node.value.items()
        }
        if all(changed[key] is child for key, child in node.value.items()):
            return node
        return Node(changed, node.text, node.line, node.key_lines)
    if isinstance(node.value, list):
        items = [_replace(child, levels) for child in node.value]
        if all(a is b for a, b in zip(items, node.value, strict=True)):
            return node
        return Node(items, node.text, node.line)
    if not isinstance(node.value, str) or "$" not in node.value:
        return node
    whole = REFERENCE.fullmatch(node.value.strip())
    if whole is not None:
        level = levels.get(referred(whole))
        return node if level is None else Node(level.value, level.text, level.line, level.key_lines)

    def text_of(match: re.Match[str]) -> str:
        level = levels.get(referred(match))
        return match[0] if level is None else level.text

    text = REFERENCE.sub(text_of, node.value)
    return node if text == node.value else Node(text, text, node.line)


def steps(path: str) -> list[str | int]:
    """`flows[*].tcp` → `["flows", "*", "tcp"]`; a list index is an int, `[*]` the text `*`.

    Raises:
        ValueError: The text is not a path.
    """
    found: list[str | int] = []
    position = 0
    while position < len(path):
        if found and path[position] == ".":
            position += 1
        match = _STEP.match(path, position)
        if match is None:
            raise ValueError(path)
        if match[1] is not None:
            found.append(match[1])
        else:
            found.append("*" if match[2] == "*" else int(match[2]))
        position = match.end()
    if not found or len(found) > 40:
        raise ValueError(path)
    return found


#: Sections that a path may name although the file does not have them.
_MADE: tuple[Loc, ...] = (("hosts",), ("hosts", "defaults"), ("sampling",))


def assign(node: Node, path: Sequence[str | int], value: Node, above: Loc = ()) -> Node:
    """Copy of the tree with `value` as the field at `path`.

    Raises:
        LookupError: A part of the path before the last is missing. The argument names it.
    """
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(node.value, list):
        picked = range(len(node.value)) if step == "*" else [step]
        items = list(node.value)
        for i in picked:
            if not isinstance(i, int) or i >= len(items):
                count = many(len(items), "entry", "entries")
                raise LookupError(f"{dotted(above) or 'the file'} has {count}")
            items[i] = assign(items[i], rest, value, (*above, i))
        return Node(items, node.text, node.line)
    if isinstance(node.value, dict) and isinstance(step, str):
        child = node.value.get(step)
        if child is None and rest and (*above, step) in _MADE:
            child = Node({}, "", value.line, {})
        if child is None and rest:
            known = ", ".join(node.value) or "no entries"
            raise LookupError(f"{dotted(above) or 'the file'} has {known}")
        here = (*above, step)
        new = value if child is None else assign(child, rest, value, here)
        lines = node.key_lines if step in node.key_lines else {**node.key_lines, step: value.line}
        return Node({**node.value, step: new}, node.text, node.line, lines)
    raise LookupError(f"{dotted(above) or 'the file'} is neither a mapping nor a list")
