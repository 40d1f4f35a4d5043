"""The version of the experiment file: what format 1 promises (`docs/experiment-versions.md`)."""

from __future__ import annotations

import pytest

from tests.helpers import BASE, ROOT, loaded, message
from tests.write_format import kept, of_schema

#: The format that this program reads.
FORMAT = 1
PAGE = (ROOT / "docs" / "experiment-versions.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["fields", "names"])
def test_nothing_of_format_1_is_gone(kind: str) -> None:
    now = of_schema()[kind]
    gone = {
        name: missing
        for name, found in kept()[kind].items()
        if (missing := set(found) - set(now.get(name, [])))
    }
    assert not gone, "format 1 keeps its fields and names: docs/experiment-versions.md"


def test_the_page_has_the_message_of_a_newer_file() -> None:
    said = message(BASE.replace("dumbbell: 1", f"dumbbell: {FORMAT + 1}"))
    assert said.removeprefix("e.yaml") in PAGE
    assert f"`dumbbell: {FORMAT}`" in PAGE


@pytest.mark.parametrize("version", ["0", "-1", "1.5", "true", "one", '"1"'])
def test_other_versions_are_unknown(version: str) -> None:
    assert "unknown file format" in message(BASE.replace("dumbbell: 1", f"dumbbell: {version}"))


def test_the_version_is_read_first() -> None:
    """A newer file has fields that this program does not know: its version is what is wrong."""
    text = BASE.replace("dumbbell: 1", "dumbbell: 2") + "quantum_links: 3\n"
    assert "a newer file format" in message(text)


def test_this_format_is_read() -> None:
    assert loaded(BASE).cells
