"""Studies: experiments with published numbers and claims, run and judged.

`run_study("multipath", parts=["delay"])` runs a part and judges its claims; `list_studies()` says
what there is. Studies are data: `studies/<name>/study.yaml` beside its experiments.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dumbbell.studies.definition import Study, StudyError, load_study
    from dumbbell.studies.display import renderables, studies_table
    from dumbbell.studies.result import StudyResult, evaluate_study
    from dumbbell.studies.running import list_studies, run_shard, run_study, setups
    from dumbbell.studies.verdicts import Verdict

#: Modules of the names: reports of other experiments need none of them, and they import a lot.
_PLACES = {
    "Study": "definition",
    "StudyError": "definition",
    "StudyResult": "result",
    "Verdict": "verdicts",
    "evaluate_study": "result",
    "list_studies": "running",
    "load_study": "definition",
    "renderables": "display",
    "run_shard": "running",
    "run_study": "running",
    "setups": "running",
    "studies_table": "display",
}

__all__ = [
    "Study",
    "StudyError",
    "StudyResult",
    "Verdict",
    "evaluate_study",
    "list_studies",
    "load_study",
    "renderables",
    "run_shard",
    "run_study",
    "setups",
    "studies_table",
]


def __getattr__(name: str) -> object:
    """Imports the module of a name on first use."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
