"""Studies as tables for a terminal. Nothing is printed here: the caller has the console."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rich.console import JustifyMethod, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from dumbbell.agreement import CRITERIA, Agreement, AgreementCell, Comparison
from dumbbell.studies.definition import Study
from dumbbell.studies.result import StudyResult
from dumbbell.studies.tables import Row
from dumbbell.studies.verdicts import ClaimResult, Verdict

_STYLE = {
    Verdict.REPRODUCED: ("✓", "green"),
    Verdict.NOT_REPRODUCED: ("✗", "red"),
    Verdict.WITHIN_NOISE: ("~", "yellow"),
    Verdict.INCONSISTENT: ("!", "magenta"),
}


def number(value: object) -> str:
    """A number with three to four significant digits, thousands apart; `–` for none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if not isinstance(value, (int, float)):
        return str(value)
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}".replace(",", "\u202f")
    if value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if size >= 100 else f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def with_error(value: float, half: float) -> str:
    """A value with half the width of its interval, to the same decimal place: `98.5 ± 0.3`."""
    if half <= 0 or half < abs(value) * 5e-5:
        return number(value)
    places = max(0, min(4, 1 - math.floor(math.log10(half))))
    if abs(value) >= 1000:
        return f"{number(value)} ± {number(math.ceil(half))}"
    places = min(places, 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 4)
    return f"{value:.{places}f} ± {max(half, 10**-places):.{places}f}"


def heading(column: str) -> str:
    """The name of a column in words: `goodput_mbps` → `goodput (Mbit/s)`."""
    known = {"mbps": "(Mbit/s)", "percent": "(%)", "ms": "(ms)", "sack": "SACK", "rtt": "RTT"}
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
    if result.agreement is not None:
        yield agreement_table(result.agreement)
        yield agreement_line(result.agreement)


def study_table(study: Study, name: str, rows: list[Row]) -> RichTable:
    """A table of the study: published beside measured with its interval."""
    table = RichTable(title=study.tables[name].title, title_justify="left", title_style="bold")
    plain = [c for c in rows[0] if not c.endswith(("_measured", "_low", "_high"))]
    measured = [c.removesuffix("_measured") for c in rows[0] if c.endswith("_measured")]
    columns = [*plain, *(c for c in measured if c not in plain)]
    keys = set(study.tables[name].rows)
    for column in columns:
        justify: JustifyMethod = "left" if column in keys else "right"
        if column in plain:
            name = heading(column)
            label = name if column in keys or column not in measured else f"{name}\npublished"
            table.add_column(label, justify=justify)
        if column in measured:
            label = "\nmeasured" if column in plain else heading(column)
            table.add_column(label, justify="right", style="bold")
    for row in rows:
        cells: list[str] = []
        for column in columns:
            if column in plain:
                cells.append(number(row[column]))
            if column in measured:
                cells.append(_with_interval(row, column))
        table.add_row(*cells)
    return table


def _with_interval(row: Row, column: str) -> str:
    value, low, high = (row[f"{column}_{end}"] for end in ("measured", "low", "high"))
    if value is None or low is None:
        return number(value)
    return with_error(value, max(high - value, value - low))


def claims_table(claims: list[ClaimResult]) -> RichTable:
    """The claims with verdicts; numbers are of the case that decides."""
    table = RichTable(title="Claims", title_justify="left", title_style="bold")
    for column in ("id", "claim", "verdict"):
        table.add_column(column, overflow="fold")
    table.add_column("published", justify="right")
    table.add_column("measured", justify="right")
    for result in claims:
        sign, style = _STYLE[result.verdict]
        found = result.to_json()
        where = ", ".join(found["where"].values())
        text = Text(result.claim.text)
        if where and len(result.cases) > 1:
            text.append(f"  [{where}]", style="dim")
        if result.note:
            text.append(f"\n{result.note}", style="dim")
        published = found["published"]
        ends = published if isinstance(published, list) else [published]
        shown = " to ".join(map(number, ends))
        table.add_row(
            result.claim.id, text, Text(f"{sign} {result.verdict}", style), shown, measured(found)
        )
    return table


def measured(found: Row) -> str:
    """Measured value of a claim with its interval and unit."""
    text = number(found["measured"])
    if found["low"] is not None and found["high"] > found["low"]:
        text += f" [{number(found['low'])}, {number(found['high'])}]"
    return f"{text} {found['unit']}".strip()


def claims_line(claims: list[ClaimResult]) -> Text:
    """How many claims have which verdict."""
    line = Text()
    for verdict, (sign, style) in _STYLE.items():
        count = sum(claim.verdict is verdict for claim in claims)
        if count:
            line.append(f"{sign} {count} {verdict}   ", style)
    return line


def agreement_table(agreement: Agreement) -> RichTable:
    """Ours beside the reference, one row per cell and flow, largest difference first."""
    title = f"Ours / {agreement.reference}, furthest apart first"
    table = RichTable(title=title, title_justify="left", title_style="bold")
    table.add_column("cell", no_wrap=True)
    table.add_column("flow")
    for criterion in CRITERIA:
        label = f"{criterion.label}\n{criterion.words}"
        table.add_column(label, justify="right")
    table.add_column("distance", justify="right")
    for cell in agreement.cells:
        for row in _agreement_rows(cell):
            table.add_row(*row)
    return table


def _agreement_rows(cell: AgreementCell) -> Iterable[list[Text]]:
    style = "green" if cell.agrees else "red"
    if cell.missing:
        blank = [Text("–")] * len(CRITERIA)
        yield [Text(cell.name, style), Text(), *blank, Text("not run", style)]
        return
    flows: dict[str, dict[str, Comparison]] = {}
    for one in cell.comparisons:
        flows.setdefault(one.flow, {})[one.criterion.column] = one
    for place, (flow, found) in enumerate(flows.items()):
        cells = [_pair(found.get(criterion.column)) for criterion in CRITERIA]
        cc = next(iter(found.values())).cc.partition(":")[0]
        name = Text(cell.name if place == 0 else "", style)
        distance = Text(number(cell.distance) if place == 0 else "", style)
        yield [name, Text(f"{flow} {cc}"), *cells, distance]


def _pair(one: Comparison | None) -> Text:
    if one is None:
        return Text("")
    text = f"{number(one.ours)} / {number(one.reference)}"
    return Text(text, "" if one.agrees else "bold red")


def agreement_line(agreement: Agreement) -> Text:
    """Share of cells that agree."""
    count = sum(cell.agrees for cell in agreement.cells)
    style = "bold green" if agreement.share >= 0.9 else "bold yellow"
    words = f"{count} of {len(agreement.cells)} cells agree ({agreement.share:.1%})"
    return Text(words, style)


def studies_table(studies: list[Study]) -> RichTable:
    """The studies that there are."""
    table = RichTable()
    for column in ("study", "title", "parts"):
        table.add_column(column)
    for study in studies:
        table.add_row(study.study, study.title, "\n".join(study.parts))
    return table
