"""Python in a script, `%{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%`, as far as scripts need it.

Only what stands here is evaluated: assignments, assertions, `print`, arithmetic and
comparisons. So a script from elsewhere can compute, and nothing else.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from dumbbell.errors import shortened

#: Largest number of bits, and longest text.
_MOST_BITS = 256
_MOST_LETTERS = 10_000

#: States of TCP (net/tcp_states.h), of congestion control (linux/tcp.h), bits of `tcpi_options`.
NAMES: Mapping[str, int] = {
    "TCP_ESTABLISHED": 1, "TCP_SYN_SENT": 2, "TCP_SYN_RECV": 3, "TCP_FIN_WAIT1": 4,
    "TCP_FIN_WAIT2": 5, "TCP_TIME_WAIT": 6, "TCP_CLOSE": 7, "TCP_CLOSE_WAIT": 8,
    "TCP_LAST_ACK": 9, "TCP_LISTEN": 10, "TCP_CLOSING": 11,
    "TCP_CA_Open": 0, "TCP_CA_Disorder": 1, "TCP_CA_CWR": 2, "TCP_CA_Recovery": 3,
    "TCP_CA_Loss": 4,
    "TCPI_OPT_TIMESTAMPS": 1, "TCPI_OPT_SACK": 2, "TCPI_OPT_WSCALE": 4, "TCPI_OPT_ECN": 8,
    "TCPI_OPT_ECN_SEEN": 16, "TCPI_OPT_SYN_DATA": 32, "TCPI_OPT_USEC_TS": 64,
    "TCPI_OPT_TFO_CHILD": 128,
}  # fmt: skip

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_,
    ast.Invert: operator.invert,
}  # fmt: skip
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_CALLS: Mapping[str, Callable[..., Any]] = {
    "abs": abs, "min": min, "max": max, "int": int, "float": float, "round": round, "str": str,
    "hex": hex, "bool": bool,
}  # fmt: skip


class Failed(Exception):
    """An assertion does not hold, or the code cannot be evaluated."""


class Unknown(Failed):
    """A value is not known: this kernel, or the simulator, does not have it."""


class Evaluator:
    """Evaluates the code of one script, piece by piece; names keep their values.

    Attributes:
        printed: What it printed.
    """

    def __init__(self) -> None:
        self._names: dict[str, Any] = dict(NAMES)
        self.printed: list[str] = []

    def run(self, text: str, values: Mapping[str, int]) -> None:
        """Runs a piece of code with the state of the connection then. Raises :class:`Failed`."""
        self._names.update(values)
        try:
            # A backslash at the end continues on an empty line, as in packetdrill's file.
            for statement in ast.parse(f"{text}\n\n").body:
                self._statement(statement)
        except SyntaxError as error:
            raise Failed(f"no Python: {error.msg}: {shortened(text.strip())}") from None
        except (ArithmeticError, TypeError, ValueError, RecursionError, MemoryError) as error:
            raise Failed(f"{error}: {shortened(text.strip())}") from None

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assert():
                if not self._value(node.test):
                    said = "" if node.msg is None else f" ({self._value(node.msg)})"
                    raise Failed(f"assert {ast.unparse(node.test)}{said}{self._known(node.test)}")
            case ast.Assign(targets=[ast.Name(id=name)]):
                self._names[name] = _single(self._value(node.value))
            case ast.AugAssign(target=ast.Name(id=name)):
                sum_ = ast.BinOp(ast.Name(name, ast.Load()), node.op, node.value)
                self._names[name] = _single(self._value(sum_))
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=args)):
                self._print(" ".join(str(self._value(one)) for one in args))
            case ast.Expr():
                self._value(node.value)
            case ast.Pass():
                pass
            case _:
                raise Failed(f"not evaluated here: {ast.unparse(node)}")

    def _print(self, text: str) -> None:
        if sum(map(len, self.printed)) + len(text) > _MOST_LETTERS:
            raise Failed(f"more than {_MOST_LETTERS} letters are printed")
        self.printed.append(text)

    def _known(self, test: ast.expr) -> str:
        """Values of the names in a comparison, for its message."""
        names = {one.id for one in ast.walk(test) if isinstance(one, ast.Name)}
        names = (names & self._names.keys()) - NAMES.keys()
        shown = [f"{name} is {self._names[name]}" for name in sorted(names)]
        return f": {', '.join(shown)}" if shown else ""

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() | float() | str() | None as value):
                return value
            case ast.Name(id=name):
                if name not in self._names:
                    raise Unknown(f"{name} is not known here")
                return self._names[name]
            case ast.UnaryOp():
                return _UNARY[type(node.op)](self._value(node.operand))
            case ast.BinOp() if type(node.op) in _BINARY:
                left, right = self._value(node.left), self._value(node.right)
                return _bounded(_BINARY[type(node.op)], node.op, left, right)
            case ast.BoolOp():
                truths = (self._value(one) for one in node.values)
                return all(truths) if isinstance(node.op, ast.And) else any(truths)
            case ast.Compare() if all(type(one) in _COMPARE for one in node.ops):
                sides = [self._value(one) for one in (node.left, *node.comparators)]
                pairs = zip(node.ops, sides, sides[1:], strict=False)
                return all(_COMPARE[type(op)](a, b) for op, a, b in pairs)
            case ast.Tuple():
                return tuple(self._value(one) for one in node.elts)
            case ast.IfExp():
                return self._value(node.body if self._value(node.test) else node.orelse)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
                return _CALLS[name](*map(self._value, args))
        raise Failed(f"not evaluated here: {ast.unparse(node)}")


def _single(value: Any) -> Any:
    """A number or a text: what names keep. Raises :class:`Failed` for several in one."""
    if isinstance(value, tuple):
        raise Failed("a name keeps one number or text")
    return value


def _bounded(operation: Callable[[Any, Any], Any], op: ast.operator, a: Any, b: Any) -> Any:
    """An operation whose result is bounded by its operands. Raises :class:`Failed` for another."""
    if isinstance(op, ast.LShift) and isinstance(b, int) and b > _MOST_BITS:
        raise Failed(f"a shift by {b} bits")
    if isinstance(op, ast.Mult) and (isinstance(a, str | tuple) or isinstance(b, str | tuple)):
        raise Failed("a text is not multiplied here")
    # Nobody bounds a width in a format, so numbers of more than three digits are refused.
    if isinstance(a, str) and isinstance(op, ast.Mod) and "*" in a:
        raise Failed("a format whose width is a number of its own")
    if isinstance(op, ast.Add) and isinstance(a, tuple):
        raise Failed("tuples are not added here")
    if isinstance(a, str) and any(word.isdigit() and len(word) > 3 for word in _words(a)):
        raise Failed("a format with a width above 999")
    result = operation(a, b)
    if isinstance(result, int) and result.bit_length() > _MOST_BITS:
        raise Failed(f"a number of more than {_MOST_BITS} bits")
    if isinstance(result, str) and len(result) > _MOST_LETTERS:
        raise Failed(f"a text of more than {_MOST_LETTERS} letters")
    return result


def _words(text: str) -> list[str]:
    return "".join(letter if letter.isdigit() else " " for letter in text).split()
