"""All errors of an experiment file, not the first alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError
from dumbbell.experiment.design import Design
from dumbbell.experiment.document import ExperimentFile
from dumbbell.experiment.locate import Locator
from dumbbell.experiment.source import Loc, read

#: Maximum number of errors of a file.
MOST = 20
#: Codes of errors that may follow from a misspelt field: it is missing under its right name.
_FOLLOWING = (Code.MISSING_FIELD, Code.ONE_OF, Code.NO_TRAFFIC)


def every_error(path: Path, first: ExperimentError) -> list[ExperimentError]:
    """Errors of a file in the order of its lines, at most `MOST`.

    Args:
        path: Path of the file.
        first: Error that a reader of the file met first.

    An unknown field hides the fields beside it: it is left out, and the file is checked again.
    `first` stands alone if it is of another kind: unreadable YAML, or parts that do not fit
    together.
    """
    try:
        design = Design(read(path), path, {})
        _, tree = next(design.trees())
    except (ExperimentError, StopIteration):
        return [first]
    locator = Locator(design.file, tree)
    plain = tree.plain()
    plain.pop("factors", None)
    found: dict[str, ExperimentError] = {}
    emptied: set[Loc] = set()
    while len(found) < MOST:
        try:
            ExperimentFile.model_validate(plain)
            break
        except ValidationError as error:
            placed = locator.every_invalid(error)
        for one, loc in placed:
            if one.code not in _FOLLOWING or emptied.isdisjoint((loc, loc[:-1])):
                found.setdefault(str(one), one)
        more = [loc for one, loc in placed if one.code == Code.UNKNOWN_FIELD]
        removed = [_left_out(plain, loc) for loc in more]
        if not any(removed):
            break
        emptied |= {loc[:-1] for loc in more}
    if str(first) not in found:
        return [first]
    return sorted(found.values(), key=lambda one: one.line or 0)[:MOST]


def _left_out(plain: Any, loc: Loc) -> bool:
    """Removes a field from a tree. Returns true if it was there."""
    for part in loc[:-1]:
        plain = plain[part]
    return isinstance(plain, dict) and plain.pop(loc[-1], None) is not None
