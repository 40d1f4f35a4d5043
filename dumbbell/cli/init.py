"""Verb `init`."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from dumbbell.cli.guard import check_places, guarded
from dumbbell.codes import Code
from dumbbell.console import print_text, say
from dumbbell.console.words import many
from dumbbell.errors import DumbbellError
from dumbbell.files.output import PRINTED, write_output

_DEFAULT = Path("experiment.yaml")
#: Names for `--template`. The module `dumbbell.starter` is not imported for a help text.
NAMES = (
    "dumbbell", "parallel-paths", "parking-lot", "fat-tree", "leaf-spine", "bufferbloat",
    "cellular", "rrul",
)  # fmt: skip


#: Options whose value is a name; without one they list the names.
_NAMED = ("--template", "--example")


class InitCommand(TyperCommand):
    """Command that accepts `--example` and `--template` without a name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Adds an empty name where the command line omits it."""
        full: list[str] = []
        for word, follows in zip(args, [*args[1:], "--"], strict=False):
            full.append(word)
            if word in _NAMED and follows.startswith("--"):
                full.append("")
        return super().parse_args(ctx, full)


def init(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Experiment to write; - prints it [default: experiment.yaml, or EXAMPLE.yaml]. "
            "With --course: a folder [default: course].",
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=lambda: NAMES,
            help=f"Ask nothing; write one of {', '.join(NAMES)}.",
        ),
    ] = None,
    example: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Ask nothing; write an example, such as two-flows. Without NAME: list them.",
        ),
    ] = None,
    course: Annotated[
        bool,
        typer.Option("--course", help="Ask nothing; write the notebooks of the course."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a first experiment file. It asks four questions, or takes a template or an example."""
    with guarded():
        from dumbbell.starter import read, starter_named

        if course:
            _write_course(file or Path("course"), template, example, force)
            return
        if "" in (template, example):
            _list_names("template" if template == "" else "example")
            return
        if example is not None:
            _write_example(example, file, template, force)
            return
        file = file or _DEFAULT
        _refuse_existing(file, force)
        if template is not None:
            starter = starter_named(template)
            answers = starter.defaults
        elif sys.stdin is not None and sys.stdin.isatty():
            from dumbbell.cli.questions import ask

            starter, answers = ask()
        else:
            raise DumbbellError(
                "init asks its questions at a terminal, and standard input is none: "
                f"`dumbbell init FILE --template NAME` asks nothing; names: {', '.join(NAMES)}",
                code=Code.NO_ANSWER,
            )
        text = starter.text(answers)
        if str(file) == PRINTED:
            print_text(text)
            return
        _refuse_existing(file, force)
        write_output(file, text)
        experiment = read(starter, answers)
        runs = len(experiment.cells) * experiment.info.repeats
        say(f"Written: {file}, {many(runs, 'run')}")
        say(f"Next: dumbbell run {shlex.quote(str(file))}")


def _list_names(option: str) -> None:
    """Prints a line per name, and how to write one."""
    from dumbbell.starter import STARTERS
    from dumbbell.starter.examples import example_abouts

    known = example_abouts()
    if option == "template":
        known = {name: starter.words for name, starter in STARTERS.items()}
    width = max(map(len, known))
    print_text("".join(f"{name:<{width}}  {about}\n" for name, about in known.items()))
    say(f"Write one: dumbbell init --{option} NAME")


def _write_example(name: str, file: Path | None, template: str | None, force: bool) -> None:
    """Writes an example, and beside it the files that it reads."""
    from dumbbell.starter.examples import example_named

    if template is not None:
        raise DumbbellError("--template and --example exclude each other", code=Code.EXCLUSIVE)
    text, others = example_named(name)
    file = file or Path(f"{name}.yaml")
    _refuse_existing(file, force)
    if str(file) == PRINTED:
        print_text(text)
        return
    for other in others:
        _refuse_existing(file.with_name(other.name), force)
    for other in others:
        write_output(file.with_name(other.name), other.read_text(encoding="utf-8"))
    write_output(file, text)
    say(f"Written: {', '.join(map(str, (file, *(file.with_name(one.name) for one in others))))}")
    say(f"Next: dumbbell run {shlex.quote(str(file))}")


def _write_course(folder: Path, template: str | None, example: str | None, force: bool) -> None:
    """Writes the notebooks of the course and their pictures into a folder."""
    from dumbbell.starter.course import course_files

    if (template, example) != (None, None):
        other = "--example" if template is None else "--template"
        raise DumbbellError(f"--course and {other} exclude each other", code=Code.EXCLUSIVE)
    if str(folder) == PRINTED:
        raise DumbbellError("--course writes files into a folder: name one", code=Code.OPTION)
    files = course_files()
    for name in files:
        _refuse_existing(folder / name, force)
    for name, text in files.items():
        write_output(folder / name, text)
    count = many(sum(name.endswith(".ipynb") for name in files), "notebook")
    say(f"Written: {count} in {folder}")
    say(f"Next: pip install jupyterlab; jupyter lab {shlex.quote(str(folder))}")


def _refuse_existing(file: Path, force: bool) -> None:
    """Raises an error for a file that must not, or cannot, be written."""
    if str(file) == PRINTED:
        return
    if os.path.lexists(file) and not force:
        raise DumbbellError(
            f"{file}: exists already; choose another name, or replace it: --force",
            code=Code.OVERWRITE,
        )
    check_places(file)
