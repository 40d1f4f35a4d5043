"""Verb `new`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.guard import guarded
from dumbbell.console import say

new_app = typer.Typer(help="Write a project for your own congestion control.", no_args_is_help=True)


class Form(StrEnum):
    """Language of a plug-in."""

    python = "python"
    c = "c"
    rust = "rust"
    kernel = "kernel"


@new_app.callback()
def new() -> None:
    """Write a project for your own congestion control."""


@new_app.command("congestion-control")
def congestion_control(
    name: Annotated[str, typer.Argument(help="Name of the algorithm: small letters, digits, _.")],
    form: Annotated[
        Form,
        typer.Option(
            "--in",
            help="python: no compiler; c, rust: fast; kernel: a module of Linux.",
        ),
    ] = Form.python,
    to: Annotated[
        Path | None, typer.Option("--to", help="Folder to write [default: NAME].")
    ] = None,
) -> None:
    """Write a congestion control, with a test and a sweep."""
    with guarded():
        from dumbbell.starter.project import FORMS, write_project

        folder = to or Path(name)
        files = write_project(name, form.value, folder)
        first = FORMS[form.value].first.format(name=name)
        say(f"{folder}: {len(files)} files. Change {first}, then:")
        say(f"  cd {folder}")
        say("  make test    # compares it with Reno")
        say("  make sweep   # runs sweep.yaml")
        if form is Form.kernel:
            say("  make kernel  # builds Linux with it, and runs sweep.yaml there")
