"""Commands of the README and of the tutorial, as a newcomer types them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import kernel
from tests.helpers import ROOT
from tests.newcomer.machine import Machine
from tests.newcomer.pages import Command, File, commands, steps
from tests.scale import tried

#: `tests/docs` runs all pages in the checkout; `make test-all` runs all with the wheel, too.
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorial").glob("0*.md"))][: tried(2, 99)]
_NEEDS_KERNEL = re.compile(r"\bkernel\b|--engine[ =](linux|netns)|\bdumbbell compare\b")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_command_of_a_page_works(page: Path, newcomer: Machine, tmp_path: Path) -> None:
    done = 0
    for step in steps(page):
        if isinstance(step, File):
            assert not Path(step.name).is_absolute()
            (tmp_path / step.name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / step.name).write_text(step.text, encoding="utf-8")
            continue
        if _NEEDS_KERNEL.search(step.line) and kernel.problem() is not None:
            continue
        result = newcomer.run(step.line, tmp_path)
        said = result.stdout + result.stderr
        assert bool(result.returncode) is step.fails, f"$ {step.line}\n{said}"
        assert "Traceback" not in said, f"$ {step.line}\n{said}"
        done += 1
    assert done, "no command: the blocks of commands are called `console`"


def test_a_page_is_read(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```yaml\n# file: a.yaml\ndumbbell: 1\n```\n\n<!-- file: b.txt -->\n```\nb\n```\n"
        "```console\n$ one \\\n>   two\nprinted\n$ three\n```\n"
        "<!-- fails -->\n```console\n$ wrong\n```\n"
        "<!-- not run: it needs a day -->\n```console\n$ four\n```\n```yaml\nnot: written\n```\n",
        encoding="utf-8",
    )
    assert list(steps(page)) == [
        File("a.yaml", "# file: a.yaml\ndumbbell: 1\n"),
        File("b.txt", "b\n"),
        Command("one \\\n  two"),
        Command("three"),
        Command("wrong", fails=True),
    ]
    assert list(commands("$ a\nb\n")) == ["a"]
