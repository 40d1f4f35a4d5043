"""Commands of a shell script, read as text. Nothing is executed.

`NAME=value` alone is expanded, the defaults of `${NAME:-default}`, and `$((…))` of integers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dumbbell.translate import arithmetic

#: Ends of a simple command.
_ENDS = {"&&", "||", ";", "|", "&", ";;"}
_WORD = re.compile(
    r"""\s+ | (?P<end>&&|\|\||;;|[;|&(){}](?=\s|$)|[;`]) | (?P<comment>(?<!\S)\#.*)
    | (?P<single>'[^']*') | (?P<double>"(?:[^"\\]|\\.)*") | (?P<escaped>\\.)
    | (?P<plain>[^\s'"\\;|&`]+|.)""",
    re.VERBOSE,
)
_ASSIGNED = re.compile(
    r"(?:(?:export|local|readonly)\s+)?([A-Za-z_][A-Za-z0-9_]{0,40})=(.*)\Z", re.DOTALL
)
#: `$NAME`, `${NAME}` and `${NAME:-default}`.
_VARIABLE = re.compile(
    r"\$(?:\{([A-Za-z_][A-Za-z0-9_]{0,40})(?::?-([^{}$]{0,100}))?\}|([A-Za-z_][A-Za-z0-9_]{0,40}))"
)
_PROMPT = re.compile(r"\s*[$>]\s+(?=(?:sudo\s+)?(?:tc|ip)\s)")
_ROOT_PROMPT = re.compile(r"\s*[$#>]+\s*(?=(?:sudo\s+)?(?:tc|ip)\s)")
#: Most words of a command.
_MOST_WORDS = 2000


class Placed(str):
    """A word with its line."""

    __slots__ = ("line",)
    line: int

    @classmethod
    def at(cls, text: str, line: int) -> Placed:
        """A word at a line."""
        made = cls(text)
        made.line = line
        return made


@dataclass(frozen=True)
class Command:
    """Simple command.

    Attributes:
        line: Its first line, counted from 1.
        words: Words without quotes.
    """

    line: int
    words: tuple[str, ...]


def commands(text: str, *, first: int = 1, root: bool = False) -> Iterator[Command]:
    """Simple commands of a script, quoted scripts (`sh -c "tc …"`) included.

    `first`: number of the first line. `root`: a line `# tc …` is a command behind a prompt, not a
    comment.
    """
    values: dict[str, str] = {}
    prompt = _ROOT_PROMPT if root else _PROMPT
    for line, logical in _logical_lines(text, first, prompt):
        yield from _of_line(logical, line, values, 0)


def _logical_lines(text: str, start: int, prompt: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Lines with their number, joined where one ends with a backslash."""
    first, held = 0, ""
    for number, part in enumerate(text.splitlines(), start):
        first = first or number
        part = prompt.sub("", part) if not held else part
        ends = part.rstrip()
        if ends.endswith("\\") and not ends.lstrip().startswith("#"):
            held += ends[:-1] + "\n"
            continue
        yield first, held + part
        first, held = 0, ""
    if held:
        yield first, held


def _of_line(text: str, line: int, values: dict[str, str], depth: int) -> Iterator[Command]:
    words: list[Placed] = []
    text = arithmetic.expanded(text, values)
    for word, quoted in (*_tokens(text, line), (Placed.at(";", line), False)):
        if word in _ENDS and not quoted:
            yield from _finished(words, values, depth)
            words = []
        elif len(words) < _MOST_WORDS:
            words += [Placed.at(part, word.line) for part in _expanded(word, values, quoted)]


def _finished(words: list[Placed], values: dict[str, str], depth: int) -> Iterator[Command]:
    """The command of these words, or those inside a quoted script."""
    if not words:
        return
    assigned = _ASSIGNED.match(" ".join(words)) if len(words) <= 2 else None
    if assigned is not None:
        values[assigned[1]] = assigned[2][:400]
        return
    inner = [word for word in words if " " in word and _names_tool(word)]
    if inner and depth < 3:
        for script in inner:
            yield from _of_line(script, script.line, values, depth + 1)
        return
    yield Command(words[0].line, tuple(words))


def _names_tool(text: str) -> bool:
    return re.search(r"(?:^|[\s;&|(/])(?:tc|ip)\s", text[:100_000]) is not None


def _tokens(text: str, line: int) -> Iterator[tuple[Placed, bool]]:
    """Words and ends of commands, and whether a word has quotes. Comments are left out."""
    held, quoted, begun = "", False, False
    for found in _WORD.finditer(text[:100_000]):
        kind, part = found.lastgroup, found[0]
        before, line = line, line + part.count("\n")
        if kind in ("single", "double"):
            held, quoted, begun = held + part[1:-1].replace('\\"', '"'), True, True
        elif kind == "escaped":
            held, begun = held + part[1:], True
        elif kind == "plain":
            # A quote without its other end is no part of a word.
            held, begun = held + part.strip("\"'"), True
        else:
            if begun:
                yield Placed.at(held, before), quoted
            held, quoted, begun = "", False, False
            if kind == "end":
                yield Placed.at(part if part in _ENDS else ";", line), False
    if begun:
        yield Placed.at(held, line), quoted


def _expanded(word: str, values: dict[str, str], quoted: bool) -> list[str]:
    """The word with variables that the script sets, or with their defaults; others stay.

    Without quotes a value may be several words: `U32="tc filter add dev eth0"`, then `$U32 match`.
    """

    def value(found: re.Match[str]) -> str:
        default = found[0] if found[2] is None else found[2]
        return values.get(found[1] or found[3], default)

    if "$" not in word:
        return [word]
    text = _VARIABLE.sub(value, word)[:4000]
    assigns = _ASSIGNED.match(word) is not None
    return [text] if quoted or assigns else text.split()[:_MOST_WORDS]
