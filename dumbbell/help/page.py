"""Page of a code: cause, what to do, an example that provokes the error, its correction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dumbbell.codes import Code

#: The experiment in which examples stand, by section.
BASE = {
    "dumbbell": "dumbbell: 1",
    "name": "name: example",
    "template": "template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 40 ms, buffer: 1 BDP}}",
    "flows": "flows:\n  - {from: s1, to: d1, tcp: cubic}\n  - {from: s2, to: d2, tcp: bbr}",
    "duration": "duration: 2 s",
}


@dataclass(frozen=True)
class Sections:
    """Sections of an experiment file: they replace those of `BASE`.

    Attributes:
        wrong: Sections that are refused.
        right: Sections that are accepted.
        whole: The file consists of these sections alone.
    """

    wrong: str
    right: str
    whole: bool = False

    def file(self, sections: str) -> str:
        """Text of the whole file."""
        if self.whole:
            return sections + "\n"
        own: dict[str, str] = {}
        for line in sections.splitlines():
            if line[:1].isalpha():
                own[line.partition(":")[0]] = line
            else:
                own[list(own)[-1]] += f"\n{line}"
        return "\n".join({**BASE, **own}.values()) + "\n"


@dataclass(frozen=True)
class Call:
    """Command that fails, in a folder with `example.yaml`, its runs in `store`, and other files.

    Attributes:
        wrong: Command.
        right: What does it instead.
        files: Names and contents of other files.
        staged: The command fails only where something is missing or broken; tests bring it about.
    """

    wrong: str
    right: str
    files: Mapping[str, str] = field(default_factory=dict)
    staged: bool = False


@dataclass(frozen=True)
class Page:
    """Page of a code.

    Attributes:
        code: The code.
        title: What is wrong, in a few words.
        cause: Why it happens.
        fix: What to do.
        example: Example and correction.
        see: Page of the documentation, with its section.
    """

    code: Code
    title: str
    cause: str
    fix: str
    example: Sections | Call
    see: str


@dataclass(frozen=True)
class Group:
    """Codes with the same first digit."""

    title: str
    pages: tuple[Page, ...]
