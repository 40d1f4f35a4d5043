"""Verb `help`: what a code of an error means."""

from __future__ import annotations

from typing import Annotated

import typer

from dumbbell.cli.guard import guarded
from dumbbell.codes import Code
from dumbbell.console import print_text
from dumbbell.errors import DumbbellError, nearest_name, shortened


def help(
    code: Annotated[
        str | None, typer.Argument(help="Code of an error, as E203.", show_default=False)
    ] = None,
) -> None:
    """Explain a code of an error; without one, list all codes."""
    with guarded():
        _show(_listed() if code is None else _page(_known(code)))


def _known(text: str) -> Code:
    """Code that was typed: letter case, brackets and the letter E do not matter."""
    wanted = text.strip().strip("[]").upper()
    wanted = f"E{wanted}" if wanted.isdecimal() else wanted
    try:
        return Code(wanted)
    except ValueError:
        near = _nearest(wanted)
        hint = f"; did you mean {near}?" if near is not None else ""
        raise DumbbellError(
            f"no code {shortened(text)}{hint} `dumbbell help` lists all; "
            "`dumbbell VERB --help` explains a verb",
            code=Code.SELECTION,
        ) from None


def _nearest(wanted: str) -> str | None:
    if wanted[1:].isdecimal() and len(wanted) < 10:
        return min(Code, key=lambda code: abs(int(code[1:]) - int(wanted[1:])))
    return nearest_name(wanted, Code)


def _page(code: Code) -> str:
    from dumbbell.help import PAGES
    from dumbbell.help.reference import lines

    page = PAGES[code]
    return "\n".join((f"# {code}: {page.title}", "", *lines(page, "docs/"))) + "\n"


def _listed() -> str:
    from dumbbell.help import GROUPS

    found = ["# Codes of errors", ""]
    for group in GROUPS:
        found += [f"## {group.title}", ""]
        found += [f"- {page.code}: {page.title}" for page in group.pages]
        found.append("")
    found.append("`dumbbell help CODE` explains one; `dumbbell VERB --help` explains a verb.")
    return "\n".join(found) + "\n"


def _show(text: str) -> None:
    """Prints Markdown: with styles on a terminal, as it is elsewhere."""
    from dumbbell import console

    if not console.out.is_terminal:
        print_text(text)
        return
    from rich.markdown import Markdown

    console.out.print(Markdown(text, hyperlinks=False))
