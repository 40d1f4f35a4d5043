"""Advice: cause, evidence and the line that mends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dumbbell.advise.case import Case
from dumbbell.metrics.numbers import number


@dataclass(frozen=True)
class Advice:
    """Advice on a direction of a link.

    Attributes:
        rule: Name of the rule.
        pipe: Direction of a link, as `eth0/forward`.
        cause: What is wrong, one sentence.
        evidence: What runs measured.
        mend: Words that mend it.
    """

    rule: str
    pipe: str
    cause: str
    evidence: str
    mend: str

    @property
    def link(self) -> str:
        """Name of the link."""
        return self.pipe.rpartition("/")[0]


#: A rule: judges a direction of a link.
Rule = Callable[[Case, str], Advice | None]
#: A mend that brings less is none.
WORTH = 1.1


def mbps(case: Case, flow: str) -> str:
    """Goodput of a flow, with its unit; among several flows with its name, as links are shared."""
    several = len(case.scenario["flows"]) > 1
    return f"{number(case.value('goodput_mbps', flow))} Mbit/s{f' ({flow})' if several else ''}"


def percent(share: float) -> str:
    """A share as a percentage."""
    return f"{number(100 * share)} %"


def better(before: Case, after: Case, flow: str) -> bool:
    """Returns true if the goodput of a flow rose by what makes a mend worth its line."""
    return after.value("goodput_mbps", flow) > WORTH * before.value("goodput_mbps", flow)
