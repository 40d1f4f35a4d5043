"""Errors of pydantic in a study, with file, line and field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, shortened
from dumbbell.experiment.source import Loc, Node, descend, dotted

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


def invalid(error: ValidationError, file: str, root: Node) -> ExperimentError:
    """First error of pydantic, in line order."""
    placed = [_one(dict(one), file, root) for one in error.errors(include_url=False)]
    return min(placed, key=lambda one: one.line or 0)


def _one(one: Mapping[str, Any], file: str, root: Node) -> ExperimentError:
    loc: Loc = tuple(one["loc"])
    missing = one["type"] == "missing"
    node, line, there = descend(root, loc[:-1] if missing else loc)
    container = isinstance(node.value, dict | list)
    return ExperimentError(
        _WORDS.get(one["type"], str(one["msg"]).removeprefix("Value error, ")),
        file=file,
        line=line if container else node.line,
        field=dotted((*there, loc[-1]) if missing else there),
        found=None if container else shortened(node.text),
        code=_code(one["type"]),
    )


def _code(kind: str) -> Code | None:
    """Code of an error of pydantic; None: that of the section."""
    if kind.startswith(_RANGES):
        return Code.OUT_OF_RANGE
    if kind in ("value_error", "assertion_error"):
        return None
    return _CODES.get(kind, Code.FIELD_KIND)
