"""Verb `doctor`."""

from __future__ import annotations

import typer

from dumbbell import console
from dumbbell.cli.guard import guarded


def doctor() -> None:
    """Check this installation."""
    with guarded():
        from dumbbell.cli.installation import examine

        well = True
        for finding in examine():
            well = well and finding.well
            sign, style = ("ok  ", "green") if finding.well else ("FAIL", "red")
            console.out.print(sign, style=style, end="")
            console.out.print(f" {finding.name:<11}{finding.found}", soft_wrap=True)
        if not well:
            raise typer.Exit(1)
