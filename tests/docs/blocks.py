"""Blocks of code of a page: files that it writes, commands that it runs, output that it shows.

A `console` block holds commands (`$ command`), each with its output below it. A `python` block is
a program; a `text` block right below it is its output. A `yaml` block whose first line is
`# file: NAME` is written as that file. `<!-- not run: reason -->` before a block
leaves it out. Behind `<!-- fails -->` each command must fail, and the page shows its message. All
blocks of a page run in one folder, in order.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.helpers import ROOT

#: Columns of the output on pages.
COLUMNS = 96
#: A line of a page that stands for any lines of output.
ANY = "…"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
_FAILS = re.compile(r"<!-- fails -->\s*$")
_LEFT_OUT = re.compile(r"<!-- not run: [^>]+ -->\s*$")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a page.

    Attributes:
        text: Command of the shell.
        shown: Output that the page shows.
        line: Line of the page, counted from 1.
        fails: It must fail, and `shown` is its message.
    """

    text: str
    shown: str
    line: int
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """A program in Python, the output that the page shows below it, and its line."""

    text: str
    shown: str
    line: int


@dataclass(frozen=True, slots=True)
class File:
    """A file that the reader writes."""

    name: str
    text: str


def blocks(page: str) -> Iterator[Command | Program | File]:
    """Files and commands of a page, in order."""
    for fence in _FENCE.finditer(page):
        language, body = fence[1], fence[2]
        if _LEFT_OUT.search(page, 0, fence.start()):
            continue
        line = page.count("\n", 0, fence.start()) + 1
        if language == "yaml" and body.startswith("# file: "):
            head, _, text = body.partition("\n")
            yield File(head.removeprefix("# file: ").strip(), text)
        elif language == "console":
            fails = _FAILS.search(page, 0, fence.start()) is not None
            yield from _commands(body, line, fails)
        elif language == "python":
            yield Program(body, fence[3] or "", line)


def _commands(body: str, line: int, fails: bool) -> Iterator[Command]:
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)
    at = line + 1 + parts[0].count("\n")
    for part in parts[1:]:
        text, _, shown = part.partition("\n")
        yield Command(text, shown, at, fails)
        at += part.count("\n")


def environment(folder: Path) -> dict[str, str]:
    """Environment in which `dumbbell` is the one of this checkout."""
    programs = folder / ".programs"
    programs.mkdir(exist_ok=True)
    program = programs / "dumbbell"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dumbbell "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return {
        **os.environ,
        "COLUMNS": str(COLUMNS),
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": str(ROOT),
    }


def printed(block: Command | Program, folder: Path, env: dict[str, str]) -> str:
    """Standard output of a block, without spaces at ends of lines, or the message of a failure.

    It must succeed or fail as the page says.
    """
    shell = ["bash", "-c"] if isinstance(block, Command) else [sys.executable, "-c"]
    done = subprocess.run(
        [*shell, block.text], cwd=folder, env=env, capture_output=True, text=True, timeout=120
    )
    fails = isinstance(block, Command) and block.fails
    if bool(done.returncode) is not fails:
        raise AssertionError(f"line {block.line}: {block.text}\n{done.stdout}\n{done.stderr}")
    lines = [line.rstrip() for line in (done.stderr if fails else done.stdout).splitlines()]
    return "\n".join(lines).strip("\n") + "\n" if any(lines) else ""


def agrees(shown: str, output: str) -> bool:
    """Returns true if a page shows an output; a line `…` stands for any lines."""
    parts = [
        re.escape(part)
        for part in re.split(rf"^{ANY}\n", shown.strip("\n") + "\n", flags=re.MULTILINE)
    ]
    return re.fullmatch("(?:.*\n)*?".join(parts), output or "\n") is not None


def renewed(page: str, folder: Path) -> str:
    """The page with the output of its commands; outputs with a line `…` that agree stay."""
    env = environment(folder)
    for block in list(blocks(page)):
        if isinstance(block, File):
            (folder / block.name).write_text(block.text, encoding="utf-8")
            continue
        output = printed(block, folder, env)
        if agrees(block.shown, output) or f"{ANY}\n" in block.shown:
            continue
        if isinstance(block, Command):
            old, new = (f"$ {block.text}\n{one}" for one in (block.shown, output))
        else:
            old, new = (_program(block.text, one) for one in (block.shown, output))
        page = page.replace(old, new, 1)
    return page


def _program(text: str, output: str) -> str:
    return f"```python\n{text}```" + (f"\n\n```text\n{output}```" if output else "")
