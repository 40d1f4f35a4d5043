"""Pages as a newcomer follows them: files to write and commands to type, in order.

In a page, a block `console` has commands behind `$ `; a line that ends with a backslash goes on in
the next. Other lines are what the commands print. A block with a first line `# file: NAME`, or
behind `<!-- file: NAME -->`, is written to this file. A block behind `<!-- not run: REASON -->` is
left out. Commands of a block behind `<!-- fails -->` fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"(?:^<!-- (?P<word>file|not run|fails)(?:: (?P<value>[^\n]+?))? -->\n\s*)?"
    r"^ *```(?P<kind>[a-z]*)[^\n]*\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
_FILE = re.compile(r"# file: (\S+)\n")


@dataclass(frozen=True, slots=True)
class File:
    """A file that a reader writes."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command that a reader types, and whether it fails."""

    line: str
    fails: bool = False


def steps(page: Path) -> Iterator[File | Command]:
    """What a reader of a page does."""
    for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["word"] == "not run":
            continue
        named = _FILE.match(block["text"])
        if block["word"] == "file" or named is not None:
            name = block["value"] if named is None else named[1]
            yield File(name, block["text"])
        elif block["kind"] == "console":
            fails = block["word"] == "fails"
            yield from (Command(line, fails) for line in commands(block["text"]))


def commands(block: str) -> Iterator[str]:
    """Commands of a block, continued lines joined."""
    lines = iter(block.splitlines())
    for line in lines:
        if not line.lstrip().startswith("$ "):
            continue
        command = line.lstrip().removeprefix("$ ")
        while command.endswith("\\"):
            command += "\n" + next(lines, "").removeprefix("> ")
        yield command
