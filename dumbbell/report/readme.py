"""Figures of a study for its README: PNG files in the folder `figures` beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dumbbell.files.output import write_output
from dumbbell.report.figures import study_figure
from dumbbell.studies.definition import StudyError, load_study
from dumbbell.studies.running import run_study


def draw(name: str, figures: Sequence[str], store: Path) -> Iterator[Path]:
    """Draws figures of a study; runs that the store lacks are made.

    Args:
        name: The study.
        figures: Ids in its `study.yaml`.
        store: Folder in which runs are kept.

    Yields:
        Each file, when it is written.

    Raises:
        StudyError: There is no such study or figure.
        DumbbellError: A run failed, or a file cannot be written.
    """
    study = load_study(name)
    unknown = [figure for figure in figures if figure not in study.figures]
    if unknown:
        known = ", ".join(study.figures)
        raise StudyError(f"study {study.study} has no figure {unknown[0]!r}; it has {known}")
    chosen = {figure: study.figures[figure] for figure in figures}
    result = run_study(name, parts=sorted({one.part for one in chosen.values()}), store=store)
    for number, figure in chosen.items():
        path = study.folder / "figures" / f"{number}.png"
        write_output(path, study_figure(study, figure, result.parts[figure.part]).png(scale=1.5))
        yield path
