"""Experiments as a run of the study that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dumbbell.compare.agreement import Agreement
from dumbbell.metrics import Tables
from dumbbell.report.figures import begin_figures
from dumbbell.report.page import study_page
from dumbbell.studies.definition import Study
from dumbbell.studies.result import evaluate_study
from dumbbell.studies.running import agreement_of, parts_of
from dumbbell.vega.drawing import Drawer


def as_study(
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
