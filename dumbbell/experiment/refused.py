"""Errors of `dumbbell._core` about a file, as errors of the command line and of Python."""

from __future__ import annotations

from dumbbell import _core
from dumbbell.codes import Code
from dumbbell.errors import ExperimentError
from dumbbell.experiment.source import Loc, Node, descend, dotted

SET = "--set"
#: Message, override (None: in the file), line (0: none), field, found, allowed, nearest, code.
_Refused = tuple[str, str | None, int, str, str | None, list[str], str | None, str | None]


def located(found: _Refused, file: str, code: Code | None = None) -> ExperimentError:
    """Error in a file. `code`: of its cause; None: as found, or that of the section."""
    message, outside, line, field, value, allowed, nearest, number = found
    return ExperimentError(
        message,
        file=file if outside is None else outside,
        line=line or None,
        field=field,
        found=value,
        allowed=allowed,
        nearest=nearest,
        code=code or (None if number is None else Code(number)),
    )


def refused(error: _core.RefusedError, file: str) -> ExperimentError:
    """First error of a file; `more` has the others."""
    every = [located(one, file) for one in error.args[0]]
    first = every[0]
    first.more = tuple(every[1:])
    return first


class Locator:
    """Locates errors in a file.

    Attributes:
        file: Name of the file.
        root: Tree of the file.
    """

    def __init__(self, file: str, root: Node) -> None:
        self.file = file
        self.root = root

    def error(
        self,
        message: str,
        loc: Loc,
        *,
        found: str | None = None,
        allowed: tuple[str, ...] = (),
        nearest: str | None = None,
        code: Code | None = None,
    ) -> ExperimentError:
        """Error at the deepest part of `loc` that the file has."""
        node, line, there = descend(self.root, loc)
        if line == node.line or not isinstance(node.value, dict | list):
            line = node.line
        return ExperimentError(
            message,
            file=self.file if line else SET,
            line=line or None,
            field=dotted(there),
            found=found,
            allowed=allowed,
            nearest=nearest,
            code=code,
        )
