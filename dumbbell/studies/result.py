"""Result of a study: claims with verdicts, tables, agreement with the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dumbbell.compare.agreement import Agreement
from dumbbell.metrics import Tables
from dumbbell.studies.definition import Claim, Study
from dumbbell.studies.quantities import Cells
from dumbbell.studies.reference import ReferenceCells
from dumbbell.studies.tables import Row, build_table
from dumbbell.studies.verdicts import ClaimResult, judge


@dataclass(frozen=True)
class StudyResult:
    """A study, evaluated over what was run of it.

    `versions`: version of the program and of each engine that ran. `agreement`: comparison with
    a reference, if one was asked for.
    """

    study: Study
    engine: str
    versions: dict[str, str]
    claims: list[ClaimResult]
    tables: dict[str, list[Row]]
    agreement: Agreement | None = None
    parts: dict[str, Tables] = field(default_factory=dict, repr=False)

    def to_json(self) -> dict[str, Any]:
        """The contract of `--json`: study, engine, versions, claims, tables (and agreement)."""
        found: dict[str, Any] = {
            "study": self.study.study,
            "engine": self.engine,
            "versions": self.versions,
            "claims": [claim.to_json() for claim in self.claims],
            "tables": self.tables,
        }
        if self.agreement is not None:
            found["agreement"] = self.agreement.to_json()
        return found


def evaluate_study(
    study: Study, parts: Mapping[str, Tables], agreement: Agreement | None = None
) -> StudyResult:
    """Tables and verdicts from the stored tables of the parts that were run.

    `parts`: results by id of the part. Claims of which no case was run are left out. Raises
    `StudyError` where the study file does not fit the tables.
    """
    cells = {part: Cells(results) for part, results in parts.items()}
    tables = {
        name: build_table(study, name, parts[table.part], cells)
        for name, table in study.tables.items()
        if table.part in parts
    }
    judged = [_judged(study, claim, cells) for claim in study.claims if claim.part in parts]
    engines, versions = _engines(parts)
    return StudyResult(
        study=study,
        engine=engines,
        versions=versions,
        claims=[result for result in judged if result is not None],
        tables=tables,
        agreement=agreement,
        parts=dict(parts),
    )


def _judged(study: Study, claim: Claim, cells: Mapping[str, Cells]) -> ClaimResult | None:
    """The verdict on a claim, and those on the numbers of references."""
    result = judge(study, claim, cells)
    bare = claim.model_copy(update={"causes": []})
    found: dict[str, ClaimResult] = {}
    for name, reference in study.references.items():
        if claim.part in reference.claims:
            source = {claim.part: ReferenceCells(study, reference, claim.part)}
            one = judge(study, bare, source)
            if one is not None:
                found[name] = replace(one, origin=reference.title)
    return result and replace(result, references=found)


def _engines(parts: Mapping[str, Tables]) -> tuple[str, dict[str, str]]:
    """The engines that ran (joined by `+`), and their versions."""
    versions: dict[str, str] = {}
    for results in parts.values():
        for engine, version in results.runs.select("engine", "engine_version").unique().iter_rows():
            known = versions.get(engine)
            versions[engine] = version if known in (None, version) else f"{known}, {version}"
    return "+".join(sorted(versions)) or "none", versions
