"""Errors that the user can correct: one message each, no traceback."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dumbbell.codes import Code

#: Working copy of a store → URL of the store. Messages show the URL.
WORKING_COPIES: dict[str, str] = {}
#: File of an error in a mapping that stands for a file. It has no lines.
MAPPING = "<mapping>"
_SHOWN = 12
#: Maximum length of a field's path in messages.
_FIELD = 120
_WORD = re.compile(r"[a-z_]+")
#: Codes of sections with names of the user below them: the first word of a field's path decides.
_NAMING = {
    "hosts": Code.HOST,
    "programs": Code.PROGRAM,
    "factors": Code.FACTORS,
    "search": Code.SEARCH,
    "repeats": Code.REPEATS,
    "sampling": Code.SAMPLING,
    "expect": Code.EXPECT,
}
#: Codes by a word of a field's path: the last word that stands here decides.
_SECTIONS = {
    **dict.fromkeys(("nodes", "links", "routers", "switches", "neighbours"), Code.NETWORK),
    **dict.fromkeys(("routes", "routing", "template", "taps"), Code.NETWORK),
    **dict.fromkeys(("flows", "arrivals", "pings", "videos", "voice", "rrul"), Code.FLOW),
    **dict.fromkeys(("subflows", "multipath", "connections"), Code.SUBFLOWS),
    **dict.fromkeys(("buffer", "queue", "classes"), Code.QUEUE),
    "pages": Code.PAGE,
    "access": Code.ACCESS,
    "rates": Code.RATES_FILE,
    "trace": Code.RATES_FILE,
}


class DumbbellError(Exception):
    """Error that the user can correct. The command line prints it and exits with code 2.

    Attributes:
        code: Code of its cause, which `dumbbell help` explains.
    """

    code: Code = Code.OPTION

    def __init__(self, *args: object, code: Code | None = None) -> None:
        super().__init__(*args)
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return shown(super().__str__())


class StoreError(DumbbellError):
    """Error of a store: unreadable, unwritable or damaged."""

    code = Code.STORE


class EngineError(DumbbellError):
    """Error of an engine: unsupported scenario, or failed run."""

    code = Code.ENGINE


class Interrupted(DumbbellError):
    """Stop by a signal. Finished runs are kept.

    Attributes:
        done: Number of runs in the store.
        total: Number of runs of the experiment.
    """

    code = Code.STOPPED

    def __init__(self, done: int, total: int) -> None:
        super().__init__(
            f"stopped; {done} of {total} runs are finished and kept: "
            "the same command goes on from there"
        )
        self.done = done
        self.total = total


class ExperimentError(DumbbellError):
    """Error in an experiment file.

    Attributes:
        message: What is wrong.
        file: The file, as the user named it; `<mapping>`: a mapping in place of a file.
        line: Line in the file, counted from 1; None: unknown, or a mapping.
        field: Path of the field, as `flows[1].tcp`; empty: the whole file.
        found: Value found, shortened; None: no value.
        allowed: Allowed values.
        nearest: Allowed name that is most similar to the one found.
        more: Other errors of the file that were found with this one.
        others: Those of them that the command line prints.
    """

    more: tuple[ExperimentError, ...] = ()

    others: tuple[ExperimentError, ...] = ()

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        line: int | None = None,
        field: str = "",
        found: str | None = None,
        allowed: Iterable[str] = (),
        nearest: str | None = None,
        code: Code | None = None,
    ) -> None:
        self.message = message
        self.file = file
        self.line = None if file == MAPPING else line
        self.field = field
        self.found = found
        self.allowed = tuple(allowed)
        self.nearest = nearest
        super().__init__(message, code=code or section_code(field))

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        field = self.field if len(self.field) <= _FIELD else shortened(self.field, _FIELD)
        head = ": ".join(part for part in (where, field, self.message) if part)
        if self.found is not None:
            head += f"; found {self.found or 'nothing'}"
        if self.nearest is not None:
            head += f"; did you mean {self.nearest}?"
        if self.allowed:
            shown = [shortened(one) for one in self.allowed[:_SHOWN]]
            more = len(self.allowed) - len(shown)
            tail = f" and {more} more" if more > 0 else ""
            head += f"; allowed: {', '.join(shown)}{tail}"
        return head


@contextmanager
def about_file(file: str, *, field: bool = True) -> Iterator[None]:
    """Errors inside name this file in place of a mapping that was made from it.

    Args:
        file: The file, as the user named it; empty: none.
        field: False: fields are those of the mapping alone, and are left out.
    """
    try:
        yield
    except ExperimentError as error:
        for one in (error, *error.more):
            if one.file == MAPPING:
                one.file, one.field = file, one.field if field else ""
        raise


def shown(text: str) -> str:
    """Text for users: with the URL in place of its working copy."""
    for path, url in WORKING_COPIES.items():
        text = text.replace(path, url)
    return text


def section_code(field: str) -> Code:
    """Code of the section that a field belongs to."""
    words = _WORD.findall(field)
    if words and words[0] in _NAMING:
        return _NAMING[words[0]]
    found = [_SECTIONS[word] for word in words if word in _SECTIONS]
    return found[-1] if found else Code.EXPERIMENT


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Known name most similar to `name`; None: none is similar."""
    known = list(known)
    folded = {k.lower(): k for k in known}
    from difflib import get_close_matches

    close = get_close_matches(name.lower()[:100], list(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def did_you_mean(near: object, otherwise: str = "") -> str:
    """End of a message: the nearest name, if there is one, else `otherwise`."""
    return f"; did you mean {near}?" if near else otherwise


def shortened(value: object, limit: int = 60) -> str:
    """Value for a message: at most `limit` characters, on one line."""
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(text[: 4 * limit].split())
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


class DefectWarning(UserWarning):
    """Value outside its physical bounds: a defect of the program, not of the experiment."""


class StoreWarning(UserWarning):
    """Runs that results of a store lack, or a reason to doubt them; the message is a sentence."""
