"""Counts places outside `dumbbell/metrics` that compute with measured columns of result tables.

A number that is shown is a metric (`dumbbell/metrics`), computed in one place. A place is an
arithmetic operation or an aggregation with a column of `flows`, `pipes`, `samples`, `queues` or
`probes` in it, or with a local variable that holds one. Usage: python scripts/count_arithmetic.py
[-v]. `tests/test_one_definition.py` holds the numbers.

Not counted:

- a change of unit, which is a product or quotient with a power of ten: the number is the same
- `+=` of a text or list: words are joined
"""

from __future__ import annotations

import ast
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Packages that show numbers.
SHOWING = (
    "summary", "report", "explain", "explore", "show", "playground", "compare", "figures",
    "animation", "cli", "search", "studies", "advise", "cards",
)  # fmt: skip
TABLES = ("flows", "pipes", "samples", "queues", "probes")
#: Columns that are no measurement: names, places and times of rows.
_NAMES = {"flow", "pipe", "kind", "group", "tap", "codec", "time_ns", "state", "connection"}
_AGGREGATIONS = {
    "mean", "sum", "min", "max", "median", "quantile", "diff", "std", "fmean", "percentile",
    "cum_max", "cum_sum",
}  # fmt: skip
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def columns() -> set[str]:
    """Measured columns of the tables, from their one description."""
    text = (ROOT / "crates/model/src/tables.rs").read_text(encoding="utf-8")
    found: set[str] = set()
    for name, body in re.findall(r'\w+Row, \w+, "(\w+)", \{(.*?)\n    \}', text, re.DOTALL):
        if name in TABLES:
            found |= set(re.findall(r"(\w+): (?:Int|Float) =", body))
    return found - _NAMES


def places(file: Path, known: set[str]) -> Iterator[int]:
    """Lines of a file with arithmetic or an aggregation over a measured column."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    inside: set[int] = set()
    for node, held in _with_variables(tree, known):
        if id(node) in inside or not _computes(node):
            continue
        if _measured(node, known, held):
            inside |= {id(one) for one in ast.walk(node)}
            yield getattr(node, "lineno", 0)


def _with_variables(tree: ast.AST, known: set[str]) -> Iterator[tuple[ast.AST, set[str]]]:
    """Nodes, each with the variables of its function that hold a measured column."""
    todo: list[tuple[ast.AST, set[str]]] = [(tree, set())]
    while todo:
        node, held = todo.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            held = _variables(node, known)
        yield node, held
        todo = [(child, held) for child in ast.iter_child_nodes(node)] + todo


def _variables(function: ast.AST, known: set[str]) -> set[str]:
    """Variables that are given a measured column: `windows = rows["cwnd_packets"].to_list()`."""
    held: set[str] = set()
    lists: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and _is_column(node.value, known):
                held.add(target.id)
            if isinstance(target, ast.Name) and isinstance(node.value, ast.Tuple | ast.List):
                lists |= {target.id} if _names(node.value) & known else set()
    for node in ast.walk(function):
        if isinstance(node, ast.For | ast.comprehension) and _reads_rows(node.iter, known, lists):
            held |= {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
    return held


def _names(node: ast.AST) -> set[str]:
    """Texts and names in an expression."""
    texts = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
    return {one for one in texts if isinstance(one, str)} | {
        one.id for one in ast.walk(node) if isinstance(one, ast.Name)
    }


def _reads_rows(node: ast.AST, known: set[str], lists: set[str]) -> bool:
    """Returns true for `rows.select("column").iter_rows()` and for `rows["column"]`."""
    rows = any(isinstance(one, ast.Attribute) and one.attr == "iter_rows" for one in ast.walk(node))
    return (rows and bool(_names(node) & (known | lists))) or _is_column(node, known)


def _is_column(node: ast.AST, known: set[str]) -> bool:
    """Returns true for `row["column"]`, and methods and conversions of it."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value in known
    if isinstance(node, ast.Call):
        inner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(node.func, ast.Attribute) and node.func.attr == "col":
            return bool(node.args) and getattr(node.args[0], "value", None) in known
        converted = isinstance(node.func, ast.Name) and node.func.id in ("int", "float", "sorted")
        return (inner is not None and _is_column(inner, known)) or (
            converted and bool(node.args) and _is_column(node.args[0], known)
        )
    return False


def _measured(node: ast.AST, known: set[str], held: set[str]) -> bool:
    """Returns true if a measured column, or a variable that holds one, stands in it."""
    if _is_unit(node):
        return False
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value in known:
            return True
        if isinstance(one, ast.Name) and one.id in held:
            return True
    return False


def _is_unit(node: ast.AST) -> bool:
    """Returns true for a product or quotient of one column with a power of ten alone."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult | ast.Div):
        return False
    factor, value = node.right, node.left
    if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant):
        factor, value = node.left, node.right
    if not isinstance(factor, ast.Constant) or not isinstance(factor.value, int | float):
        return False
    power = math.log10(factor.value) if factor.value > 0 else math.nan
    return power == round(power, 9) // 1 and not any(_computes(one) for one in ast.walk(value))


def _computes(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, _ARITHMETIC)
    if isinstance(node, ast.AugAssign):
        text = isinstance(node.value, ast.JoinedStr | ast.List | ast.ListComp | ast.IfExp)
        return isinstance(node.op, _ARITHMETIC) and not text
    if isinstance(node, ast.Call):
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return name in _AGGREGATIONS
    return False


def counted() -> Counter[str]:
    """Package → number of its places."""
    known = columns()
    return Counter(
        {
            package: sum(
                len(list(places(file, known)))
                for file in sorted((ROOT / "dumbbell" / package).rglob("*.py"))
            )
            for package in SHOWING
        }
    )


if __name__ == "__main__":
    if "-v" in sys.argv:
        for package in SHOWING:
            for file in sorted((ROOT / "dumbbell" / package).rglob("*.py")):
                text = file.read_text(encoding="utf-8").splitlines()
                for line in places(file, columns()):
                    print(f"{file.relative_to(ROOT)}:{line}: {text[line - 1].strip()}")
    for package, count in counted().items():
        print(f"{package:12} {count}")
    print(f"{'all':12} {sum(counted().values())}")
