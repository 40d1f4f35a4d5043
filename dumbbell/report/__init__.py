"""Reports: tables and figures of a store in one self-contained HTML file.

`write_report("store", "report.html")` draws from stored tables alone: it runs nothing, and the
same tables give the same bytes.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import StoreError, StoreWarning
from dumbbell.files.output import write_output
from dumbbell.files.urls import store_path
from dumbbell.metrics import Tables
from dumbbell.report.animations import RunAnimation, run_animations
from dumbbell.report.experiment import experiment_page
from dumbbell.store import Store
from dumbbell.store.records import Record
from dumbbell.studies.names import names_for
from dumbbell.vega.drawing import Drawer

__all__ = ["render", "write_report"]


def write_report(
    store: str | Path,
    out: str | Path,
    animations: Sequence[RunAnimation] = (),
    drawer: Drawer | None = None,
) -> Path:
    """Writes the report of a store to a file and returns its path.

    Experiments that belong to a study are reported as that study; otherwise the experiment run
    last is, with its `animations`. What the store lacks (damaged runs, unfinished ones) stands on
    the page, and gives a `StoreWarning` each. `drawer`: One that was started before, which takes
    half a second in the background. Raises `StoreError` for what is no store and where
    nothing can be shown, `OutputError` if the file cannot be written.
    """
    store = store_path(store)
    with Store(store, write=False, partial=True) as opened:
        latest: dict[str, Record] = {}
        for record in opened.experiments():  # the one run last at the end
            latest.pop(record.info.name, None)
            latest[record.info.name] = record
        if not latest:
            raise StoreError(f"{store}: no experiment was run here", code=Code.NO_EXPERIMENT)
        last = next(reversed(latest))
        family = _family(store, last)
        found: dict[str, Tables] = {}
        lacks = []
        for name, record in latest.items():
            if name in family:
                results, lack = opened.partial_results(record)
                lacks.append(lack)
                if results.runs.height:
                    found[name] = results
        notes = opened.sentences(lacks)
    if not found:
        raise StoreError(f"{store}: nothing can be shown: {' '.join(notes)}", code=Code.NO_RUN)
    for note in notes:
        warnings.warn(note, StoreWarning, stacklevel=2)
    target = Path(out)
    with Drawer() if drawer is None else contextlib.nullcontext(drawer) as drawing:
        write_output(target, render(found, drawing, target, animations, notes))
    return target


def _family(store: Path, last: str) -> set[str]:
    """Experiments that are reported with the one run last: those of its study."""
    family = {last}
    if names_for(last):  # importing what reads studies takes a while
        from dumbbell.studies.fixed import refuse_changed
        from dumbbell.studies.running import experiment_names, studies_of

        for study in studies_of(last):
            refuse_changed(study, store)
            names = experiment_names(study)
            if last in names and len(family) == 1:
                family = names
    return family


def render(
    experiments: dict[str, Tables],
    drawer: Drawer | None = None,
    place: Path | None = None,
    animations: Sequence[RunAnimation] = (),
    notes: Sequence[str] = (),
) -> str:
    """The report of some experiments by name, the one run last at the end.

    With a `drawer`, figures are drawn while claims are judged. `place` is the path of the page:
    animations of a study are linked that stand in a folder of that name beside it, large ones of
    runs are written there. `notes` stand at the top. Raises `ValueError` if there is no experiment.
    """
    if not experiments:
        raise ValueError("no experiment was run here")
    last = next(reversed(experiments))
    if names_for(last):
        from dumbbell.report.study import as_study
        from dumbbell.studies.running import studies_of

        beside = None if place is None else place.parent
        for study in studies_of(last):
            page = as_study(study, experiments, last, drawer, beside, notes)
            if page is not None:
                return page
    packets = run_animations(animations, place) if animations else []
    return experiment_page(experiments[last], drawer, packets, notes)
