"""Verb `translate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.guard import check_places, guarded

if TYPE_CHECKING:
    from dumbbell.translate.mistakes import Note

#: Lines about words without a counterpart.
_MOST_LINES = 40
#: Names for `--from`. The package `dumbbell.translate` is not imported for a help text.
LANGUAGES = ("tc", "mininet", "kubernetes", "cni", "compose", "toxiproxy", "tcconfig", "sqm")

Words = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Commands of tc, a mininet topology, a compose file …; - reads standard input.",
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="NAME",
        autocompletion=lambda: LANGUAGES,
        help=f"Language of the words: {', '.join(LANGUAGES)} [default: recognised].",
    ),
]


def say_lost(name: str, lost: Sequence[Note]) -> None:
    """Says which words have no counterpart, a line each."""
    from dumbbell.console import say

    for note in lost[:_MOST_LINES]:
        say(f"{name}:{note.line}: {note}")
    if len(lost) > _MOST_LINES:
        say(f"{name}: {len(lost) - _MOST_LINES} more; comments in the translation have them")


def translate(
    file: Words,
    language: Language = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The experiment [default: printed].")
    ] = None,
) -> None:
    """Translate words of tc, mininet, Kubernetes … into an experiment. Nothing is executed."""
    with guarded():
        from dumbbell.console import print_text, say
        from dumbbell.files.output import PRINTED, write_output
        from dumbbell.translate.source import read_words, shown_name
        from dumbbell.translate.translation import translate as translated

        check_places(output if str(output) != PRINTED else None)
        made = translated(read_words(file), shown_name(file), language)
        say_lost(shown_name(file), made.lost)
        if output is None or str(output) == PRINTED:
            print_text(made.text)
            return
        write_output(output, made.text)
        say(f"Written: {output}")
        say(f"Next: dumbbell run {output}")
