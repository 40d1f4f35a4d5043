"""Studies: experiments with published numbers and claims, run and judged.

`run_study("multipath", parts=["delay"])` runs a part and judges its claims; `list_studies()` says
what there is. Studies are data: `studies/<name>/study.yaml` beside its experiments.
"""

from __future__ import annotations

from dumbbell.studies.definition import Study, StudyError, load_study
from dumbbell.studies.display import renderables, studies_table
from dumbbell.studies.result import StudyResult, evaluate_study
from dumbbell.studies.running import forecasts, list_studies, run_shard, run_study
from dumbbell.studies.verdicts import Verdict

__all__ = [
    "Study",
    "StudyError",
    "StudyResult",
    "Verdict",
    "evaluate_study",
    "forecasts",
    "list_studies",
    "load_study",
    "renderables",
    "run_shard",
    "run_study",
    "studies_table",
]
