"""Judgement of a set-up: words of other tools, or an experiment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.advise.advice import Advice
from dumbbell.advise.case import Case
from dumbbell.advise.rules import RULES
from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, about_file
from dumbbell.experiment.load import load_text
from dumbbell.experiment.source import parse
from dumbbell.translate.mistakes import Note
from dumbbell.translate.translation import translate

_EXPERIMENT = re.compile(r"^dumbbell\s*:", re.MULTILINE)
#: Most directions of links, and flows of a translation, that are judged.
_MOST_PIPES, _MOST_FLOWS = 12, 6


@dataclass(frozen=True)
class Judgement:
    """Judgement of a set-up.

    Attributes:
        advice: What the rules found; empty: the set-up is sound.
        lines: Link → line of its words in the source.
        lost: Words that the run does not have.
    """

    advice: tuple[Advice, ...]
    lines: Mapping[str, int]
    lost: tuple[Note, ...]


def judge(
    text: str,
    file: str,
    language: str | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    allow: Sequence[str] | None = None,
) -> Judgement:
    """Judges a text. Raises `ExperimentError`.

    Args:
        text: Words of a tool, or an experiment.
        file: Its name, for messages.
        language: Language of the words; None: as they look.
        levels: Factor → level of an experiment.
        allow: Limits of its runs that are raised, as for `dumbbell.run`.
    """
    with about_file(file):
        return _judged(text, file, language, levels, allow)


def _judged(
    text: str,
    file: str,
    language: str | None,
    levels: Mapping[str, Sequence[str]] | None,
    allow: Sequence[str] | None,
) -> Judgement:
    if language is None and _EXPERIMENT.search(text):
        case = _of_experiment(text, file, levels, allow)
        return Judgement(tuple(_once(_asked(case, list(case.pipes)))), {}, ())
    if levels:
        raise ExperimentError("--set needs an experiment file", file=file, code=Code.SET_FIELD)
    made = translate(text, file, language)
    contents = parse(made.text, file).plain()
    found: list[Advice] = []
    flows = contents["flows"]
    for flow in flows[:_MOST_FLOWS]:
        case = Case.of(_with_one(contents, flow), allow=allow)
        case.language, case.direct = made.language, made.direct
        named = [one for one in case.pipes if one.rpartition("/")[0] in made.lines]
        found += _asked(case, [one for one in named if case.flow_of(one) == flow["name"]])
    count, left = len(flows) - _MOST_FLOWS, list[Note]()
    if count > 0:
        left = [Note(1, f"{count} other flows", f"only {_MOST_FLOWS} are judged", lost=True)]
    return Judgement(tuple(_once(found)), made.lines, (*made.lost, *left))


def _of_experiment(
    text: str,
    file: str,
    levels: Mapping[str, Sequence[str]] | None,
    allow: Sequence[str] | None,
) -> Case:
    """Runs an experiment. Its errors name the file; its relative files are beside it."""
    known = load_text(text, Path(file), set=levels).info.factors
    for name in levels or {}:
        if name not in known:
            message = "--set names no factor of the experiment"
            raise ExperimentError(
                message, file=file, found=name, allowed=tuple(known), code=Code.SET_FIELD
            )
    contents = parse(text, file).plain()
    if "search" in contents:
        message = "a search has no cell to judge; allowed: an experiment with levels"
        raise ExperimentError(message, file=file, field="search")
    return Case.of(_absolute(contents, Path(file).resolve().parent), levels, allow)


def _absolute(value: Any, folder: Path) -> Any:
    """Contents with absolute names of files."""
    if isinstance(value, list):
        return [_absolute(one, folder) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: str(folder / one) if key == "file" and isinstance(one, str) else _absolute(one, folder)
        for key, one in value.items()
    }


def _with_one(contents: Mapping[str, Any], flow: Mapping[str, Any]) -> dict[str, Any]:
    """The experiment with one of its flows, from the start."""
    kept = {key: value for key, value in flow.items() if key not in ("start", "stop")}
    # Flows whose hosts are joined come one after the other.
    begin, end = flow.get("start", "0 s"), flow.get("stop", contents["duration"])
    duration = f"{int(end.split()[0]) - int(begin.split()[0])} s"
    joined, links = {flow["from"]}, contents["links"]
    while True:
        reached = {end for link in links if joined & {*link["between"]} for end in link["between"]}
        if reached <= joined:
            break
        joined |= reached
    made = {**contents, "flows": [kept], "duration": duration}
    made["links"] = [link for link in links if link["between"][0] in joined]
    for kind in ("hosts", "routers"):
        if kind in contents:
            made[kind] = {name: one for name, one in contents[kind].items() if name in joined}
    return made


def _asked(case: Case, pipes: list[str]) -> list[Advice]:
    """What the rules say of some directions of links."""
    asked = [(name, rule) for name in pipes[:_MOST_PIPES] for rule in RULES.values()]
    return [advice for name, rule in asked if (advice := rule(case, name)) is not None]


def _once(found: list[Advice]) -> list[Advice]:
    """Advice without what both directions or several pipes say alike."""
    kept: dict[tuple[str, str, str], Advice] = {}
    for one in found:
        kept.setdefault((one.rule, one.link, one.mend), one)
    return list(kept.values())
