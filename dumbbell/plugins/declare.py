"""The decorator that makes a class a congestion control."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)
#: Attribute of a declared class.
DECLARED = "__dumbbell__"


@dataclass(frozen=True, slots=True)
class Declared:
    """What is known of a class before there is a connection; see `congestion_control`.

    `parameters`: Names of the arguments of its constructor, with which it is called; None: any.
    """

    name: str
    needs_ecn: bool = False
    l4s: bool = False
    paced_by_fq: bool = False
    parameters: tuple[str, ...] | None = None


def congestion_control(
    name: str, *, needs_ecn: bool = False, l4s: bool = False, paced_by_fq: bool = False
) -> Callable[[_Class], _Class]:
    """Declares a class a congestion control, for `plugins: {NAME: FILE.py}` of an experiment file.

    Its methods are the hooks of Linux's `tcp_congestion_ops`: `ssthresh(conn, window)` gives the
    threshold after a loss; `cong_avoid(conn, window, acked)` grows the window, or
    `cong_control(conn, window, sample)` does all for each ACK. Others are called if they are
    there: see docs/plugins.md. Parameters of the experiment file are arguments of its constructor.
    A hook costs about a microsecond, so a class is for small runs and first trials.

    Args:
        name: Name of the algorithm.
        needs_ecn: Both ends negotiate ECN (`TCP_CONG_NEEDS_ECN`).
        l4s: Sends ECT(1), and takes no other ECN than Accurate ECN (RFC 9331).
        paced_by_fq: The fq qdisc of the sending host paces by default.
    """

    def declared(chosen: _Class) -> _Class:
        setattr(chosen, DECLARED, Declared(name, needs_ecn, l4s, paced_by_fq))
        return chosen

    return declared
