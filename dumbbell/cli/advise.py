"""Verb `advise`."""

from __future__ import annotations

import typer

from dumbbell.cli.guard import guarded, levels
from dumbbell.cli.options import Allow, Set
from dumbbell.cli.translate import Language, Words, say_lost


def advise(file: Words, language: Language = None, set_: Set = None, allow: Allow = None) -> None:
    """Run a set-up briefly and say what is wrong with it. Exit code 1 if anything is."""
    with guarded():
        from dumbbell import console
        from dumbbell.advise.judge import judge
        from dumbbell.translate.source import read_words, shown_name

        name = shown_name(file)
        found = judge(read_words(file), name, language, levels(set_), allow)
        say_lost(name, found.lost)
        for one in found.advice:
            line = found.lines.get(one.link)
            where = one.pipe if line is None else f"{name}:{line} {one.link}"
            console.out.print(f"✗ {where}: {one.rule}: {one.cause}.", soft_wrap=True)
            console.out.print(f"  run: {one.evidence}.", soft_wrap=True)
            console.out.print(f"  mend: {one.mend}", soft_wrap=True)
        if found.advice:
            raise typer.Exit(1)
        console.out.print("✓ Nothing found.", soft_wrap=True)
