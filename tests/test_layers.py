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


def is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def with_parents(name: str) -> Iterator[str]:
    """A module and the packages that Python imports before it."""
    parts = name.split(".")
    yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def reached(package: str) -> dict[str, str]:
    """All modules that a package needs, with the one that imports each."""
    found: dict[str, str] = {}
    waiting = [(one, "") for one in SOURCES if is_in(one, package)]
    while waiting:
        name, by = waiting.pop()
        if name not in found:
            found[name] = by
            waiting += [(one, name) for other in imports(name) for one in with_parents(other)]
    return found


#: A package, and what it never imports, not even through others.
BARRED = [
    ("metrics", "engines"),
    ("figures", "engines"),
    ("report", "engines"),
    ("face", "engines"),
    ("face", "report"),
    ("summary", "engines"),
    ("store", "figures"),
    ("store", "explore"),
    ("explain", "explore"),
    ("animation", "explore"),
    ("store", "report"),
    ("experiment", "store"),
    ("experiment", "engines"),
    ("engines", "store"),
    ("files", "store"),
    ("experiment", "search"),
    ("metrics", "search"),
    ("store", "search"),
    ("search", "figures"),
    ("search", "report"),
]


@pytest.mark.parametrize(("package", "barred"), BARRED)
def test_a_package_never_sees_those_above_it(package: str, barred: str) -> None:
    seen = {
        name: by
        for name, by in reached(f"dumbbell.{package}").items()
        if is_in(name, f"dumbbell.{barred}")
    }
    assert not seen


def test_only_the_program_imports_verbs() -> None:
    cli = "dumbbell.cli"
    users = [
        name
        for name in SOURCES
        if not is_in(name, cli) and any(is_in(one, cli) for one in imports(name))
    ]
    assert not users


def test_every_module_lies_in_a_package() -> None:
    loose = {name.removeprefix("dumbbell.") for name in SOURCES if name.count(".") == 1}
    packages = {name.split(".")[1] for name in SOURCES if name.count(".") > 1}
    assert loose - packages == {
        "__main__",
        "catalogue",
        "codes",
        "errors",
        "layout",
        "levels",
        "lives",
        "results",
        "runs",
        "scenario",
    }


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
    tree = ast.parse("import dumbbell.store\nfrom dumbbell.limits import flows\nimport json\n")
    assert list(imported(tree)) == ["dumbbell.store", "dumbbell.limits.flows", "json"]
