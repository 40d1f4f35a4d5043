"""Draws figures of a study for its README: `study_figures.py STUDY STORE FIGURE…`.

They go to `studies/STUDY/figures/FIGURE.png`. Runs are taken from the store, and made where
it lacks them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dumbbell.report.figures import study_figure
from dumbbell.studies.definition import load_study
from dumbbell.studies.running import run_study


def main(name: str, store: str, *figures: str) -> None:
    """Draws them."""
    study = load_study(name)
    chosen = {figure: study.figures[figure] for figure in figures}
    result = run_study(name, parts=sorted({f.part for f in chosen.values()}), store=Path(store))
    folder = study.folder / "figures"
    folder.mkdir(exist_ok=True)
    for number, figure in chosen.items():
        drawn = study_figure(study, figure, result.parts[figure.part])
        (folder / f"{number}.png").write_bytes(drawn.png(scale=1.5))


if __name__ == "__main__":
    main(*sys.argv[1:])
