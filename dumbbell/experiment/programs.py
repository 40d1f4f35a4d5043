"""Programs of the user on hosts, for the kernel's engines."""

from __future__ import annotations

import re
import shlex
from typing import Annotated, Any

from pydantic import Field

from dumbbell.codes import Code
from dumbbell.experiment.fields import Checked, Name, Strict, Time, problem, whole_number

#: Words of an argument that may be names of hosts.
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MOST_PAIRS = 50
#: Words that only a shell reads: pipes, redirections, lists of commands; not `;` of find's `-exec`.
_OF_SHELL = re.compile(r"\|\|?|&&?|[012&]?>>?(?:&[012])?|<|2>/dev/null")
#: Argument that is nothing but a name in braces, with a number as hosts have.
_IN_BRACES = re.compile(r"\{([A-Za-z][A-Za-z0-9._-]*\d)\}(?::\d+)?")
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")
_COMMAND = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
    ]
}
_TEXT = {"type": "string"}


def _command(value: Any) -> list[str]:
    """Arguments of a command line, quoted as for a shell, or a list of them."""
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return [_unescaped(one) for one in value]
    if not isinstance(value, str):
        raise problem(
            "a command line, or a list of texts, is needed", found=value, code=Code.PROGRAM
        )
    try:
        words = shlex.split(_unescaped(value))
    except ValueError as error:
        raise problem(
            f"a command line with {str(error).lower()}", found=value, code=Code.PROGRAM
        ) from None
    if not words:
        raise problem("a program is needed", found=value, code=Code.PROGRAM)
    of_shell = next((word for word in words if _OF_SHELL.fullmatch(word)), None)
    if of_shell is not None:
        raise problem(
            f"no shell reads this line, and {of_shell} is for one: "
            'run: [sh, -c, "…"], or a list of arguments',
            found=value,
            code=Code.PROGRAM,
        )
    return words


def _text(value: Any) -> str:
    """A text; numbers and truth values count as what the file writes."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise problem("a text is needed", found=value, code=Code.PROGRAM)
    return _unescaped(str(value))


def _unescaped(text: str) -> str:
    """The text with `$` for `$$`, which is no reference to a factor."""
    return text.replace("$$", "$")


class ExitSpec(Strict):
    """End that a program must have."""

    exit: Annotated[int, whole_number(0, 255)]


class ProgramSpec(Strict):
    """A program on a host. `run`: a command line; `{d1}` is the address of the host d1."""

    name: Name | None = None
    on: Name
    run: Annotated[list[str], Checked(_command, _COMMAND)]
    start: Time = 0
    stop: Time | None = None
    environment: dict[str, Annotated[str, Checked(_text, _TEXT)]] = Field(default={})
    input: Annotated[str, Checked(_text, _TEXT)] = ""
    expect: ExitSpec | None = None


def programs(specs: list[ProgramSpec]) -> list[dict[str, Any]]:
    """Programs in the form of the scenario. Without a name: that of its file and its host."""
    given = {spec.name for spec in specs}
    made = []
    for spec in specs:
        name = spec.name
        if name is None:
            stem = _PLAIN.sub("-", spec.run[0].rpartition("/")[2]).strip("-.") or "program"
            name, count = f"{stem}-{spec.on}"[:60], 2
            while name in given:
                name, count = f"{stem}-{spec.on}-{count}"[:60], count + 1
            given.add(name)
        made.append(
            {
                "name": name,
                "on": spec.on,
                "run": spec.run,
                "start_ns": spec.start,
                "stop_ns": spec.stop,
                "environment": spec.environment,
                "input": spec.input,
                "expect_exit": None if spec.expect is None else spec.expect.exit,
            }
        )
    return made


def addressed(spec: ProgramSpec) -> list[str]:
    """Names in braces that look like hosts: arguments as `{d1}` or `{d1}:80`, but not `{print}`."""
    return [found[1] for text in spec.run[1:] if (found := _IN_BRACES.fullmatch(text))]


def talks(specs: list[ProgramSpec], hosts: set[str]) -> list[tuple[int, tuple[str, str]]]:
    """Hosts that programs name, each with the program's number and own host.

    Their RTTs give a buffer in BDP its size. Where no program names another host, each may talk to
    all of them.
    """
    known = [(i, spec.on, spec) for i, spec in enumerate(specs) if spec.on in hosts]
    named = [
        (i, (on, word))
        for i, on, spec in known
        for word in sorted({word for text in spec.run for word in _WORD.findall(text)} & hosts)
        if word != on
    ]
    every = [(i, (on, to)) for i, on, _ in known for to in sorted(hosts)[:_MOST_PAIRS] if to != on]
    return named or every
