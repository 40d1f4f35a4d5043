"""Checks of a search before its runs."""

from __future__ import annotations

from pathlib import Path

from dumbbell.compare.expectations import Asked, refuse_unknown
from dumbbell.errors import ExperimentError
from dumbbell.experiment.load import Experiment, Opened, load_text
from dumbbell.experiment.source import Loc
from dumbbell.experiment.space import read_space
from dumbbell.search.points import Point, edges, words_of
from dumbbell.search.texts import Text, text_of


def refuse_impossible(opened: Opened) -> None:
    """Raises `ExperimentError` for what no evaluation can answer.

    That is an unknown flow, factor or level, and an end or a level of the space with which the
    experiment has an error.
    """
    spec = opened.search
    if spec is None:
        return
    flows = {flow for cell in opened.cells(0, 1) for flow in cell.rtt_ns}
    at: Loc = ("search", "attack" if spec.attack is not None else "optimise")
    asked = [Asked(at, spec.aim.measured, spec.aim.flow, spec.aim.where)]
    asked += [
        Asked((*at, "subject_to", place), one.metric, one.flow, one.where)
        for place, one in enumerate(spec.aim.subject_to)
    ]
    refuse_unknown(opened.info, opened.file, asked, flows)
    text = text_of(opened)
    load_points(
        text, list(edges(read_space(opened.reading.root, opened.file))), opened, "ends", 1, 1
    )


def load_points(
    text: Text, points: list[Point], opened: Opened, name: str, repeats: int, seed: int
) -> Experiment:
    """Experiment with these points as cells. Raises an error that names the impossible one."""
    path = Path(opened.file)

    def load(some: list[Point]) -> Experiment:
        return load_text(text.of_points(name, some, repeats, seed), path)

    try:
        return load(points)
    except ExperimentError:
        for point in points:
            try:
                load([point])
            except ExperimentError as error:
                field = f"{error.field}: " if error.field else ""
                raise ExperimentError(
                    f"with {words_of(point)}: {field}{error.message}",
                    file=opened.file,
                    line=opened.reading.line("search"),
                    field="search.space",
                    found=error.found,
                    allowed=error.allowed,
                    nearest=error.nearest,
                    code=error.code,
                ) from None
        raise
