"""The animations of a study: a page per cell that it names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from dumbbell.animation.command import Wanted, animate
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.report.animations import page_name
from dumbbell.studies import load_study


def animate_study(name: str, folder: Path, engine: str, err: Console) -> Iterator[Path]:
    """Writes the pages, one after the other.

    Raises:
        DumbbellError: There is no such study, it names no animation, or a page cannot be made.
    """
    study = load_study(name)
    if not study.animations:
        raise DumbbellError(f"{name}: this study names no animations", code=Code.ANIMATION)
    for key, animation in study.animations.items():
        part = study.parts[animation.part]
        file = study.folder / part.experiment
        for levels in animation.cells():
            chosen = {factor: [level] for factor, level in levels.items()}
            wanted = Wanted(
                output=folder / page_name(study.study, key, levels), set=chosen, engine=engine
            )
            fixed = {
                field: value if isinstance(value, list) else [value]
                for field, value in part.set.items()
            }
            yield animate([str(file)], replace(wanted, set={**fixed, **chosen}), err)
