"""Reader of untrusted YAML that keeps the line of every value.

The file becomes a tree of :class:`Node`. Size, depth and the number of nodes after alias
expansion are bounded. Duplicate keys, tags, several documents and non-finite numbers are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.files.input import TooLargeError, read_file
from dumbbell.files.yaml_text import FALSE, FLOAT, INT, NOT_FINITE, NULL, TRUE

MAX_BYTES = 1 << 20
MAX_DEPTH = 40
MAX_NODES = 100_000

Scalar = str | int | float | bool | None
Loc = tuple[str | int, ...]

_BARE_REFERENCE = re.compile(r"[^\"']\$\{")
#: The scanner needs quadratic time for a long tag.
_LONG_TAG = re.compile(r"![^\s,\[\]{}]{4096,}")
_BEGUN = ("while scanning a simple key", "while scanning a quoted scalar")


@dataclass(slots=True)
class Node:
    """A value in the file.

    Attributes:
        value: A mapping or list of nodes, or a scalar as YAML 1.2 reads it.
        text: Text as written, with white space folded.
        line: First line, counted from 1.
        key_lines: Line of each key of a mapping.
        size: Number of nodes in this subtree, aliases expanded.
    """

    value: dict[str, Node] | list[Node] | Scalar
    text: str
    line: int
    key_lines: dict[str, int] = field(default_factory=dict)
    size: int = 1

    def plain(self) -> Any:
        """Value without lines: dicts, lists and scalars."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value


@dataclass(slots=True)
class _Open:
    """Mapping or list under construction."""

    node: Node
    anchor: str | None
    start: int
    key: ScalarEvent | None = None
    merges: list[Node] = field(default_factory=list)


class _Builder:
    """Builder of nodes from YAML events, without recursion."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.open: list[_Open] = []
        self.anchors: dict[str, Node | None] = {}
        self.root: Node | None = None
        self.documents = 0
        self.nodes = 0
        self.line = 1

    def fail(self, message: str, line: int, found: str | None = None) -> ExperimentError:
        return ExperimentError(message, file=self.file, line=line, found=found, code=Code.YAML)

    def feed(self, event: Any) -> None:
        line = self.line = event.start_mark.line + 1
        if isinstance(event, DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise self.fail("a second document begins; one file holds one experiment", line)
        elif isinstance(event, ScalarEvent):
            self.scalar(event, line)
        elif isinstance(event, AliasEvent):
            self.alias(event, line)
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            self.begin(event, line)
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            self.end(event)

    def scalar(self, event: ScalarEvent, line: int) -> None:
        self.refuse_tag(event, line)
        top = self.open[-1] if self.open else None
        if top is not None and isinstance(top.node.value, dict) and top.key is None:
            known = top.node.key_lines.get(event.value)
            if known is not None:
                name = shortened(event.value)
                raise self.fail(f"{name} is given twice, first in line {known}", line)
            top.key = event
            top.node.key_lines[event.value] = line
            return
        if event.value == "" and top is not None and top.key is not None:
            line = top.key.start_mark.line + 1  # an empty value has no line of its own
        value: Scalar = event.value
        if event.implicit[0] and event.style in (None, ""):
            value = self.resolve(event.value, line)
        node = Node(value, event.value, line)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        self.add(node, line)

    def resolve(self, text: str, line: int) -> Scalar:
        if text in NULL:
            return None
        if text in TRUE:
            return True
        if text in FALSE:
            return False
        if INT.match(text):
            return int(text)
        if FLOAT.match(text):
            number = float(text)
            if number in (float("inf"), float("-inf")):
                raise self.fail("a number too large", line, shortened(text))
            return number
        if NOT_FINITE.match(text):
            raise self.fail("not a finite number", line, text)
        return text

    def refuse_tag(self, event: Any, line: int) -> None:
        if event.tag is not None and event.tag != "!":
            raise self.fail("tags are not used here", line, shortened(str(event.tag)))

    def alias(self, event: AliasEvent, line: int) -> None:
        name = shortened(event.anchor)
        if event.anchor not in self.anchors:
            raise self.fail(f"*{name} refers to nothing", line)
        node = self.anchors[event.anchor]
        if node is None:
            raise self.fail(f"*{name} lies within what it refers to", line)
        self.add(node, line)

    def begin(self, event: Any, line: int) -> None:
        self.refuse_tag(event, line)
        if len(self.open) >= MAX_DEPTH:
            raise self.fail(f"nested more than {MAX_DEPTH} deep", line)
        top = self.open[-1] if self.open else None
        if top is not None and isinstance(top.node.value, dict) and top.key is None:
            raise self.fail("the name of a field must be plain text", line)
        empty: dict[str, Node] | list[Node] = {} if isinstance(event, MappingStartEvent) else []
        node = Node(empty, "", line)
        self.open.append(_Open(node, event.anchor, event.start_mark.index))
        if event.anchor is not None:
            self.anchors[event.anchor] = None

    def end(self, event: Any) -> None:
        top = self.open.pop()
        top.node.text = " ".join(self.text[top.start : event.end_mark.index].split())
        for merged in top.merges:
            self.merge(top.node, merged)
        if top.anchor is not None:
            self.anchors[top.anchor] = top.node
        self.add(top.node, top.node.line)

    def merge(self, into: Node, merged: Node) -> None:
        if not isinstance(merged.value, dict) or not isinstance(into.value, dict):
            raise self.fail("<< takes a mapping", into.line)
        for key, node in merged.value.items():
            if key not in into.value:
                into.value[key] = node
                into.key_lines[key] = merged.key_lines.get(key, merged.line)
                into.size += node.size

    def add(self, node: Node, line: int) -> None:
        self.nodes += 1
        top = self.open[-1] if self.open else None
        if top is None:
            self.root = node
            return
        top.node.size += node.size
        if max(top.node.size, self.nodes) > MAX_NODES:
            raise self.fail(f"more than {MAX_NODES} values, aliases expanded", line)
        if isinstance(top.node.value, list):
            top.node.value.append(node)
        elif isinstance(top.node.value, dict) and top.key is not None:
            if top.key.value == "<<" and top.key.style in (None, ""):
                parts = node.value if isinstance(node.value, list) else [node]
                top.merges.extend(parts)
            else:
                top.node.value[top.key.value] = node
            top.key = None


class _Yaml(YAML):
    """Reader without plug-ins, which are searched for on the disk with every reader."""

    def official_plug_ins(self) -> list[str]:
        return []


def parse(text: str, file: str) -> Node:
    """Tree of a YAML text.

    Args:
        text: YAML text.
        file: Name of the file, for messages.

    Raises:
        ExperimentError: First error, with its line.
    """
    builder = _Builder(text, file)
    if (tag := _LONG_TAG.search(text)) is not None:
        at = text.count("\n", 0, tag.start()) + 1
        raise builder.fail("tags are not used here", at, shortened(tag[0]))
    try:
        for event in _Yaml(typ="safe", pure=True).parse(text):
            builder.feed(event)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if error.context in _BEGUN and error.context_mark is not None:
            mark = error.context_mark  # the scanner notices the error later than its line
        line = mark.line + 1 if mark is not None else None
        problem = shortened(str(error.problem or error.context or "malformed"), 100)
        if line is not None and _BARE_REFERENCE.search("".join(text.splitlines()[line - 1 : line])):
            problem += '; between { } or [ ] write "${name}" in quotes, or $name'
        if problem == "could not find expected ':'":
            problem += "; a space follows the colon, as in `rate: 10 Mbit/s`"
        if problem.startswith("found character '\\t'"):
            problem += "; YAML takes no tabs: indent with spaces"
        raise ExperimentError(
            f"not YAML: {problem}", file=file, line=line, code=Code.YAML
        ) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"not YAML: the character U+{error.character:04X} cannot stand in a file"
        raise ExperimentError(message, file=file, line=line, code=Code.YAML) from None
    except YAMLError as error:
        message = f"not YAML: {shortened(str(error), 100)}"
        raise ExperimentError(message, file=file, line=builder.line, code=Code.YAML) from None
    except (RecursionError, ValueError, IndexError, KeyError, AttributeError) as error:
        message = f"not YAML: {shortened(str(error), 100)}"
        raise ExperimentError(message, file=file, line=builder.line, code=Code.YAML) from None
    if builder.root is None:
        raise ExperimentError("the file is empty", file=file, line=1, code=Code.NOT_EXPERIMENT)
    return builder.root


def read(path: Path) -> str:
    """Text of a UTF-8 file of at most `MAX_BYTES` bytes.

    Raises:
        ExperimentError: The file cannot be read, is too large, or is not UTF-8.
    """
    file = str(path)
    try:
        data = read_file(path, MAX_BYTES)
    except TooLargeError:
        raise ExperimentError(
            f"larger than {MAX_BYTES} bytes", file=file, code=Code.UNREADABLE
        ) from None
    except OSError as error:
        raise ExperimentError(
            f"cannot be read: {error.strerror or error}",
            file=file,
            nearest=similar_file(path, (".yaml", ".yml"))
            if isinstance(error, FileNotFoundError)
            else None,
            code=Code.UNREADABLE,
        ) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ExperimentError(
            "not UTF-8 text", file=file, line=line, code=Code.UNREADABLE
        ) from None


def similar_file(path: Path, ends: tuple[str, ...]) -> str | None:
    """File in the same folder with a similar name and one of these ends; None: there is none."""
    try:
        names = [one.name for one in islice(path.parent.iterdir(), 1000)]
    except OSError:
        return None
    found = nearest_name(path.name, [one for one in names if one.endswith(ends)])
    return None if found is None else str(path.parent / found)


def descend(root: Node, loc: Loc) -> tuple[Node, int, Loc]:
    """Deepest existing node on the path `loc`.

    Returns:
        The node, the line of its key (or its own line), and the existing parts of `loc`.
    """
    node, line, there = root, root.line, list[str | int]()
    for part in loc:
        if isinstance(node.value, dict) and isinstance(part, str) and part in node.value:
            line = node.key_lines.get(part, node.line)
            node = node.value[part]
        elif isinstance(node.value, list) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.line
        else:
            continue
        there.append(part)
    return node, line, tuple(there)


def dotted(loc: Loc) -> str:
    """Path in text form: `flows[1].tcp`."""
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text
