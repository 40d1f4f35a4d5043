"""Studies as tables for a terminal. Nothing is printed here: the caller has the console."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import JustifyMethod, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from dumbbell.metrics.numbers import number, with_interval
from dumbbell.studies.agreement_display import AgreementTable, agreement_line
from dumbbell.studies.definition import Study
from dumbbell.studies.quantities import ENOUGH_RUNS
from dumbbell.studies.result import StudyResult
from dumbbell.studies.tables import Row, outside_single_runs
from dumbbell.studies.verdicts import Case, CauseResult, ClaimResult, Verdict

_STYLE = {
    Verdict.REPRODUCED: ("✓", "green"),
    Verdict.NOT_REPRODUCED: ("✗", "red"),
    Verdict.WITHIN_NOISE: ("~", "yellow"),
    Verdict.INCONSISTENT: ("!", "magenta"),
}


def heading(column: str) -> str:
    """The name of a column in words: `goodput_mbps` → `goodput (Mbit/s)`."""
    known = {"mbps": "(Mbit/s)", "kbps": "(kbit/s)", "percent": "(%)", "ms": "(ms)", "s": "(s)"}
    known |= {"sack": "SACK", "rtt": "RTT"}
    known |= {"cc": "algorithm", "tcp": "TCP", "udp": "UDP", "cwnd": "window", "acks": "ACKs"}
    return " ".join(known.get(word, word) for word in column.split("_"))


def renderables(result: StudyResult) -> Iterable[RenderableType]:
    """Everything that a study's run has to show, in order."""
    for name, rows in result.tables.items():
        if rows:
            yield study_table(result.study, name, rows)
    if result.claims:
        yield claims_table(result.claims)
        yield claims_line(result.claims)
        yield from repeats_line(result.claims)
    if result.agreement is not None:
        yield AgreementTable(result.agreement)
        yield agreement_line(result.agreement)


def study_table(study: Study, name: str, rows: list[Row]) -> RichTable:
    """A table of the study: measured with its interval, what was published in brackets."""
    title = study.tables[name].title
    plain = [c for c in rows[0] if not c.endswith(("_measured", "_low", "_high"))]
    ours = [c.removesuffix("_measured") for c in rows[0] if c.endswith("_measured")]
    keys = list(study.tables[name].rows)
    columns = [*plain, *(c for c in ours if c not in plain)]
    if set(plain) - set(keys):
        title += "; published in brackets"
    if any(outside_single_runs(row, column) for row in rows for column in ours):
        title += ", ✗ outside the central 95 % of our single runs"
    table = RichTable(title=title, title_justify="left", title_style="bold")
    table.box, table.padding, table.pad_edge = SIMPLE_HEAD, (0, 1, 0, 0), False
    for column in columns:
        justify: JustifyMethod = "left" if column in keys else "right"
        table.add_column(heading(column), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row, column, plain, ours) for column in columns))
    return table


def _cell(row: Row, column: str, plain: list[str], ours: list[str]) -> Text:
    if column not in ours:
        return Text(_digits(number(row[column])))
    text = Text(_digits(_with_interval(row, column)), "bold")
    if column in plain:
        sign = " ✗" if outside_single_runs(row, column) else ""
        text.append(f"\n({_digits(number(row[column]))}{sign})", "not bold dim")
    return text


def _digits(text: str) -> str:
    """The text without the thin spaces of thousands, at which a terminal would break lines."""
    return text.replace("\u202f", "")


def _with_interval(row: Row, column: str) -> str:
    return with_interval(*(row[f"{column}_{end}"] for end in ("measured", "low", "high")))


def claims_table(claims: list[ClaimResult]) -> RichTable:
    """The claims with verdicts; numbers are of the case that decides."""
    table = RichTable.grid(padding=(0, 2, 1, 0))
    table.title, table.title_justify, table.title_style = "Claims", "left", "bold"
    table.add_column(no_wrap=True)
    table.add_column()
    for result in claims:
        sign, style = _STYLE[result.verdict]
        found = result.to_json()
        text = Text(result.claim.text)
        text.append(f"\n{result.verdict}", style)
        text.append(f"  measured {measured(found)}", "bold")
        if found["published"] is not None:
            ends = found["published"] if isinstance(found["published"], list) else None
            ends = ends or [found["published"]]
            text.append(f", published {' to '.join(map(number, ends))}")
        where = ", ".join(found["where"].values())
        if where and len(result.cases) > 1:
            text.append(f" ({where} decides)", "dim")
        runs = single_runs(result.deciding)
        if runs:
            text.append(f"\n{runs}", "dim")
        if result.note:
            text.append(f"\n{result.note}", "dim")
        for line in reference_lines(result):
            text.append(f"\n{line}", "dim")
        for cause in result.causes:
            text.append(f"\n{cause_sign(cause)} ", "green" if cause.shown else "dim")
            text.append(cause.cause.text, "dim")
            text.append(f" {cause_outcome(cause)}", "" if cause.shown else "dim")
        table.add_row(Text(f"{sign} {result.claim.id}", style), text)
    return table


def single_runs(case: Case) -> str:
    """Words about what single runs show; empty where that is not known."""
    if case.runs is not None:
        return f"single runs: {number(case.runs[0])} to {number(case.runs[1])}"
    if math.isfinite(case.share_of_runs) and len(case.measured.runs) >= ENOUGH_RUNS:
        return f"one run alone shows it in {case.share_of_runs:.0%} of {len(case.measured.runs)}"
    return ""


def reference_lines(result: ClaimResult) -> list[str]:
    """Verdicts of the references: `kernel (Linux 6.1 …) agrees: not reproduced, 96.2 ms`."""
    lines = []
    for name, one in result.references.items():
        found = measured(one.to_json())
        named = f"{name} ({one.origin})" if one.origin else name
        if one.verdict is Verdict.INCONSISTENT:
            lines.append(f"{named}: {found}")
            continue
        same = "agrees" if one.verdict is result.verdict else "differs"
        lines.append(f"{named} {same}: {one.verdict}, {found}")
    return lines


def cause_sign(cause: CauseResult) -> str:
    """Marks a cause that is shown, and a candidate that is not."""
    return "↳" if cause.shown else "·"


def cause_outcome(cause: CauseResult) -> str:
    """Verdict on the claim without the candidate cause."""
    if cause.without is None:
        return f"Not run: part {cause.cause.part}."
    found = cause.without.to_json()
    outcome = "reproduced" if cause.shown else f"still {cause.without.verdict}"
    place = f"{cause.where}: " if cause.where else ""
    return f"{place}{outcome}, {measured(found)}."


def measured(found: Row) -> str:
    """Measured value of a claim with its interval and unit."""
    text = number(found["measured"])
    if found["low"] is not None and found["high"] > found["low"]:
        text += f" [{number(found['low'])}, {number(found['high'])}]"
    return f"{text} {found['unit']}".strip()


def claims_line(claims: list[ClaimResult]) -> Text:
    """Number of claims by verdict."""
    line = Text()
    for verdict, (sign, style) in _STYLE.items():
        count = sum(claim.verdict is verdict for claim in claims)
        if count:
            line.append(f"{sign} {count} {verdict}   ", style)
    return line


def repeats_line(claims: list[ClaimResult]) -> Iterable[Text]:
    """Claims whose verdict hangs on the number of repeats, if there are any."""
    short = [(claim.claim.id, claim.repeats_short) for claim in claims if claim.repeats_short]
    if short:
        words = ", ".join(f"{identity} ({count})" for identity, count in short)
        yield Text(f"More repeats would settle: {words}", "dim")


def studies_table(studies: list[Study]) -> RichTable:
    """The studies that there are."""
    table = RichTable()
    for column in ("study", "title", "parts"):
        table.add_column(column)
    for study in studies:
        parts = [name for name, part in study.parts.items() if not part.is_variant]
        variants = [name for name, part in study.parts.items() if part.is_variant]
        text = Text("\n".join(parts))
        text.append("".join(f"\n{name} (variant)" for name in variants), "dim")
        table.add_row(study.study, study.title, text)
    return table
