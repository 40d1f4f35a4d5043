"""Counts places outside `dumbbell/metrics` that compute with measured columns of result tables.

A number that is shown is a metric (`dumbbell/metrics`), computed in one place. A place is an
arithmetic operation or an aggregation with a column of `flows`, `pipes`, `samples`, `queues` or
`probes` in it. Usage: python scripts/count_arithmetic.py [-v]. `tests/test_one_definition.py` holds
the numbers.
"""

from __future__ import annotations

import ast
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
}  # fmt: skip


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
    for node in ast.walk(tree):
        if id(node) in inside or not _computes(node):
            continue
        texts = {
            one.value
            for one in ast.walk(node)
            if isinstance(one, ast.Constant) and isinstance(one.value, str)
        }
        if texts & known:
            inside |= {id(one) for one in ast.walk(node)}
            yield getattr(node, "lineno", 0)


def _computes(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div)
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
                for line in places(file, columns()):
                    print(f"{file.relative_to(ROOT)}:{line}")
    for package, count in counted().items():
        print(f"{package:12} {count}")
    print(f"{'all':12} {sum(counted().values())}")
