"""Study of a store: cells beside what was published, and why they differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.errors import DumbbellError
from dumbbell.explore.sources import Source
from dumbbell.figures import Figure
from dumbbell.report.figures import study_figure
from dumbbell.rows import where_rows
from dumbbell.studies.definition import Study, metrics_in
from dumbbell.studies.display import cause_outcome, heading, measured, reference_lines
from dumbbell.studies.result import StudyResult, evaluate_study
from dumbbell.studies.running import parts_of, studies_of
from dumbbell.studies.verdicts import ClaimResult
from dumbbell.summary.cells import cells
from dumbbell.summary.sentences import sentences

_MOST_SENTENCES = 3


@dataclass(frozen=True)
class StudyView:
    """A study with what was run of it.

    Attributes:
        result: Its claims and tables.
        experiments: Part → id of its experiment in the store.
        sources: Part → its runs.
    """

    result: StudyResult
    experiments: Mapping[str, str]
    sources: Mapping[str, Source]

    @property
    def study(self) -> Study:
        """The study."""
        return self.result.study

    def answer(self) -> dict[str, Any]:
        """Cells beside what was published, those that differ most first; claims; figures."""
        study = self.study
        return {
            "study": study.study,
            "title": study.title,
            "question": study.question,
            "parts": {part: study.parts[part].title for part in self.result.parts},
            "cells": self._cells(),
            "claims": [_claim(one) for one in self.result.claims],
            "figures": [
                {"name": name, "title": one.title, "part": one.part, "caption": one.caption}
                for name, one in study.figures.items()
                if one.part in self.result.parts
            ],
        }

    def _cells(self) -> list[dict[str, Any]]:
        found = []
        for name, rows in self.result.tables.items():
            table = self.study.tables[name]
            for number, row in enumerate(rows):
                for column in table.columns:
                    published, ours = row.get(column), row.get(f"{column}_measured")
                    if not isinstance(published, (int, float)) or ours is None:
                        continue
                    found.append(
                        {
                            "table": name,
                            "row": number,
                            "part": table.part,
                            "where": [str(row[key]) for key in table.rows],
                            "keys": [heading(key) for key in table.rows],
                            "quantity": heading(column),
                            "column": column,
                            "published": published,
                            "measured": ours,
                            "low": row.get(f"{column}_low"),
                            "high": row.get(f"{column}_high"),
                            "difference": _difference(published, ours),
                        }
                    )
        return sorted(found, key=lambda one: -abs(one["difference"]))

    def why(self, table: str, number: int, column: str) -> dict[str, Any]:
        """Why a cell differs: claims about it with their causes, and what happened in it.

        Raises `DumbbellError` for a cell that is not there.
        """
        spec = self.study.tables.get(table)
        rows = self.result.tables.get(table, [])
        if spec is None or column not in spec.columns or not 0 <= number < len(rows):
            raise DumbbellError("no such cell in this study")
        levels = {**spec.columns[column].where, **self._levels(table, number)}
        results = self.result.parts[spec.part]
        where = {key: level for key, level in levels.items() if key in results.experiment.factors}
        own = results.with_tables(  # type: ignore[attr-defined]
            **{
                one: where_rows(getattr(results, one), where)
                for one in ("runs", "flows", "pipes", "transfers", "connections")
            }
        )
        runs = own.runs["run"].to_list()
        claims = [
            one
            for one in self.result.claims
            if one.claim.part == spec.part and any(_fits(case.where, levels) for case in one.cases)
        ]
        metric = set(metrics_in(spec.columns[column]))
        claims = [one for one in claims if metric & set(metrics_in(one.claim.quantity))] or claims
        figures = [name for name, figure in self.study.figures.items() if figure.part == spec.part]
        return {
            "levels": levels,
            "quantity": heading(column),
            "claims": [_claim(one) for one in claims],
            "sentences": sentences(own, cells(own), _MOST_SENTENCES) if runs else [],
            "experiment": self.experiments[spec.part],
            "runs": runs,
            "figures": figures,
        }

    def _levels(self, table: str, number: int) -> dict[str, str]:
        """Levels of a row of a table, as the experiment writes them."""
        spec = self.study.tables[table]
        if spec.published is not None:
            published = self.study.published(table)[number]
            return {factor: published[key] for key, factor in spec.rows.items()}
        row = self.result.tables[table][number]
        return {factor: str(row[key]) for key, factor in spec.rows.items()}

    def figure(self, name: str) -> Figure:
        """A figure of the study. Raises `DumbbellError` if it cannot be drawn."""
        spec = self.study.figures.get(name)
        if spec is None or spec.part not in self.result.parts:
            raise DumbbellError("no such figure in this study")
        try:
            return study_figure(self.study, spec, self.result.parts[spec.part])
        except ValueError as error:
            raise DumbbellError(f"figure {name}: {error}") from None


def study_view(sources: Sequence[tuple[str, str, Source]]) -> StudyView | None:
    """Study of some experiments (id, name, runs), the one run last first; None: of none."""
    experiments: dict[str, Any] = {}
    ids: dict[str, tuple[str, Source]] = {}
    for key, name, source in sources:
        if name not in ids and source.results.runs.height:
            ids[name], experiments[name] = (key, source), source.results
    for name in ids:
        for study in studies_of(name):
            parts, _ = parts_of(study, experiments)
            if parts:
                result = evaluate_study(study, parts)
                of = {part: ids[one.experiment.name] for part, one in parts.items()}
                return StudyView(
                    result,
                    {part: key for part, (key, _) in of.items()},
                    {part: source for part, (_, source) in of.items()},
                )
    return None


def _difference(published: float, ours: float) -> float:
    """Difference as a share of what was published; of the larger where that is 0."""
    if not math.isfinite(published) or not math.isfinite(ours):
        return 0.0
    size = abs(published) or abs(ours)
    return (ours - published) / size if size else 0.0


def _fits(where: Mapping[str, str], levels: Mapping[str, str]) -> bool:
    """Returns true if a case of a claim has the levels of a cell, as far as it names them."""
    common = set(where) & set(levels)
    return bool(common) and all(where[name] == levels[name] for name in common)


def _claim(result: ClaimResult) -> dict[str, Any]:
    found = result.to_json()
    return {
        "id": result.claim.id,
        "text": result.claim.text,
        "part": result.claim.part,
        "verdict": str(result.verdict),
        "measured": measured(found),
        "published": found["published"],
        "where": ", ".join(found["where"].values()),
        "note": result.note,
        "references": reference_lines(result),
        "causes": [
            {"text": one.cause.text, "outcome": cause_outcome(one), "shown": one.shown}
            for one in result.causes
        ],
    }
