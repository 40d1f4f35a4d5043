"""Console of rich that prints text as it is."""

from __future__ import annotations

import os
from typing import Any

from rich.console import Console

from dumbbell.console.streams import written
from dumbbell.errors import shown

#: Characters of a line where standard output is no terminal.
FILE_WIDTH = 100
#: Fewest characters of a line. In a narrower terminal the terminal wraps lines.
LEAST_WIDTH = 30


class Output(Console):
    """Console that prints text as it is, without markup, emoji or highlighting of names."""

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        super().__init__(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)
        if not self.is_terminal and "COLUMNS" not in os.environ:
            self.width = FILE_WIDTH
        if self.width < LEAST_WIDTH:
            self.width = LEAST_WIDTH

    def print(self, *objects: Any, **options: Any) -> None:
        """Prints as rich does; raises `OutputError` if standard output takes nothing."""
        with written(self.stderr):
            super().print(*(shown(o) if isinstance(o, str) else o for o in objects), **options)
