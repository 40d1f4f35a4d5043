"""Reports: tables and figures of a store in one self-contained HTML file.

`write_report("store", "report.html")` draws from stored tables alone: it runs nothing, and the
same tables give the same bytes.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from dumbbell.compare.agreement import Agreement
from dumbbell.errors import StoreError, StoreWarning
from dumbbell.figures.drawing import Drawer
from dumbbell.files.output import write_output
from dumbbell.metrics import Tables
from dumbbell.report.animations import RunAnimation, run_animations
from dumbbell.report.experiment import experiment_page
from dumbbell.report.figures import begin_figures
from dumbbell.report.page import study_page
from dumbbell.store import Store
from dumbbell.store.records import Record
from dumbbell.studies.definition import Study
from dumbbell.studies.fixed import refuse_changed
from dumbbell.studies.result import evaluate_study
from dumbbell.studies.running import agreement_of, experiment_names, parts_of, studies_of

__all__ = ["render", "write_report"]


def write_report(
    store: str | Path, out: str | Path, animations: Sequence[RunAnimation] = ()
) -> Path:
    """Writes the report of a store to a file and returns its path.

    Experiments that belong to a study are reported as that study; otherwise the experiment run
    last is, with its `animations`. What the store lacks (damaged runs, unfinished ones) stands on
    the page, and gives a `StoreWarning` each. Raises `StoreError` for what is no store and where
    nothing can be shown, `OutputError` if the file cannot be written.
    """
    with Store(Path(store), write=False, partial=True) as opened:
        latest: dict[str, Record] = {}
        for record in opened.experiments():  # the one run last at the end
            latest.pop(record.info.name, None)
            latest[record.info.name] = record
        if not latest:
            raise StoreError(f"{store}: no experiment was run here")
        last = next(reversed(latest))
        family = next((f for f in map(experiment_names, studies_of(last)) if last in f), {last})
        found: dict[str, Tables] = {}
        lacks = []
        for name, record in latest.items():
            if name in family:
                found[name], lack = opened.partial_results(record)
                lacks.append(lack)
        notes = opened.sentences(lacks)
    if not any(results.runs.height for results in found.values()):
        raise StoreError(f"{store}: nothing to show: {' '.join(notes)}")
    for note in notes:
        warnings.warn(note, StoreWarning, stacklevel=2)
    for study in studies_of(last):
        refuse_changed(study, Path(store))
    target = Path(out)
    with Drawer() as drawer:
        write_output(target, render(found, drawer, target, animations, notes))
    return target


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
    for study in studies_of(last):
        beside = None if place is None else place.parent
        page = _as_study(study, experiments, last, drawer, beside, notes)
        if page is not None:
            return page
    packets = run_animations(animations, place) if animations else []
    return experiment_page(experiments[last], drawer, packets, notes)


def _as_study(
    study: Study,
    experiments: dict[str, Tables],
    last: str,
    drawer: Drawer | None,
    beside: Path | None,
    notes: Sequence[str],
) -> str | None:
    """The page of the experiments as a run of the study, if the last one belongs to it."""
    parts, compared = parts_of(study, experiments)
    agreement: Agreement | None = None
    for reference, found in compared.items():
        agreement = agreement_of(study, reference, found)
    names = {results.experiment.name for found in compared.values() for results in found.values()}
    names |= {results.experiment.name for results in parts.values()}
    if last not in names:
        return None
    if not parts:
        (found,) = list(compared.values())[-1:]
        empty = study.model_copy(update={"tables": {}, "claims": [], "figures": {}})
        return study_page(evaluate_study(empty, found, agreement), beside=beside, notes=notes)
    begun = begin_figures(study, parts, drawer)
    return study_page(evaluate_study(study, parts, agreement), begun, beside, notes)
