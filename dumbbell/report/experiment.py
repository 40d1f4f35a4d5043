"""The page of an experiment that belongs to no study: what happened, over time and across cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from dumbbell.console.words import left_out, many
from dumbbell.errors import shortened
from dumbbell.face.markup import Markup, details, joined, table, tag
from dumbbell.face.page import chart_page, framed
from dumbbell.figures import Figure, plot
from dumbbell.figures.across import across
from dumbbell.figures.figure import unchecked
from dumbbell.metrics import METRICS, Tables
from dumbbell.metrics.arrivals import processes
from dumbbell.report.measured import measured_files
from dumbbell.report.parts import closing, navigation, topologies, warning
from dumbbell.report.programs import programs_part
from dumbbell.report.setup import setup
from dumbbell.scenario import read_scenario
from dumbbell.summary import changes, outages, overview, per_cell
from dumbbell.summary import load as load_summary
from dumbbell.summary import pages as page_summary
from dumbbell.summary.cells import CellLine, cells
from dumbbell.summary.sentences import sentences
from dumbbell.vega.drawing import Drawer

#: The field of a file: its first line, and those that are indented below.
_DESCRIPTION = re.compile(r"^description: .+(?:\n[ \t]+.*)*", re.MULTILINE)
#: Comment of a page of documentation with the name of a file.
_FILE_NAME = re.compile(r"# file: \S+")
#: Metrics whose definitions the page gives.
_METRICS = (
    "goodput_mbps",
    "rtt_mean_ms",
    "srtt_mean_ms",
    "retransmissions",
    "utilisation",
    "link_jain",
)
_MOST_ROWS, _MOST_CELL_ROWS = 400, 60
#: Cells whose table is open; rows of one that is open before the tables of applications.
_OPEN_CELLS, _OPEN_ROWS = 12, 30
#: Cells that are drawn over time, and that are so without a click.
_MOST_OVER_TIME, _SHOWN_OVER_TIME = 24, 2
#: Cells that are drawn under load.
_MOST_UNDER_LOAD = 6
_MOST_FINDINGS = 6
#: Metrics that are drawn against the factors, where they apply.
_COMPARED = ("goodput_mbps", "srtt_mean_ms", "rtt_mean_ms", "page_load_s", "fct_median_ms")


@dataclass(frozen=True)
class _Drawn:
    """A figure of the page; `svg`: its drawing, begun in the background."""

    figure: Figure
    name: str
    svg: Future[str] | None
    static: bool = True

    def framed(self, *, titled: bool = True) -> Markup:
        """The figure, with its title or without."""
        svg = self.svg.result() if self.svg else None
        chart = framed(self.figure, self.name, svg, static=self.static)
        return tag("figure", *([tag("h3", self.figure.title)] if titled else []), chart)


class _Figures:
    """Draws figures; those that the tables do not allow are left out."""

    def __init__(self, results: Tables, drawer: Drawer | None) -> None:
        self._results = results
        self._drawer = drawer
        self._count = 0

    def drawn(self, kind: str, *, static: bool = True, **options: Any) -> list[_Drawn]:
        """The figure of this kind, if it can be drawn."""
        return self.made(lambda: plot(self._results, kind, **options), static=static)

    def made(self, make: Callable[[], Figure], *, static: bool = True) -> list[_Drawn]:
        """The figure, if it can be drawn."""
        try:
            with unchecked():
                figure = make()
        except ValueError:
            return []
        self._count += 1
        begun = figure.begin(self._drawer) if static and self._drawer else None
        return [_Drawn(figure, f"chart-{self._count}", begun, static)]


def experiment_page(
    results: Tables,
    drawer: Drawer | None = None,
    packets: Sequence[Markup] = (),
    notes: Sequence[str] = (),
) -> str:
    """The report of an experiment from its tables; with a `drawer` figures are drawn meanwhile.

    `packets`: Links to animations of its runs; `notes`: what its store lacks.
    """
    figures = _Figures(results, drawer)
    every = cells(results)
    over_time = _over_time(figures, every)
    compared = _compared(figures, results)
    under_load = _under_load(figures, results)
    comparison = ("Comparison" if len(every) > 1 else "Delay", [one.framed() for one in compared])
    many = len(every) > _OPEN_CELLS  # whose table is folded: figures tell first what happened
    parts = {
        "programs": ("Programs", programs_part(results)),
        "tables": ("Applications", [*_pages(results), *under_load]),
        **({"comparison": comparison} if many else {}),
        "over-time": ("Over time", [_shown(*one) for one in over_time]),
        "packets": ("Packets", list(packets)),
        "comparison": comparison,
    }
    parts = {place: part for place, part in parts.items() if part[1]}
    named = {place: title for place, (title, _) in parts.items()}
    networks, files = topologies({"": results}), measured_files(results)
    closing_places = {
        **({"testbed": "Network"} if networks else {}),
        **({"measured": "Measured files"} if files else {}),
        "method": "Method",
        "provenance": "Provenance",
    }
    body = [
        *warning(notes),
        tag("p", _description(results), class_="lead"),
        tag("p", setup(results), " ", tag("span", _ran(results), class_="faint"), class_="setup"),
        navigation({"results": "Results", **named, **closing_places, "files": "Experiment files"}),
        tag("h2", "Results", id="results", class_="first"),
        _told(results, every),
        *_changes(results, every),
        *_outages(results),
        *_each_cell(results, every),
        *_overview(results, every, folded=bool(parts.get("tables"))),
    ]
    for place, (title, content) in parts.items():
        body += [tag("h2", title, id=place), *content]
    if networks:
        body += [tag("h2", "Network", id="testbed"), *networks]
    if files:
        body += [tag("h2", "Measured files", id="measured"), *files]
    body += closing(_applying(results), {results.experiment.name: results}, verdicts=False)
    return chart_page(results.experiment.name, joined(body))


def _description(results: Tables) -> str:
    """Description in the experiment's file, or the comment at its beginning."""
    text = str(getattr(results.experiment, "yaml", ""))
    words = []
    if found := _DESCRIPTION.search(text):
        return " ".join(found[0].split()).partition(": ")[2].removeprefix(">- ").strip("\"'")
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if not _FILE_NAME.fullmatch(line):
            words.append(line.lstrip("# "))
    return " ".join(words).replace("`", "")


def _ran(results: Tables) -> str:
    runs, factors = results.runs, list(results.experiment.factors)
    count = runs.select(factors).unique().height if factors else 1
    repeats = runs["repeat"].n_unique()
    engines = " and ".join(sorted(runs["engine"].unique().to_list()))
    lengths = [read_scenario(one)["duration_ns"] * 1e-9 for one in runs["scenario"].unique()]
    least, most = min(lengths, default=0), max(lengths, default=0)
    seconds = f"{least:.6g}" if least == most else f"{least:.6g}–{most:.6g}"
    levels = "; ".join(
        f"{name}: {', '.join(own)}" for name, own in results.experiment.factors.items()
    )
    named = f" ({shortened(levels, 300)})" if levels else ""
    words = [
        many(count, "cell") + named,
        many(repeats, "repeat"),
        f"{seconds} s each",
        f"engine {engines}",
    ]
    return ", ".join(words) + "."


def _told(results: Tables, every: list[CellLine]) -> Markup:
    """Sentences about the results."""
    told = sentences(results, every, _MOST_FINDINGS)
    return tag("ul", *(tag("li", one) for one in told), class_="findings")


def _each_cell(results: Tables, every: list[CellLine]) -> list[Markup]:
    """A row per cell; of a single cell nothing, of very many the first."""
    if len(every) < 2:
        return []
    head, texts = per_cell.rows(every, results)
    rows = [[*cell.levels.values(), *row] for cell, row in zip(every, texts, strict=True)]
    factors = list(results.experiment.factors)
    parts = [table([*factors, *head], rows[:_MOST_CELL_ROWS], left=len(factors))]
    note = per_cell.caption(head)
    if len(rows) > _MOST_CELL_ROWS:
        note += f" {len(rows) - _MOST_CELL_ROWS} more cells: dumbbell run --json."
    return [*parts, tag("p", note, class_="caption")]


def _changes(results: Tables, every: list[CellLine]) -> list[Markup]:
    """Phases of each cell whose links change."""
    head, rows = changes.rows(every)
    if not rows:
        return []
    factors = list(results.experiment.factors)
    left = len(factors) + sum(name in changes.WORDS for name in head)
    shown = table([*factors, *head], rows, left=left)
    note = f"{changes.caption(head)} {changes.left_out(every)}".rstrip()
    return [shown, tag("p", note, class_="caption")]


def _outages(results: Tables) -> list[Markup]:
    """Outages, stalls and recoveries of each flow."""
    rows = outages.rows(results)
    if not rows:
        return []
    factors = list(results.experiment.factors)
    shown = table([*factors, *outages.HEAD], rows[: outages.MOST_ROWS], left=len(factors) + 1)
    told = outages.caption(rows[: outages.MOST_ROWS])
    note = f"{told} {left_out(len(rows), outages.MOST_ROWS)}".rstrip()
    return [shown, tag("p", note, class_="caption")]


def _overview(results: Tables, every: list[CellLine], *, folded: bool) -> list[Markup]:
    """Flows and bottlenecks of each cell, as on the terminal.

    `folded`: a long table opens on demand, since others say what happened.
    """
    factors = list(results.experiment.factors)
    drawn = [overview.lines(cell) for cell in every]
    columns = overview.columns_of(drawn)
    head = [
        *factors,
        "flow or link",
        *(overview.COLUMNS[name].replace("-\n", "").replace("\n", " ") for name in columns),
    ]
    rows = []
    for cell, own in zip(every, drawn, strict=True):
        for place, (name, texts) in enumerate(own):
            levels = cell.levels.values() if place == 0 else [""] * len(factors)
            rows.append([*levels, name, *(texts.get(column, "") for column in columns)])
    shown = table(head, rows[:_MOST_ROWS], left=len(factors) + 1)
    note = overview.caption(every, columns, arrivals=bool(processes(results)))
    if len(rows) > _MOST_ROWS:
        note += f" {len(rows) - _MOST_ROWS} more rows: dumbbell run --json."
    parts = [shown, tag("p", note, class_="caption")]
    if len(every) > _OPEN_CELLS or (folded and len(rows) > _OPEN_ROWS):
        return [details(f"Flows and links of all {len(every)} cells", *parts)]
    return parts if len(every) == 1 else [tag("h3", "Flows and links"), *parts]


def _over_time(figures: _Figures, every: list[CellLine]) -> list[tuple[str, _Drawn, bool]]:
    """A figure per cell: its words, the figure, and whether it is seen without a click."""
    found: list[tuple[str, _Drawn, bool]] = []
    for cell in every[:_MOST_OVER_TIME]:
        shown = len(found) < _SHOWN_OVER_TIME
        words = ", ".join(f"{name} {level}" for name, level in cell.levels.items())
        title = f"Over time, {words}" if words else "Over time"
        for one in figures.drawn("series", static=shown, where=cell.levels, title=title):
            found.append((words, one, shown))
    return found


def _shown(words: str, one: _Drawn, shown: bool) -> Markup:
    """The figure of a cell; the words are its heading, if they are not a link that opens it."""
    return one.framed(titled=bool(words)) if shown else details(words, one.framed(titled=False))


def _compared(figures: _Figures, results: Tables) -> list[_Drawn]:
    """Metrics against the factors, delay and throughput, queueing delays."""
    drawn: list[_Drawn] = []
    applying = [name for name in _COMPARED if _applies(results, name)]
    if {"srtt_mean_ms", "rtt_mean_ms"} <= set(applying):
        applying.remove("rtt_mean_ms")
    for factor in _telling(results):
        for name in applying:
            drawn += figures.made(partial(across, results, name, factor))
    return [*drawn, *figures.drawn("delay-throughput"), *figures.drawn("queue-delay")]


def _telling(results: Tables) -> list[str]:
    """Factors that vary; where one tells all cells apart, the others are tied to it."""
    factors = list(results.experiment.factors)
    cells = results.runs.select(factors).unique() if factors else results.runs
    varied = [name for name in factors if cells[name].n_unique() > 1]
    alone = [name for name in varied if cells[name].n_unique() == cells.height]
    return alone[:1] or varied


def _applying(results: Tables) -> list[str]:
    """Metrics of the page that apply to some flow."""
    over_time = {"utilisation": "queues"}  # read from the table of queues, which may be large
    return [
        name
        for name in _METRICS
        if (results.has(over_time[name]) if name in over_time else _applies(results, name))
    ]


def _applies(results: Tables, metric: str) -> bool:
    """True if it has a value for some flow."""
    return bool(METRICS[metric].measure(results)["value"].is_not_nan().any())


def _pages(results: Tables) -> list[Markup]:
    """Pages, requests, arrivals and groups of connections, each cell in a row."""
    factors = list(results.experiment.factors)
    shown = []
    for name, rows in page_summary.to_json(results).items():
        title, key, columns = page_summary.TABLES[name]
        head = [*factors, page_summary.heading(name)]
        head += [heading.replace("\n", " ") for heading, _ in columns.values()]
        cells = [
            [
                *(row[factor] for factor in factors),
                row[key],
                *(load_summary.text(row, column) for column in columns),
            ]
            for row in rows[:_MOST_ROWS]
        ]
        shown += [tag("h3", title), table(head, cells, left=len(factors) + 1), *_left_out(rows)]
    return shown


def _left_out(rows: Sequence[object]) -> list[Markup]:
    """Caption of a table with the first rows of many."""
    more = left_out(len(rows), _MOST_ROWS)
    return [tag("p", more, class_="caption")] if more else []


def _under_load(figures: _Figures, results: Tables) -> list[Markup]:
    """RTT under load where probes are kept: a row per cell, and runs over time."""
    rows = load_summary.rows(results)
    if not rows:
        return []
    factors = list(results.experiment.factors)
    names = [name for name in load_summary.COLUMNS if any(row[name] is not None for row in rows)]
    head = [*factors, *(load_summary.COLUMNS[name][0].replace("\n", " ") for name in names)]
    cells = [
        [*(row[factor] for factor in factors), *(load_summary.text(row, name) for name in names)]
        for row in rows[:_MOST_ROWS]
    ]
    shown = [tag("h3", "Under load"), table(head, cells, left=len(factors)), *_left_out(rows)]
    flows = results.flows.filter(results.flows["kind"] == "ping")["flow"]
    shown += [one.framed() for flow in flows[:1] for one in figures.drawn("cdf", flow=flow)]
    for row in rows[:_MOST_UNDER_LOAD]:
        where = {factor: row[factor] for factor in factors}
        words = ", ".join(f"{name} {level}" for name, level in where.items())
        title = ", ".join(["Under load", *([words] if words else [])])
        for one in figures.drawn("rrul", static=False, where=where, title=title):
            shown.append(_shown(title, one, row is rows[0]))
    return shown
