"""What imports what (ARCHITECTURE.md), read from the sources."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.helpers import ROOT

PACKAGE = ROOT / "dumbbell"


def name_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


SOURCES = {name_of(str(path.relative_to(ROOT))): path for path in PACKAGE.rglob("*.py")}
#: The compiled module imports nothing of ours.
KNOWN = {*SOURCES, "dumbbell._core"}


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Modules that these statements import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in KNOWN else node.module


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(SOURCES[name].read_text(encoding="utf-8"))


@cache
def imports(name: str) -> frozenset[str]:
    """Modules of ours that a module imports as it is imported itself."""
    return frozenset(one for one in imported(tree_of(name).body) if one in SOURCES)


@cache
def all_imports(name: str) -> frozenset[str]:
    """Modules of ours that a module imports anywhere: in functions, for types alone."""
    every = imported(ast.walk(tree_of(name)))
    return frozenset(one for one in every if one in SOURCES and one != name)


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
        "rows",
        "runs",
        "scenario",
        "units",
    }


def circle(arrows: Mapping[str, Iterable[str]]) -> list[str]:
    """Names that lead back to the first; empty: there is no circle."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_no_circle_of_files() -> None:
    assert circle({name: all_imports(name) for name in SOURCES}) == []


def test_no_circle_of_packages() -> None:
    """Packages and loose modules of `dumbbell`, and `dumbbell` itself, stand on floors."""
    arrows: dict[str, set[str]] = {}
    for name in SOURCES:
        package, *others = (
            ".".join(one.split(".")[:2]) for one in (name, *sorted(all_imports(name)))
        )
        arrows.setdefault(package, set()).update({*others} - {package})
    assert circle(arrows) == []


def test_a_circle_is_found() -> None:
    assert circle({"a": ["b"], "b": ["c"], "c": ["a"]})
    assert circle({"a": ["b", "c"], "b": ["c"]}) == []


def test_an_import_is_found() -> None:
    text = (
        "import dumbbell.store\nfrom dumbbell.limits import flows\nfrom dumbbell import _core\n"
        "def late():\n    import json\n"
    )
    tree = ast.parse(text)
    first = ["dumbbell.store", "dumbbell.limits.flows", "dumbbell._core"]
    assert list(imported(tree.body)) == first
    assert list(imported(ast.walk(tree))) == [*first, "json"]
