"""Reports: tables and figures of a store in one self-contained HTML file.

`write_report("store", "report.html")` draws from stored tables alone: it runs nothing, and the
same tables give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dumbbell.compare.agreement import Agreement
from dumbbell.errors import StoreError
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
    last is, with its `animations`. Raises `StoreError` for what is no store, `OutputError` if the
    file cannot be written.
    """
    with Store(Path(store), write=False) as opened:
        latest: dict[str, Record] = {}
        for record in opened.experiments():  # the one run last at the end
            latest.pop(record.info.name, None)
            latest[record.info.name] = record
        if not latest:
            raise StoreError(f"{store}: no experiment was run here")
        last = next(reversed(latest))
        family = next((f for f in map(experiment_names, studies_of(last)) if last in f), {last})
        found: dict[str, Tables] = {
            name: opened.results(record) for name, record in latest.items() if name in family
        }
    for study in studies_of(last):
        refuse_changed(study, Path(store))
    target = Path(out)
    with Drawer() as drawer:
        write_output(target, render(found, drawer, target, animations))
    return target


def render(
    experiments: dict[str, Tables],
    drawer: Drawer | None = None,
    place: Path | None = None,
    animations: Sequence[RunAnimation] = (),
) -> str:
    """The report of some experiments by name, the one run last at the end.

    With a `drawer`, figures are drawn while claims are judged. `place` is the path of the page:
    animations of a study are linked that stand in a folder of that name beside it, large ones of
    runs are written there. Raises `ValueError` if there is no experiment.
    """
    if not experiments:
        raise ValueError("no experiment was run here")
    last = next(reversed(experiments))
    for study in studies_of(last):
        beside = None if place is None else place.parent
        page = _as_study(study, experiments, last, drawer, beside)
        if page is not None:
            return page
    packets = run_animations(animations, place) if animations else []
    return experiment_page(experiments[last], drawer, packets)


def _as_study(
    study: Study,
    experiments: dict[str, Tables],
    last: str,
    drawer: Drawer | None,
    beside: Path | None,
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
        return study_page(evaluate_study(empty, found, agreement), beside=beside)
    begun = begin_figures(study, parts, drawer)
    return study_page(evaluate_study(study, parts, agreement), begun, beside)
