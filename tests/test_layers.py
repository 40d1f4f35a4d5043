"""What imports what (ARCHITECTURE.md): read from the sources, at module level."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from tests.helpers import ROOT

PACKAGE = ROOT / "dumbbell"


def name_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


SOURCES = {name_of(str(path.relative_to(ROOT))): path for path in PACKAGE.rglob("*.py")}


def imported(tree: ast.Module) -> Iterator[str]:
    """Modules of ours that a module imports as it is imported itself."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in SOURCES else node.module


@cache
def imports(name: str) -> frozenset[str]:
    tree = ast.parse(SOURCES[name].read_text(encoding="utf-8"))
    return frozenset(one for one in imported(tree) if one in SOURCES)


def reached(package: str) -> dict[str, str]:
    """All modules that a package needs, with the one that imports each."""
    found: dict[str, str] = {}
    waiting = [(one, "") for one in SOURCES if one == package or one.startswith(f"{package}.")]
    while waiting:
        name, by = waiting.pop()
        if name not in found:
            found[name] = by
            waiting += [(other, name) for other in imports(name)]
    return found


@pytest.mark.parametrize("package", ["dumbbell.metrics", "dumbbell.figures", "dumbbell.report"])
def test_what_draws_never_sees_an_engine(package: str) -> None:
    seen = {
        name: by for name, by in reached(package).items() if name.startswith("dumbbell.engines")
    }
    assert not seen


def test_no_modules_import_each_other() -> None:
    for name in SOURCES:
        waiting, seen = list(imports(name)), set[str]()
        while waiting:
            other = waiting.pop()
            assert other != name, f"{name} needs itself, by {sorted(seen)}"
            if other not in seen:
                seen.add(other)
                waiting += imports(other)


def test_an_import_is_found() -> None:
    tree = ast.parse("import dumbbell.store\nfrom dumbbell.metrics import bdp\nimport json\n")
    assert list(imported(tree)) == ["dumbbell.store", "dumbbell.metrics.bdp", "json"]
