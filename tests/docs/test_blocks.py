"""Each command and program of tutorial, how-tos and course prints what its page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import Command, File, agrees, blocks, environment, printed
from tests.helpers import ROOT

GROUPS = ("tutorial", "how-to", "course")
PAGES = [page for one in GROUPS for page in sorted((ROOT / "docs" / one).glob("*.md"))]
#: Pages whose commands need a kernel.
KERNEL = ("the-kernel",)


def needs(page: Path) -> list[pytest.MarkDecorator]:
    kernel = any(page.stem.endswith(name) for name in KERNEL)
    return [pytest.mark.slow, *([pytest.mark.kernel] if kernel else [])]


RUN = [page for page in PAGES if any(blocks(page.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("page", [pytest.param(p, id=p.stem, marks=needs(p)) for p in RUN])
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    env = environment(tmp_path)
    for block in blocks(page.read_text(encoding="utf-8")):
        if isinstance(block, File):
            (tmp_path / block.name).write_text(block.text, encoding="utf-8")
            continue
        output = printed(block, tmp_path, env)
        assert agrees(block.shown, output), (
            f"{page.name}:{block.line}: {block.text}\n{output}\nrenew: python -m"
            f" tests.write_tutorial_output {page.relative_to(ROOT)}"
        )


def test_any_lines_are_any_lines_and_others_are_not() -> None:
    assert agrees("a\n…\nc\n", "a\nb\nb\nc\n") and agrees("…\nc\n", "c\n")
    assert not agrees("a\n…\nc\n", "a\nb\n") and not agrees("a\n", "a\nb\n")


def test_blocks_are_found() -> None:
    page = "```yaml\n# file: a.yaml\nx: 1\n```\n<!-- not run: no -->\n```console\n$ no\n```\n"
    page += "<!-- fails -->\n```console\n$ wrong\nbecause\n```\n"
    page += "text\n```console\n$ yes\nout\n$ more\n```\n"
    assert list(blocks(page)) == [
        File("a.yaml", "x: 1\n"),
        Command("wrong", "because\n", 11, fails=True),
        Command("yes", "out\n", 16),
        Command("more", "", 18),
    ]
