"""Tables of a study and of its agreement with a reference."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.compare.agreement import Agreement, AgreementCell, Criterion
from dumbbell.console.words import many
from dumbbell.face.markup import Markup, details, joined, table, tag
from dumbbell.figures.theme import NAMES
from dumbbell.metrics import METRICS
from dumbbell.metrics.numbers import number, with_interval
from dumbbell.studies.definition import Study
from dumbbell.studies.display import heading
from dumbbell.studies.tables import Row, outside_single_runs

_OPEN_ROWS = 12


def study_table(study: Study, name: str, rows: list[Row]) -> Markup:
    """A table of the study; long ones open on demand."""
    plain = [c for c in rows[0] if not c.endswith(("_measured", "_low", "_high"))]
    ours = [c.removesuffix("_measured") for c in rows[0] if c.endswith("_measured")]
    keys = list(study.tables[name].rows)
    columns = [*plain, *(c for c in ours if c not in plain)]
    head: list[Markup] = []
    for column in columns:
        published = column in plain and column in ours
        note = tag("span", "published", class_="pub")
        label = tag("span", heading(column))
        if column not in plain:
            metric = study.tables[name].columns[column].metric
            label = tag("span", METRICS[metric].axis if metric else heading(column))
        if column in plain:
            head.append(joined([label, tag("br"), note]) if published else label)
        if column in ours:
            head.append(tag("span", "measured") if published else label)
    body = [_cells(row, columns, plain, ours) for row in rows]
    drawn = table(head, body, left=len(keys))
    title = study.tables[name].title
    if len(rows) > _OPEN_ROWS:
        return details(f"{title} ({len(rows)} rows)", drawn)
    return joined([tag("h3", title), drawn])


def _cells(row: Row, columns: list[str], plain: list[str], ours: list[str]) -> list[Markup]:
    cells: list[Markup] = []
    for column in columns:
        if column in plain:
            cells.append(_plain(row, column, published=column in ours))
        if column in ours:
            cells.append(_measured(row, column))
    return cells


def _plain(row: Row, column: str, *, published: bool) -> Markup:
    value = NAMES.get(row[column], row[column])
    if not published:
        return tag("span", number(value))
    if outside_single_runs(row, column):
        title = "outside the central 95 % of our single runs"
        return tag("span", f"{number(value)} ✗", class_="pub differs", title=title)
    return tag("span", number(value), class_="pub")


def _measured(row: Row, column: str) -> Markup:
    value, low, high = (row[f"{column}_{end}"] for end in ("measured", "low", "high"))
    if value is None or low is None:
        return tag("b", number(value))
    shown, sign, half = with_interval(value, low, high).partition(" ± ")
    title = f"95 % interval {number(low)} to {number(high)}"
    if row.get(f"{column}_runs_low") is not None:
        ends = (number(row[f"{column}_runs_{end}"]) for end in ("low", "high"))
        title += f"; single runs {' to '.join(ends)}"
    error = [tag("span", f" ± {half}", class_="plusminus")] if sign else []
    return tag("span", tag("b", shown), *error, title=title)


def agreement_section(agreement: Agreement, title: str) -> Markup:
    """Ours beside the reference, cell by cell, largest difference first."""
    count = sum(cell.agrees for cell in agreement.cells)
    cells = many(len(agreement.cells), "cell")
    words = f"{count} of {cells} agree with {title} ({agreement.share:.1%}). "
    rule = (
        "A cell agrees if for each flow "
        + ", ".join(f"{one.label} lies {one.words}" for one in agreement.criteria)
        + "; where the reference's own seeds spread wider, inside their range widened by a tenth."
    )
    head = ["cell", "flow", *(one.label for one in agreement.criteria), "distance"]
    rows = [row for cell in agreement.cells for row in _agreement_rows(cell, agreement.criteria)]
    note = "Ours / reference, furthest apart first; a distance of 1 is the edge of what agrees."
    drawn = table(head, rows, left=2)
    return joined(
        [tag("p", words, rule), details("All cells", tag("p", note), drawn, open_=count == 0)]
    )


def _agreement_rows(cell: AgreementCell, criteria: Sequence[Criterion]) -> list[list[Markup]]:
    name = tag("span", cell.name, class_="agrees" if cell.agrees else "differs")
    if cell.missing:
        return [[name, tag("span", "not run"), *[Markup("")] * (len(criteria) + 1)]]
    flows: dict[str, dict[str, Markup]] = {}
    for one in cell.comparisons:
        shown = f"{number(one.ours)} / {number(one.reference)}"
        found = tag("span", shown, class_=None if one.agrees else "differs")
        flows.setdefault(one.flow, {})[one.criterion.column] = found
    rows = []
    for place, (flow, values) in enumerate(flows.items()):
        cells = [values.get(one.column, Markup("")) for one in criteria]
        first = place == 0
        distance = tag("span", number(cell.distance) if first else "")
        rows.append([name if first else Markup(""), tag("span", flow), *cells, distance])
    return rows
