"""Verdicts on claims."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from dumbbell.metrics.statistics import repeats_for
from dumbbell.studies.definition import (
    Cause,
    Claim,
    Expectation,
    PublishedColumns,
    PublishedRange,
    Study,
    StudyError,
)
from dumbbell.studies.quantities import Drawn, Source, evaluate

#: Share of draws in which an ordering must hold.
CERTAIN = 0.95

Published = float | tuple[float, float] | None


class Verdict(StrEnum):
    """Verdict on a claim."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    WITHIN_NOISE = "within noise"
    INCONSISTENT = "inconsistent in the source"


#: Verdicts of a case, from holding to failing.
_WORSE = (Verdict.REPRODUCED, Verdict.WITHIN_NOISE, Verdict.NOT_REPRODUCED)


@dataclass(frozen=True)
class Case:
    """One case of a claim: `where`, what was published and what was measured.

    `share`: share of draws in which the case holds. `distance`: how far it is from holding,
    the larger the worse, for choosing the case that decides.
    """

    where: dict[str, str]
    published: Published
    measured: Drawn
    verdict: Verdict
    share: float
    distance: float
    #: From the mean to where the verdict would be another.
    margin: float = math.nan
    #: What single runs show: the range that decides, for a claim of a single run.
    runs: tuple[float, float] | None = None
    #: Share of single repeats that would have shown what the claim says.
    share_of_runs: float = math.nan

    @property
    def repeats_needed(self) -> int | None:
        """Repeats with which the interval no longer reaches where the verdict would be another.

        None: no number is enough, or none is known.
        """
        found = self.measured.interval
        half = (found.high - found.low) / 2
        if not math.isfinite(half) or not math.isfinite(self.margin):
            return None
        if half == 0:
            return 2 if self.margin > 0 else None
        if self.margin < half * 1e-3:
            return None
        return repeats_for(half, found.count, self.margin)

    def to_json(self) -> dict[str, Any]:
        """Fields of the JSON output; NaN becomes null."""
        found = self.measured.interval
        return {
            "where": {name.lstrip("$"): level for name, level in self.where.items()},
            "verdict": str(self.verdict),
            "measured": finite(found.mean),
            "low": finite(found.low),
            "high": finite(found.high),
            "published": list(self.published)
            if isinstance(self.published, tuple)
            else self.published,
            "share_of_draws": round(self.share, 4),
            "share_of_runs": finite(self.share_of_runs),
            "runs_low": self.runs and finite(self.runs[0]),
            "runs_high": self.runs and finite(self.runs[1]),
            "repeats_needed": self.repeats_needed,
        }


@dataclass(frozen=True)
class CauseResult:
    """A candidate cause, and what becomes of the claim without it; None: it was not run."""

    cause: Cause
    #: Title of the part in which it is removed; "" in the claim's own.
    where: str
    without: ClaimResult | None

    @property
    def shown(self) -> bool:
        """True if the claim is reproduced where the candidate is removed."""
        return self.without is not None and self.without.verdict is Verdict.REPRODUCED

    def to_json(self) -> dict[str, Any]:
        """Fields of the JSON output."""
        found = self.without.to_json() if self.without else {}
        kept = {key: found.get(key) for key in ("verdict", "measured", "low", "high", "where")}
        return {"text": self.cause.text, "part": self.cause.part, "shown": self.shown, **kept}


@dataclass(frozen=True)
class ClaimResult:
    """A claim with its verdict; `deciding` is the case furthest from holding."""

    claim: Claim
    verdict: Verdict
    cases: list[Case]
    note: str
    causes: list[CauseResult] = field(default_factory=list)
    #: The same claim judged on the numbers of references, by their names.
    references: dict[str, ClaimResult] = field(default_factory=dict)
    #: Title of the reference that this is judged on, with its release; empty: our runs.
    origin: str = ""

    @property
    def repeats_short(self) -> int | None:
        """Repeats that would settle the case that decides, where there were fewer."""
        needed, had = self.deciding.repeats_needed, self.deciding.measured.count
        return needed if needed is not None and needed > had else None

    @property
    def deciding(self) -> Case:
        """The case furthest from holding."""
        return max(self.cases, key=lambda case: case.distance)

    def to_json(self) -> dict[str, Any]:
        """Fields of the JSON output: the deciding case stands for the claim."""
        worst = self.deciding.to_json()
        return {
            "id": self.claim.id,
            "text": self.claim.text,
            "verdict": str(self.verdict),
            "measured": worst["measured"],
            "low": worst["low"],
            "high": worst["high"],
            "published": worst["published"],
            "unit": self.claim.unit,
            "where": worst["where"],
            "note": self.note,
            "repeats_needed": worst["repeats_needed"],
            "cases": [case.to_json() for case in self.cases],
            "causes": [cause.to_json() for cause in self.causes],
            "references": {name: one.to_json() for name, one in self.references.items()},
        }


def finite(value: float) -> float | None:
    """The value, or None where JSON has no number for it."""
    return value if math.isfinite(value) else None


def judge(study: Study, claim: Claim, cells: Mapping[str, Source]) -> ClaimResult | None:
    """The verdict on a claim; None if none of its cases was run."""
    found: list[tuple[dict[str, str], Published, Drawn]] = []
    for number, where in enumerate(claim.each):
        drawn = evaluate(claim.quantity, where, claim.part, cells)
        if drawn is not None:
            found.append((where, _published(study, claim, number, where), drawn))
    if not found:
        return None
    cases = [
        case_of(claim.expect, where, published, drawn, of_cases=len(found))
        for where, published, drawn in found
    ]
    note = ""
    if len(cases) < len(claim.each):
        note = f"{len(cases)} of {len(claim.each)} cases were run"
    if min(case.measured.count for case in cases) < 2:
        note = "; ".join(filter(None, [note, "fewer than two repeats give no interval"]))
    if claim.expect.single_run and len(cases) > 1:
        inside = sum(case.verdict is Verdict.REPRODUCED for case in cases)
        note = "; ".join(filter(None, [note, f"{inside} of {len(cases)} lie where single runs do"]))
    verdict = _combined(claim, cases)
    if claim.inconsistent:
        verdict = Verdict.INCONSISTENT
        note = "; ".join(filter(None, [claim.inconsistent, note]))
    missed = verdict in (Verdict.NOT_REPRODUCED, Verdict.WITHIN_NOISE)
    causes = [_without(study, claim, cause, cells) for cause in claim.causes if missed]
    return ClaimResult(claim, verdict, cases, note, causes)


def _without(study: Study, claim: Claim, cause: Cause, cells: Mapping[str, Source]) -> CauseResult:
    """The claim judged where a candidate cause is removed."""
    part = cause.part or claim.part
    changed = {"part": part, "quantity": cause.quantity or claim.quantity, "causes": []}
    where = study.parts[part].title if cause.part else ""
    without = judge(study, claim.model_copy(update=changed), cells) if part in cells else None
    return CauseResult(cause, where, without)


def _combined(claim: Claim, cases: list[Case]) -> Verdict:
    verdicts = {case.verdict for case in cases}
    if (
        claim.expect.near
        or claim.expect.single_run
        or min(case.measured.count for case in cases) < 2
    ):
        for worst in (Verdict.NOT_REPRODUCED, Verdict.WITHIN_NOISE):
            if worst in verdicts:
                return worst
        return Verdict.REPRODUCED
    together = np.logical_and.reduce([_holds(claim.expect, case.measured.draws) for case in cases])
    return _by_share(float(together.mean()))


def _by_share(share: float) -> Verdict:
    if share >= CERTAIN:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if share <= 1 - CERTAIN else Verdict.WITHIN_NOISE


def case_of(
    expect: Expectation,
    where: dict[str, str],
    published: Published,
    drawn: Drawn,
    *,
    of_cases: int = 1,
) -> Case:
    """One case, judged; `of_cases`: how many are judged together."""
    if expect.near or expect.single_run:
        if not isinstance(published, (int, float)):
            raise StudyError(f"near needs one published number in case {where}")
        if expect.single_run:
            return _single_run(where, float(published), drawn, of_cases)
        return _near(expect, where, float(published), drawn)
    low, high = _bounds(expect)
    share = float(_holds(expect, drawn.draws).mean())
    verdict = _by_share(share) if drawn.count >= 2 else Verdict.WITHIN_NOISE
    margin = max(low - drawn.value, drawn.value - high)
    distance = _WORSE.index(verdict) * 1e6 + margin / (1 + abs(drawn.value))
    edge = min(abs(drawn.value - bound) for bound in (low, high))
    known = drawn.runs[np.isfinite(drawn.runs)]
    of_runs = float(_holds(expect, known).mean()) if known.size else math.nan
    found = Case(where, published, drawn, verdict, share, distance, edge)
    return replace(found, share_of_runs=of_runs)


def _single_run(where: dict[str, str], published: float, drawn: Drawn, of_cases: int) -> Case:
    """A published run among ours: in ranges that hold all cases together with 95 %.

    Bonferroni: each case may be wrong with a share of what all together may.
    """
    runs = drawn.single_runs(1 - (1 - CERTAIN) / of_cases)
    if runs is None:
        return Case(where, published, drawn, Verdict.WITHIN_NOISE, math.nan, math.inf)
    low, high = runs
    inside = low <= published <= high
    middle = float(np.median(drawn.runs[np.isfinite(drawn.runs)]))
    half = (high - middle) if published > middle else (middle - low)
    distance = abs(published - middle) / (half or 1.0)
    verdict = Verdict.REPRODUCED if inside else Verdict.NOT_REPRODUCED
    return Case(where, published, drawn, verdict, float(inside), distance, runs=runs)


def _bounds(expect: Expectation) -> tuple[float, float]:
    """The values that a claim allows, ends excluded unless a range is given."""
    if expect.between is not None:
        low, high = expect.between
        return low - expect.tolerance_around(low), high + expect.tolerance_around(high)
    low = -math.inf if expect.above is None else expect.above
    high = math.inf if expect.below is None else expect.below
    return low, high


def _holds(expect: Expectation, draws: np.ndarray) -> np.ndarray:
    low, high = _bounds(expect)
    if expect.between is not None:
        return np.asarray((draws >= low) & (draws <= high))
    return np.asarray((draws > low) & (draws < high))


def _near(expect: Expectation, where: dict[str, str], published: float, drawn: Drawn) -> Case:
    tolerance = expect.tolerance_around(published)
    found = drawn.interval
    low, high = found.widened(tolerance)
    slack = 1e-9 * max(1.0, abs(published))  # rounding of means
    inside = low - slack <= published <= high + slack
    share = float((np.abs(drawn.draws - published) <= tolerance).mean())
    distance = abs(found.mean - published) / (tolerance or 1.0)
    verdict = Verdict.REPRODUCED if inside else Verdict.NOT_REPRODUCED
    if found.count < 2 or (inside and _too_wide(expect, published, drawn)):
        verdict = Verdict.WITHIN_NOISE
    if math.isnan(found.mean):
        verdict, distance = Verdict.WITHIN_NOISE, math.inf
    margin = abs(tolerance - abs(found.mean - published))
    return Case(where, published, drawn, verdict, share, distance, margin)


def _too_wide(expect: Expectation, published: float, drawn: Drawn) -> bool:
    """Returns true if the interval holds both the published value and its opposite."""
    found = drawn.interval
    if expect.opposite is not None:
        return found.low <= expect.opposite <= found.high
    return (found.high - found.low) / 2 > max(expect.tolerance_around(published), 1e-9)


def _published(study: Study, claim: Claim, number: int, where: Mapping[str, str]) -> Published:
    value = claim.published
    if isinstance(value, list):
        return value[number]
    if isinstance(value, PublishedRange):
        return value.range
    if not isinstance(value, PublishedColumns):
        return value
    keys = study.tables[value.table].rows
    for row in study.published(value.table):
        if all(row[column] == where.get(factor) for column, factor in keys.items()):
            over = float(row[value.over]) if value.over else 1.0
            return float(row[value.column]) / over if over else math.inf
    raise StudyError(f"claim {claim.id}: {value.table} has no row for {dict(where)}")
