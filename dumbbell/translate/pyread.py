"""Bounded reading of Python topologies: constants, loops over `range`, calls of `addLink`.

The tree of `ast` is walked with values of constants alone. No code is executed or imported.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dumbbell.errors import shortened
from dumbbell.translate.mistakes import TranslateError

_MOST_STEPS = 20_000
_MOST_LINKS = 400
_MOST_TEXT = 200
_MOST_NUMBER = 10**12


class _Unknown:
    """A value that only a run of the program would tell."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = _Unknown()
#: Ends of links that are read.
ENDS = ("addLink(h1, s1)", "addLink('h1', 's1')", "addLink(hosts[0], switch)")
_OPERATORS: dict[type[ast.operator], Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass
class Added:
    """A call of `addLink`.

    Attributes:
        line: Its line.
        ends: Names of both nodes.
        options: Keyword arguments.
        unknown: Options without a known value.
    """

    line: int
    ends: tuple[str, str]
    options: dict[str, object]
    unknown: list[str] = field(default_factory=list)


@dataclass
class Found:
    """What a program adds."""

    hosts: list[str] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    links: list[Added] = field(default_factory=list)
    unread: list[tuple[int, str]] = field(default_factory=list)


def collected(text: str, file: str) -> Found:
    """Nodes and links of a program, or of options alone (`bw=10, delay='5ms'`)."""
    tree = _parsed(text)
    if tree is not None and any(_is_add(node) for node in ast.walk(tree)):
        reader = _Reader()
        reader.run(tree.body)
        if reader.found.links:
            return reader.found
        line, words = (reader.found.unread or [(1, "addLink(…)")])[0]
        message = "no end of a link is known before the program runs"
        raise TranslateError(message, file=file, line=line, found=words, allowed=ENDS)
    options = _parsed(f"TCLink({text.strip().rstrip(',')}\n)")
    call = _first_call(options) or _first_call(tree)
    if call is None:
        message = "neither a Python program with addLink nor options of a link"
        allowed = ("net.addLink(h1, s1, cls=TCLink, bw=10, delay='5ms')", "bw=10, delay='5ms'")
        raise TranslateError(message, file=file, allowed=allowed)
    reader = _Reader()
    if tree is not None and options is None:
        reader.run(tree.body)
    given = reader.keywords(call)
    return Found(["h1", "h2"], [], [Added(call.lineno, ("h1", "h2"), given)])


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text[: 1 << 20])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_add(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _called(node) == "addLink"


def _called(call: ast.Call) -> str:
    name = call.func
    return name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")


def _first_call(tree: ast.Module | None) -> ast.Call | None:
    """First call with options of a link."""
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and _called(node) in (
            "TCLink",
            "dict",
            "partial",
            "TCIntf",
            "custom",
        ):
            known = {"bw", "delay", "loss", "jitter", "max_queue_size"}
            if known & {one.arg for one in node.keywords}:
                return node
    return None


class _Reader:
    """Walks statements with a table of constants."""

    def __init__(self) -> None:
        self.found = Found()
        self._values: dict[str, object] = {}
        self._steps = 0
        self._depth = 0

    def run(self, body: list[ast.stmt]) -> None:
        """Walks statements in order."""
        if self._depth > 30:
            return
        self._depth += 1
        for one in body:
            self._steps += 1
            if self._steps > _MOST_STEPS or len(self.found.links) >= _MOST_LINKS:
                break
            self._statement(one)
        self._depth -= 1

    def _statement(self, one: ast.stmt) -> None:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = one.args.args[len(one.args.args) - len(one.args.defaults) :]
            for argument, default in zip(arguments, one.args.defaults, strict=True):
                self._values.setdefault(argument.arg, self.value(default))
            self.run(one.body)
        elif isinstance(one, ast.ClassDef | ast.With | ast.AsyncWith):
            self.run(one.body)
        elif isinstance(one, ast.Try):
            self.run([*one.body, *one.finalbody])
        elif isinstance(one, ast.If):
            test = self.value(one.test)
            self.run(one.orelse if test is False else one.body)
        elif isinstance(one, ast.For):
            self._loop(one)
        elif isinstance(one, ast.Assign):
            value = self.value(one.value)
            for target in one.targets:
                self._assign(target, value)
        elif isinstance(one, ast.AnnAssign) and one.value is not None:
            self._assign(one.target, self.value(one.value))
        elif isinstance(one, ast.Expr | ast.Return) and one.value is not None:
            self.value(one.value)

    def _loop(self, one: ast.For) -> None:
        items = self.value(one.iter)
        if not isinstance(items, list):
            if any(_is_add(node) for node in ast.walk(one)):
                self.found.unread.append((one.lineno, "for …"))
            items = [UNKNOWN]
        for item in items[:1000]:
            self._assign(one.target, item)
            self.run(one.body)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, place: int = 0) -> list[object]:
        """Values of `[… for … in … if …]`, from its generator number `place` on."""
        if place == len(node.generators):
            return [self.value(node.elt)]
        part, made = node.generators[place], list[object]()
        items = self._known(part.iter)
        if not isinstance(items, list):
            raise TypeError
        for item in items[:1000]:
            if self._steps > _MOST_STEPS:
                break
            self._assign(part.target, item)
            if all(self._known(one) for one in part.ifs):
                made += self._comprehension(node, place + 1)
        return made[:1000]

    def _assign(self, target: ast.expr, value: object) -> None:
        if isinstance(target, ast.Name):
            self._values[target.id] = value
        elif isinstance(target, ast.Attribute):
            self._values[f".{target.attr}"] = value
        elif isinstance(target, ast.Tuple | ast.List):
            items = value if isinstance(value, list) and len(value) == len(target.elts) else None
            for place, each in enumerate(target.elts):
                self._assign(each, UNKNOWN if items is None else items[place])

    def value(self, node: ast.expr) -> object:
        """Value of an expression; `UNKNOWN` if only a run tells."""
        self._steps += 1
        self._depth += 1
        try:
            return UNKNOWN if self._steps > _MOST_STEPS or self._depth > 60 else self._value(node)
        except (ArithmeticError, TypeError, ValueError, IndexError, KeyError):
            return UNKNOWN
        finally:
            self._depth -= 1

    def _value(self, node: ast.expr) -> object:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._values.get(node.id, UNKNOWN)
        if isinstance(node, ast.Attribute):
            return self._values.get(f".{node.attr}", UNKNOWN)
        if isinstance(node, ast.JoinedStr):
            return self._joined(node)
        if isinstance(node, ast.List | ast.Tuple):
            return [self.value(one) for one in node.elts]
        if isinstance(node, ast.Dict):
            keys = [None if key is None else self.value(key) for key in node.keys]
            values = map(self.value, node.values)
            return {key: one for key, one in zip(keys, values, strict=True) if isinstance(key, str)}
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._known(node.operand)  # type: ignore[operator]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return not self._known(node.operand)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            compared = _COMPARISONS.get(type(node.ops[0]))
            left, right = self._known(node.left), self._known(node.comparators[0])
            return UNKNOWN if compared is None else compared(left, right)
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return self._comprehension(node)
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            return slice(*(None if one is None else self._known(one) for one in parts))
        if isinstance(node, ast.Subscript):
            return self._known(node.value)[self._known(node.slice)]  # type: ignore[index]
        if isinstance(node, ast.Call):
            return self._call(node)
        return UNKNOWN

    def _known(self, node: ast.expr) -> object:
        value = self.value(node)
        if value is UNKNOWN:
            raise ValueError
        return value

    def _joined(self, node: ast.JoinedStr) -> object:
        parts = []
        for one in node.values:
            inner = one.value if isinstance(one, ast.FormattedValue) else one
            parts.append(str(self._known(inner)))
        return "".join(parts)[:_MOST_TEXT]

    def _operation(self, node: ast.BinOp) -> object:
        left, right = self._known(node.left), self._known(node.right)
        if isinstance(left, str):
            if isinstance(node.op, ast.Add):
                return (left + str(right))[:_MOST_TEXT]
            if isinstance(node.op, ast.Mod) and len(left) < _MOST_TEXT and "*" not in left:
                digits = any(len(part) > 3 for part in _digits(left))
                return UNKNOWN if digits else (left % _arguments(right))[:_MOST_TEXT]
            return UNKNOWN
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        if not numbers:
            return UNKNOWN
        if isinstance(node.op, ast.Mult):
            made: object = left * right  # type: ignore[operator]
        elif isinstance(node.op, ast.Mod):
            made = left % right  # type: ignore[operator]
        elif type(node.op) in _OPERATORS:
            made = _OPERATORS[type(node.op)](left, right)
        else:
            return UNKNOWN
        return made if abs(made) <= _MOST_NUMBER else UNKNOWN  # type: ignore[arg-type]

    def keywords(self, call: ast.Call) -> dict[str, object]:
        """Keyword arguments, `**options` included."""
        made: dict[str, object] = {}
        for one in call.keywords:
            value = self.value(one.value)
            if one.arg is not None:
                made[one.arg] = value
            elif isinstance(value, Mapping):
                made |= value
        return made

    def _call(self, node: ast.Call) -> object:
        name = _called(node)
        if name in ("addHost", "addSwitch", "addDocker", "addStation", "addRouter", "addNode"):
            return self._add_node(node, name)
        if name == "addLink":
            self._add_link(node)
            return UNKNOWN
        if name == "dict":
            return self.keywords(node)
        if name in ("range", "irange"):
            given = [self._known(one) for one in node.args]
            if not all(isinstance(one, int) and abs(one) <= 10_000 for one in given):
                return UNKNOWN
            extra = 1 if name == "irange" else 0
            bounds = [*given[:-1], given[-1] + extra] if len(given) < 3 else given  # type: ignore[operator]
            return list(range(*bounds))[:1000]  # type: ignore[call-overload]
        if name in ("enumerate", "zip", "list", "len") and node.args:
            return self._of_lists(name, [self._known(one) for one in node.args])
        if name == "append" and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
            added, known = self.value(node.args[0]), self._known(node.func.value)
            if isinstance(known, list) and len(known) < 1000:
                known.append(added)
            return UNKNOWN
        if name in ("str", "int", "float") and len(node.args) == 1:
            value = self._known(node.args[0])
            plain = isinstance(value, int | float | str) and len(str(value)) < 40
            return {"str": str, "int": int, "float": float}[name](value) if plain else UNKNOWN
        if name in ("get", "getNodeByName", "__getitem__") and len(node.args) == 1:
            return self.value(node.args[0])
        if name == "format" and isinstance(node.func, ast.Attribute):
            return self._formatted(node, node.func.value)
        for one in (*node.args, *(each.value for each in node.keywords)):
            self.value(one)
        return UNKNOWN

    def _of_lists(self, name: str, given: list[object]) -> object:
        """Values of `enumerate`, `zip`, `list` and `len`."""
        lists = [one for one in given if isinstance(one, list)]
        if name == "enumerate" and lists:
            first = given[1] if len(given) > 1 and isinstance(given[1], int) else 0
            return [[first + place, one] for place, one in enumerate(lists[0])]
        if len(lists) < len(given):
            return UNKNOWN
        if name == "zip":
            return [list(one) for one in zip(*lists, strict=False)]
        return len(lists[0]) if name == "len" else list(lists[0])

    def _formatted(self, node: ast.Call, text: ast.expr) -> object:
        pattern = self._known(text)
        given = [self._known(one) for one in node.args]
        if not isinstance(pattern, str) or set(pattern) & set(":[.!"):
            return UNKNOWN
        return pattern[:_MOST_TEXT].format(*map(str, given))[:_MOST_TEXT]

    def _add_node(self, node: ast.Call, kind: str) -> object:
        name = self.value(node.args[0]) if node.args else self.keywords(node).get("name", UNKNOWN)
        if not isinstance(name, str) or not name:
            return UNKNOWN
        known = self.found.switches if kind == "addSwitch" else self.found.hosts
        if name not in known and len(known) < _MOST_LINKS:
            known.append(name)
        return name

    def _add_link(self, node: ast.Call) -> None:
        given = self.keywords(node)
        ends = [_named(self.value(one), one) for one in node.args[:2]]
        ends += [given.pop(name, UNKNOWN) for name in ("node1", "node2")[len(ends) :]]
        if all(isinstance(one, str) and one for one in ends) and ends[0] != ends[1]:
            self.found.links.append(Added(node.lineno, (str(ends[0]), str(ends[1])), given))
        else:
            self.found.unread.append(
                (node.lineno, shortened(f"addLink({ast.unparse(node)[:200]})"))
            )


def _named(value: object, node: ast.expr) -> object:
    """The value; for a name that the text never sets, the name itself."""
    return node.id if value is UNKNOWN and isinstance(node, ast.Name) else value


def _digits(text: str) -> list[str]:
    """Runs of digits in a text: widths of a format."""
    return "".join(c if c.isdigit() else " " for c in text).split()


def _arguments(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
