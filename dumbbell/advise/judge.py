"""Judgement of a set-up: words of other tools, or an experiment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dumbbell.advise.advice import Advice
from dumbbell.advise.case import Case
from dumbbell.advise.rules import RULES
from dumbbell.experiment.source import parse
from dumbbell.translate.mistakes import Note
from dumbbell.translate.translation import translate

_EXPERIMENT = re.compile(r"^dumbbell\s*:", re.MULTILINE)
#: Most directions of links that are judged.
_MOST_PIPES = 12


@dataclass(frozen=True)
class Judgement:
    """Judgement of a set-up.

    Attributes:
        advice: What the rules found; empty: the set-up is sound.
        lines: Link → line of its words in the source.
        lost: Words that the run does not have.
        pipes: Directions of links that were judged.
    """

    advice: tuple[Advice, ...]
    lines: Mapping[str, int]
    lost: tuple[Note, ...]
    pipes: tuple[str, ...]


def judge(
    text: str,
    file: str,
    language: str | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
) -> Judgement:
    """Judges a text. `levels`: factor → level of an experiment. Raises `ExperimentError`."""
    lost: tuple[Note, ...] = ()
    lines: Mapping[str, int] = {}
    if language is None and _EXPERIMENT.search(text):
        contents = parse(text, file).plain()
    else:
        made = translate(text, file, language)
        lost, lines = made.lost, made.lines
        contents = parse(made.text, file).plain()
    case = Case.of(contents, levels)
    judged = [name for name in case.pipes if not lines or name.rpartition("/")[0] in lines]
    found = [
        advice
        for name in judged[:_MOST_PIPES]
        for rule in RULES.values()
        if (advice := rule(case, name)) is not None
    ]
    return Judgement(tuple(_once(found)), lines, lost, tuple(judged[:_MOST_PIPES]))


def _once(found: list[Advice]) -> list[Advice]:
    """Advice without what both directions or several pipes say alike."""
    kept: dict[tuple[str, str, str], Advice] = {}
    for one in found:
        kept.setdefault((one.rule, one.link, one.mend), one)
    return list(kept.values())
