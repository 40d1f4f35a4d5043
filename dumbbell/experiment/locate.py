"""Location of errors: pydantic, builder or scenario reader → file, line, field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.experiment.pipes import BuildError
from dumbbell.experiment.source import Loc, Node, descend, dotted

SET = "--set"
_WORDS = {
    "missing": "is missing",
    "float_parsing": "should be a number",
    "float_type": "should be a number",
    "finite_number": "should be a number that is finite",
    "bool_parsing": "should be true or false",
    "bool_type": "should be true or false",
    "int_parsing": "should be a whole number",
    "int_type": "should be a whole number",
    "int_from_float": "should be a whole number",
    "extra_forbidden": "unknown field",
    "dict_type": "should be a mapping",
    "model_type": "should be a mapping",
    "list_type": "should be a list",
    "string_type": "should be text",
    "string_too_short": "should not be empty",
    "too_short": "has too few entries",
    "too_long": "has too many entries",
}
#: Codes of pydantic's own errors; of all others: the field's kind.
_CODES = {"extra_forbidden": Code.UNKNOWN_FIELD, "missing": Code.MISSING_FIELD}
_RANGES = ("greater_than", "less_than", "finite_number", "too_short", "too_long")
_NO_SUCH = re.compile(r"no (node|host|link|flow) \S+")
_UNITS = re.compile(r"_(ns|bps|bytes|packets|ms)\Z")
_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_SERDE = re.compile(r" at line \d+ column \d+\Z")
_UNFIT = re.compile(
    r"invalid (?:type|value): (?:[a-z ]+ )?[`\"](?P<found>[^`\"]*)[`\"], expected (?P<expected>.+)"
)
_NUMBER = re.compile(r"([iu])(8|16|32|64)")
_KINDS = {"f64": "a number", "a boolean": "true or false", "a string": "text",
          "a sequence": "a list", "a map": "a mapping"}  # fmt: skip
_RENAMED = {"drop_tail": "buffer", "a": "between", "b": "between"}


class Locator:
    """Locates errors in a file.

    Attributes:
        file: Name of the file.
        root: Tree of the file, with levels in place of factors.
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
        field: str | None = None,
        code: Code | None = None,
    ) -> ExperimentError:
        """Error at the deepest part of `loc` that the file has."""
        node, line, there = descend(self.root, loc)
        if line == node.line or not isinstance(node.value, dict | list):
            line = node.line
        place: int | None = line
        return ExperimentError(
            message,
            file=self.file if place else SET,
            line=place or None,
            field=field if field is not None else dotted(there),
            found=found,
            allowed=allowed,
            nearest=nearest,
            code=code,
        )

    def invalid(self, error: ValidationError) -> ExperimentError:
        """First error of pydantic, in line order."""
        placed = [self._one(dict(one)) for one in error.errors(include_url=False)]
        return min(placed, key=lambda one: one.line or 0)

    def every_invalid(self, error: ValidationError) -> list[tuple[ExperimentError, Loc]]:
        """All errors of pydantic, each with the existing path of its field."""
        found = []
        for one in error.errors(include_url=False):
            loc, field = one["loc"], one.get("ctx", {}).get("field")
            _, _, there = descend(self.root, loc if field is None else (*loc, field))
            found.append((self._one(dict(one)), there))
        return found

    def _one(self, one: Mapping[str, Any]) -> ExperimentError:
        loc: Loc = tuple(one["loc"])
        context = one.get("ctx") or {}
        if one["type"] == "dumbbell":
            if context["field"] is not None:
                loc = (*loc, context["field"])
            found = context["found"]
            node, _, _ = descend(self.root, loc)
            if found is not None and not isinstance(node.value, dict | list):
                found = shortened(node.text)  # as written, not as YAML reads it
            return self.error(
                context["message"],
                loc,
                found=found,
                allowed=tuple(context["allowed"]),
                nearest=context["nearest"],
                code=context["code"],
            )
        if one["type"] == "missing":
            field, code = self._missing(loc), _CODES["missing"]
            return self.error("is missing", loc[:-1], field=field, code=code)
        message = _WORDS.get(one["type"], str(one["msg"]).removeprefix("Value error, "))
        node, _, _ = descend(self.root, loc)
        found = None if isinstance(node.value, dict | list) else shortened(node.text)
        return self.error(message, loc, found=found, code=_code(one["type"]))

    def _missing(self, loc: Loc) -> str:
        _, _, there = descend(self.root, loc[:-1])
        return dotted((*there, loc[-1]))

    def misbuilt(self, error: BuildError) -> ExperimentError:
        """Located error of the builder."""
        near = None
        if error.found is not None:
            near = nearest_name(error.found, error.allowed)
        return self.error(
            error.message,
            error.at,
            found=error.found,
            allowed=error.allowed,
            nearest=near,
            code=error.code,
        )

    def refused(
        self, path: str, message: str, origins: Mapping[Loc, Loc], code: Code | None = None
    ) -> ExperimentError:
        """Located error of the scenario reader.

        Args:
            path: Path of the field in the scenario.
            message: Message of the reader.
            origins: Path in the scenario → path in the file.
            code: Code of the cause; None: that of the section.
        """
        message, found = plainly(_SERDE.sub("", message))
        if code is None and _NO_SUCH.match(message):
            code = Code.NO_NODE
        loc: Loc = tuple(
            int(match[2]) if match[2] is not None else match[1] for match in _PART.finditer(path)
        )
        for end in range(len(loc), 0, -1):
            if loc[:end] in origins:
                rest = tuple(_plain(part) for part in loc[end:])
                return self.error(message, (*origins[loc[:end]], *rest), found=found, code=code)
        at = tuple(_plain(part) for part in loc)
        message = f"{path}: {message}" if path else message
        return self.error(message, at, found=found, code=code)


def _code(kind: str) -> Code | None:
    """Code of an error of pydantic; None: that of the section."""
    if kind.startswith(_RANGES):
        return Code.OUT_OF_RANGE
    if kind in ("value_error", "assertion_error"):
        return None
    return _CODES.get(kind, Code.FIELD_KIND)


def plainly(message: str) -> tuple[str, str | None]:
    """Message of the reader about a wrong type, rephrased, and the value found."""
    match = _UNFIT.fullmatch(message)
    if match is None:
        return message, None
    kind = match["expected"]
    number = _NUMBER.fullmatch(kind)
    if number is not None:
        bits, signed = int(number[2]), number[1] == "i"
        low = -(2 ** (bits - 1)) if signed else 0
        kind = f"a whole number from {low} to {2 ** (bits - signed) - 1}"
    return f"should be {_KINDS.get(kind, kind)}", match["found"]


def _plain(part: str | int) -> str | int:
    """Name in the file of a part of a scenario's path."""
    if isinstance(part, int):
        return part
    part = _RENAMED.get(part, part)
    return _UNITS.sub("", part)
