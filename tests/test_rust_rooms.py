"""No folder of a crate imports in a circle (ARCHITECTURE.md), read from the sources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.helpers import ROOT

CRATES = sorted(path.parent for path in (ROOT / "crates").glob("*/src"))
#: Crates of which a few files need each other. No other crate may join them.
WITH_CIRCLES = (
    "capture", "experiment", "guest", "model", "packet", "packetdrill", "plugins", "quinn",
)  # fmt: skip
_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(pub(\(crate\))? )?mod tests \{.*", re.DOTALL)
_COMMENT = re.compile(r"//.*")
_USE = re.compile(r"\buse ([^;]+);")
_PATH = re.compile(r"\b(?:crate|super)(?:::\w+)+")


def modules(crate: Path) -> dict[str, Path]:
    """`network::link` → its file; the crate's own is the empty name."""
    found = {}
    for path in (crate / "src").rglob("*.rs"):
        parts = path.relative_to(crate / "src").with_suffix("").parts
        if "tests" in parts or parts[0] in ("main", "bin"):
            continue
        name = "::".join(parts).removesuffix("::mod")
        found["" if name == "lib" else name] = path
    return found


def expanded(tree: str) -> Iterator[str]:
    """`a::{b, c::{d, e}}` → `a::b`, `a::c::d`, `a::c::e`."""
    before, brace, inner = tree.strip().partition("{")
    if not brace:
        yield tree.split(" as ")[0].strip()
        return
    depth, part = 0, ""
    for character in inner.rstrip().removesuffix("}") + ",":
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            if part.strip():
                yield from expanded(before + part.strip())
            part = ""
        else:
            part += character


def target(module: str, path: str, known: Mapping[str, Path]) -> str | None:
    """The module that a path names; None: one of another crate."""
    first, *parts = path.split("::")
    if first == "crate":
        here: list[str] = []
    elif first == "super":
        here = module.split("::")[:-1]
        while parts and parts[0] == "super":
            here, parts = here[:-1], parts[1:]
    else:
        return None
    names = [*here, *parts]
    while names and "::".join(names) not in known:
        names.pop()
    return "::".join(names) or None


def imports(crate: Path) -> dict[str, set[str]]:
    """Room (a file or folder of `src`) → the rooms that it imports."""
    known = modules(crate)
    found: dict[str, set[str]] = {}
    for module, file in known.items():
        if not module:
            continue
        text = _COMMENT.sub("", _TESTS.sub("", file.read_text(encoding="utf-8")))
        used = [one for tree in _USE.findall(text) for one in expanded(tree)]
        room = module.split("::")[0]
        for path in [*used, *_PATH.findall(text)]:
            other = target(module, path, known)
            if other is not None and other.split("::")[0] != room:
                found.setdefault(room, set()).add(other.split("::")[0])
    return found


def circle(crate: Path) -> list[str]:
    """Rooms that import each other in turn; none: no room does."""
    try:
        TopologicalSorter(imports(crate)).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("crate", CRATES, ids=lambda path: path.name)
def test_rooms_of_a_crate_import_in_one_direction(crate: Path) -> None:
    found = circle(crate)
    if crate.name in WITH_CIRCLES:
        assert found, f"no circle any more: take {crate.name} out of WITH_CIRCLES"
    else:
        assert not found, f"{crate.name}: {' → '.join(found)}"


def test_imports_are_found() -> None:
    found = imports(ROOT / "crates" / "sim")
    assert {"endpoint", "network", "events"} <= found["world"]
    assert "flow" in found["endpoint"] and "world" not in found["endpoint"]
    assert list(expanded("crate::a::{b, c::{d, e as f}}")) == [
        "crate::a::b",
        "crate::a::c::d",
        "crate::a::c::e",
    ]
