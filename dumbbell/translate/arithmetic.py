"""Integer arithmetic of a shell: `$((9 * RATE / 10))`, and the older `$[…]`. Nothing is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

_ARITHMETIC = re.compile(r"\$\(\(([^;|&`'\"\n]{1,200}?)\)\)(?!\))|\$\[([^;|&`'\"\n\[\]]{1,200})\]")
_NAME = re.compile(r"\$\{([A-Za-z_]\w{0,40})\}|\$?\b([A-Za-z_]\w{0,40})")
#: Largest number, as that of a shell.
_MOST = 2**63


def expanded(text: str, values: Mapping[str, str]) -> str:
    """The text with arithmetic in place of which its number stands; what is not known stays."""
    if "$((" not in text and "$[" not in text:
        return text

    def number(found: re.Match[str]) -> str:
        words = _NAME.sub(lambda one: values.get(one[1] or one[2], one[0]), found[1] or found[2])
        made = _evaluated(words)
        return found[0] if made is None else str(made)

    return _ARITHMETIC.sub(number, text)


def _evaluated(words: str) -> int | None:
    """Value of integers with `+ - * / %`; None: there is something else in it."""
    try:
        return _value(ast.parse(words.strip(), mode="eval").body, 0)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr, depth: int) -> int:
    if depth > 30:
        raise ValueError
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, depth + 1)
    if not isinstance(node, ast.BinOp):
        raise ValueError
    left, right = _value(node.left, depth + 1), _value(node.right, depth + 1)
    if isinstance(node.op, ast.Add):
        made = left + right
    elif isinstance(node.op, ast.Sub):
        made = left - right
    elif isinstance(node.op, ast.Mult):
        made = left * right
    elif isinstance(node.op, ast.Div | ast.Mod):
        # A shell rounds towards 0, as C does.
        whole = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        made = whole if isinstance(node.op, ast.Div) else left - whole * right
    else:
        raise ValueError
    if abs(made) >= _MOST:
        raise ValueError
    return made
