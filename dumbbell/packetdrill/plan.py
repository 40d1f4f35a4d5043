"""How scripts are played, and what came of one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dumbbell.packetdrill.code import Evaluator, Failed, Unknown
from dumbbell.packetdrill.suite import Script


class Verdict(StrEnum):
    """What came of a script."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_MODELLED = "not modelled"


#: Beginning of the simulator's message about what it does not have.
_NOT_MODELLED = "not modelled: "


@dataclass(frozen=True, slots=True)
class Plan:
    """How scripts are played.

    Attributes:
        version: IP version of scripts that name none: ipv4, ipv4-mapped-ipv6, ipv6.
        define: Words that stand for others.
        tolerance_us: Allowed deviation of a time in µs; None: the script's, by default 4000.
    """

    version: str = "ipv4"
    define: Sequence[tuple[str, str]] = ()
    tolerance_us: int | None = None

    def text(self, script: Script) -> str:
        """The plan of a script as JSON."""
        options = []
        if self.tolerance_us is not None:
            options.append(("tolerance_usecs", str(self.tolerance_us)))
        return json.dumps({
            "script": script.text, "folder": str(script.path.parent), "define": self.define,
            "options": options, "ip_version": self.version,
        })  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """A packet that was sent.

    Attributes:
        line: Line of the script.
        expected_us: When the script expects it, in µs since the first event; None: at any time.
        at_us: When it was sent.
    """

    line: int
    expected_us: int | None
    at_us: int


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a script.

    Attributes:
        script: The script.
        verdict: Whether it passed.
        line: Line at which it failed; 0: none.
        message: Why it failed.
        expected, sent: Both packets, in the words of the script.
        seen: Packets that were sent.
        printed: What its code printed.
    """

    script: Script
    verdict: Verdict
    line: int = 0
    message: str = ""
    expected: str | None = None
    sent: str | None = None
    seen: tuple[Seen, ...] = ()
    printed: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True if it passed."""
        return self.verdict is Verdict.PASSED

    @property
    def failed(self) -> bool:
        """True if it failed: what the simulator does not have is no failure."""
        return self.verdict is Verdict.FAILED

    @property
    def deviation_us(self) -> int | None:
        """Largest deviation of a packet's time from the script's, in µs; None: nothing to say."""
        found = [one.at_us - one.expected_us for one in self.seen if one.expected_us is not None]
        return max(found, key=abs) if found else None


def judged(script: Script, result: Mapping[str, Any], *, modelled: bool = False) -> Played:
    """What came of a script, of what an engine says and of the code in it.

    `modelled`: a value that is not known is one that the model does not have.
    """
    failure = result["failure"]
    evaluator = Evaluator()
    for piece in result["code"]:
        try:
            evaluator.run(piece["text"], piece["values"])
        except Failed as error:
            begin = _NOT_MODELLED if modelled and isinstance(error, Unknown) else ""
            failure = {"line": piece["line"], "message": f"{begin}{error}"}
            break
    seen = tuple(Seen(*one) for one in result["seen"])
    printed = tuple(evaluator.printed)
    if failure is None:
        return Played(script, Verdict.PASSED, seen=seen, printed=printed)
    message = str(failure["message"])
    if modelled and str(failure.get("expected") or "").startswith("R"):
        message = f"{_NOT_MODELLED}a RST that is sent"
    lacks = message.startswith(_NOT_MODELLED)
    return Played(
        script, Verdict.NOT_MODELLED if lacks else Verdict.FAILED, failure["line"],
        message.removeprefix(_NOT_MODELLED),
        failure.get("expected"), failure.get("sent"), seen, printed,
    )  # fmt: skip


def not_played(script: Script, message: str, line: int = 0) -> Played:
    """A script that an engine could not play to its end; `line`: where, if that is known."""
    return Played(script, Verdict.FAILED, line, message)
