"""Pages about errors, by code: `dumbbell help CODE`, docs/errors.md. Each has a cause, an example,
and a correction. `topics` finds a word in catalogue, schema and metrics."""

from __future__ import annotations

from dumbbell.codes import Code
from dumbbell.help import (
    captures,
    command_line,
    engines,
    experiment_file,
    flows,
    network,
    stores,
    studies,
    values,
)
from dumbbell.help.page import Call, Group, Page, Sections

GROUPS: tuple[Group, ...] = (
    command_line.GROUP,
    experiment_file.GROUP,
    values.GROUP,
    network.NETWORK,
    network.QUEUES,
    flows.GROUP,
    engines.GROUP,
    stores.GROUP,
    captures.GROUP,
    studies.GROUP,
)
PAGES: dict[Code, Page] = {page.code: page for group in GROUPS for page in group.pages}

__all__ = ["GROUPS", "PAGES", "Call", "Group", "Page", "Sections"]
