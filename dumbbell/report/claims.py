"""Claims with verdicts, published beside measured."""

from __future__ import annotations

import math
from collections.abc import Iterable

from dumbbell.face.markup import Markup, details, joined, table, tag
from dumbbell.figures.theme import NAMES
from dumbbell.metrics.numbers import number
from dumbbell.studies.display import cause_outcome, measured, reference_lines, single_runs
from dumbbell.studies.result import StudyResult
from dumbbell.studies.verdicts import Case, CauseResult, ClaimResult, Verdict

SIGNS = {
    Verdict.REPRODUCED: "✓",
    Verdict.NOT_REPRODUCED: "✗",
    Verdict.WITHIN_NOISE: "~",
    Verdict.INCONSISTENT: "!",
}
_WIDTH, _EDGE = 340.0, 30.0


def verdict_class(verdict: Verdict) -> str:
    """Class of a verdict in the style sheet."""
    return str(verdict).replace(" ", "-")


def pills(result: StudyResult) -> Markup:
    """Number of claims by verdict."""
    items = []
    for verdict, sign in SIGNS.items():
        count = sum(claim.verdict is verdict for claim in result.claims)
        if count:
            name = f"pill {verdict_class(verdict)}"
            items.append(tag("li", f"{sign} {count} {verdict}", class_=name))
    return tag("ul", *items, class_="pills") if items else Markup("")


def claims_section(claims: Iterable[ClaimResult]) -> Markup:
    """All claims of a part, one below the other."""
    return joined(_claim(claim) for claim in claims)


def _claim(result: ClaimResult) -> Markup:
    name = verdict_class(result.verdict)
    found = result.to_json()
    unit = f" {result.claim.unit}" if result.claim.unit else ""
    values = [tag("span", "measured ", tag("b", measured(found)))]
    if found["published"] is not None:
        values.append(tag("span", "published ", tag("b", _published(result.deciding) + unit)))
    place = _where(result.deciding)
    if place and len(result.cases) > 1:
        values.append(tag("span", f"at {place}, the case that decides"))
    runs = single_runs(result.deciding)
    if runs:
        values.append(tag("span", runs))
    if result.repeats_short:
        values.append(tag("span", f"{result.repeats_short} repeats would settle it"))
    if result.claim.source:
        values.append(tag("span", f"source: {result.claim.source}"))
    body = [
        tag("p", result.claim.text),
        tag("p", f"{SIGNS[result.verdict]} {result.verdict}", class_=f"verdict {name}"),
        tag("div", *values, class_="values"),
    ]
    if result.note:
        body.append(tag("p", result.note[0].upper() + result.note[1:], ".", class_="faint"))
    for line in reference_lines(result):
        body.append(tag("p", f"Reference {line}.", class_="faint"))
    if result.causes:
        body.append(tag("ul", *map(_cause, result.causes), class_="causes"))
    body.append(_strip(result))
    if len(result.cases) > 1:
        body.append(details(f"All {len(result.cases)} cases", _cases(result)))
    identity = f"claim-{result.claim.id}"
    return tag(
        "article",
        tag("div", result.claim.id, class_="id"),
        tag("div", *body),
        class_="claim",
        id=identity,
    )


def _cause(result: CauseResult) -> Markup:
    label = "Cause" if result.shown else "Not the cause"
    if result.without is None:
        label = "Not tried"
    name = "shown" if result.shown else "faint"
    return tag(
        "li",
        tag("b", f"{label}: "),
        result.cause.text,
        tag("span", " " + cause_outcome(result)),
        class_=name,
    )


def _where(case: Case) -> str:
    return ", ".join(NAMES.get(level, level) for level in case.where.values())


def _published(case: Case) -> str:
    if isinstance(case.published, tuple):
        return " to ".join(map(number, case.published))
    return number(case.published)


def _cases(result: ClaimResult) -> Markup:
    unit = f" ({result.claim.unit})" if result.claim.unit else ""
    single = result.claim.expect.single_run
    ends = ["runs from", "to"] if single else ["95 % from", "to"]
    head = ["case", f"measured{unit}", *ends, "published", "verdict"]
    rows = []
    for case in result.cases:
        found = case.measured.interval
        low, high = (found.low, found.high) if case.runs is None else case.runs
        verdict = tag("span", str(case.verdict), class_=verdict_class(case.verdict))
        rows.append(
            [
                _where(case),
                number(found.mean),
                number(low),
                number(high),
                _published(case),
                verdict,
            ]
        )
    return table(head, rows)


def _strip(result: ClaimResult) -> Markup:
    """The deciding case as a line: our interval, and what was published or bounds the claim."""
    case, expect = result.deciding, result.claim.expect
    found = case.measured.interval
    low, high = found.widened(0.0)
    marks: list[float] = []
    band: tuple[float, float] | None = None
    if expect.near and isinstance(case.published, (int, float)):
        room = expect.tolerance_around(case.published)
        marks = [case.published]
        band = (case.published - room, case.published + room)
    elif expect.single_run and case.runs and isinstance(case.published, (int, float)):
        marks, band = [case.published], case.runs
    elif expect.between is not None:
        marks = list(expect.between)
        band = (marks[0], marks[1])
    else:
        bound = expect.above if expect.above is not None else expect.below
        marks = [bound] if bound is not None else []
    values = [low, high, *marks, *(band or ())]
    if not all(map(math.isfinite, values)) or max(values) == min(values):
        return Markup("")
    return _drawing(result, (low, found.mean, high), marks, band, (min(values), max(values)))


def _drawing(
    result: ClaimResult,
    ours: tuple[float, float, float],
    marks: list[float],
    band: tuple[float, float] | None,
    ends: tuple[float, float],
) -> Markup:
    def at(value: float) -> float:
        return round(_EDGE + (value - ends[0]) / (ends[1] - ends[0]) * (_WIDTH - 2 * _EDGE), 1)

    low, mean, high = map(at, ours)
    parts = [tag("line", x1=0, x2=_WIDTH, y1=14, y2=14, class_="axis")]
    if band is not None:
        left, right = at(band[0]), at(band[1])
        parts.append(
            tag("rect", x=left, y=4, width=max(right - left, 0.5), height=20, class_="band")
        )
    for mark in marks:
        parts.append(tag("line", x1=at(mark), x2=at(mark), y1=3, y2=25, class_="published"))
        parts.append(tag("text", number(mark), x=at(mark), y=38, text_anchor="middle"))
    parts.append(tag("line", x1=low, x2=high, y1=14, y2=14, class_="range"))
    parts.append(tag("circle", cx=mean, cy=14, r=4.5, class_="mean"))
    label = "Our interval, and the published value with its tolerance or the bound of the claim"
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {_WIDTH:.0f} 42",
        width=f"{_WIDTH:.0f}",
        height="42",
        role="img",
        aria_label=label,
        class_=verdict_class(result.verdict),
    )
