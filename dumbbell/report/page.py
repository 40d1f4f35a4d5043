"""The pages of a study and of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, cast

import polars as pl

from dumbbell.figures import plot
from dumbbell.metrics import METRICS, Tables, summary
from dumbbell.metrics.numbers import with_error
from dumbbell.report.animations import animations_section
from dumbbell.report.claims import claims_section, pills
from dumbbell.report.figures import Begun, begin_figures, figure_section, framed
from dumbbell.report.markup import Markup, details, joined, table, tag
from dumbbell.report.provenance import method_section, provenance_section
from dumbbell.report.shell import chart_page
from dumbbell.report.tables import agreement_section, study_table
from dumbbell.report.topology import topology
from dumbbell.scenario import Scenario, read_scenario
from dumbbell.studies.definition import metrics_in
from dumbbell.studies.result import StudyResult
from dumbbell.summary import load as load_summary
from dumbbell.summary import pages as page_summary

_PLAIN_METRICS = ("goodput_mbps", "rtt_mean_ms", "retransmissions", "sack_blocks", "cwnd_mean")
_MOST_ROWS = 400
#: Runs that are drawn over time.
_MOST_RUNS = 6


class _Text(Protocol):
    yaml: str


def study_page(
    result: StudyResult, figures: Mapping[str, Begun] | None = None, beside: Path | None = None
) -> str:
    """The report of a study, from its tables.

    `figures` may be in drawing already; `beside`: where the page will be, and animations are looked
    for.
    """
    study = result.study
    begun = begin_figures(study, result.parts, None) if figures is None else figures
    own = [part for part in result.parts if not study.parts[part].is_variant]
    variants = [part for part in result.parts if study.parts[part].is_variant]
    body = [
        tag("p", study.question, class_="lead"),
        pills(result),
        tag("p", _ran(result), class_="faint"),
        _navigation(
            {
                "testbed": "Testbed",
                **{f"part-{part}": study.parts[part].title for part in own},
                **({"variants": "Variants"} if variants else {}),
                **({"agreement": "Agreement"} if result.agreement else {}),
                **({"animations": "Animations"} if study.animations else {}),
                "method": "Method",
                "provenance": "Provenance",
                "files": "Experiment files",
            }
        ),
        tag("h2", "Testbed", id="testbed"),
        tag("p", study.testbed),
        *_topologies(result.parts),
    ]
    if result.agreement is None:
        body += [_part(result, part, begun) for part in own]
        body += [_variants(result, variants)] if variants else []
    else:
        title = study.references[result.agreement.reference].title
        body += [
            tag("h2", "Agreement", id="agreement"),
            agreement_section(result.agreement, title),
        ]
    body += animations_section(study, beside)
    quantities = [one for t in study.tables.values() for one in t.columns.values()]
    metrics = dict.fromkeys(name for one in quantities for name in metrics_in(one))
    titles = {study.parts[part].title: results for part, results in result.parts.items()}
    body += _closing(list(metrics), titles)
    body.append(tag("h3", "Sources"))
    body.append(tag("ul", *(tag("li", source) for source in study.sources)))
    return chart_page(study.title, joined(body))


def experiment_page(results: Tables) -> str:
    """The report of an experiment that belongs to no study."""
    name = results.experiment.name
    parts = {name: results}
    body = [
        tag("p", f"{results.runs.height} runs.", class_="faint"),
        tag("h2", "Network", id="testbed"),
        *_topologies(parts),
        tag("h2", "Results", id="results"),
        *_pages(results),
        *_under_load(results),
        _plain_table(results),
        *_plain_figures(results),
        *_closing(list(_PLAIN_METRICS), parts),
    ]
    return chart_page(name, joined(body))


def _ran(result: StudyResult) -> str:
    runs = sum(results.runs.height for results in result.parts.values())
    versions = ", ".join(f"{engine} {version}" for engine, version in result.versions.items())
    parts = result.study.parts
    have, all_variants = (
        [p for p in some if parts[p].is_variant] for some in (result.parts, parts)
    )
    text = f"{len(result.parts) - len(have)} of {len(parts) - len(all_variants)} parts"
    if all_variants:
        text += f", {len(have)} of {len(all_variants)} variants"
    return f"{text}, {runs} runs on {versions}."


def _navigation(places: Mapping[str, str]) -> Markup:
    links = (tag("li", tag("a", words, href=f"#{place}")) for place, words in places.items())
    return tag("nav", tag("ul", *links), aria_label="Contents")


def _part(result: StudyResult, part: str, begun: Mapping[str, Begun]) -> Markup:
    study = result.study
    parts = [
        tag("h2", study.parts[part].title, id=f"part-{part}"),
        tag("p", study.parts[part].question),
    ]
    for name, figure in study.figures.items():
        if figure.part == part:
            parts.append(figure_section(study, name, begun[name]))
    for name, rows in result.tables.items():
        if study.tables[name].part == part and rows:
            parts.append(study_table(study, name, rows))
    claims = [claim for claim in result.claims if claim.claim.part == part]
    if claims:
        parts += [tag("h3", "Claims"), claims_section(claims)]
    return tag("section", *parts)


def _variants(result: StudyResult, variants: list[str]) -> Markup:
    """Table of variants, run to try the causes of verdicts."""
    note = "Parts run again with something changed, to try what verdicts hang on."
    rows = [
        [
            one.title,
            one.experiment,
            ", ".join(f"{field}: {_levels(value)}" for field, value in one.set.items()),
            str(result.parts[part].runs.height),
        ]
        for part, one in ((part, result.study.parts[part]) for part in variants)
    ]
    head = ["variant", "experiment file", "changed", "runs"]
    return tag(
        "section",
        tag("h2", "Variants", id="variants"),
        tag("p", note),
        table(head, rows, left=3),
    )


def _levels(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def _topologies(parts: Mapping[str, Tables]) -> list[Markup]:
    """The network of the largest scenario; one drawing serves a study."""
    scenarios = [
        scenario
        for results in parts.values()
        for scenario in results.runs["scenario"].unique(maintain_order=True).to_list()
    ]
    if not scenarios:
        return []
    chosen = max(map(read_scenario, scenarios), key=_richness)
    note = (
        "Rate, delay and queue limit of a link stand beside it or in its tooltip; taps are marked."
    )
    return [topology(chosen), tag("p", note, class_="caption")]


def _richness(scenario: Scenario) -> tuple[int, int]:
    """Size of a network to draw: nodes, and routers that spray."""
    return len(scenario["nodes"]), sum(node["spray"] is not None for node in scenario["nodes"])


def _closing(metrics: list[str], parts: Mapping[str, Tables]) -> list[Markup]:
    sources = [
        details(f"{title}: {results.experiment.name}", tag("pre", _yaml(results)))
        for title, results in parts.items()
    ]
    return [
        tag("h2", "Method", id="method"),
        method_section(metrics),
        tag("h2", "Provenance", id="provenance"),
        provenance_section(parts),
        tag("h2", "Experiment files", id="files"),
        tag("p", "Save one as a file and run it with ", tag("code", "dumbbell run FILE"), "."),
        *sources,
    ]


def _yaml(results: Tables) -> str:
    return cast(_Text, results.experiment).yaml


def _plain_table(results: Tables) -> Markup:
    factors = list(results.experiment.factors)
    frame: pl.DataFrame | None = None
    for name in _PLAIN_METRICS:
        one = summary(results, METRICS[name], [*factors, "flow"])
        one = one.select(*factors, "flow", pl.struct("mean", "low", "high").alias(name))
        frame = one if frame is None else frame.join(one, [*factors, "flow"], how="left")
    if frame is None or frame.is_empty():
        return tag("p", "No flows.")
    head = [*factors, "flow", *(METRICS[name].axis for name in _PLAIN_METRICS)]
    rows = [
        [*row[: len(factors) + 1], *map(_mean, row[len(factors) + 1 :])]
        for row in frame.head(_MOST_ROWS).iter_rows()
    ]
    return table(head, rows, left=len(factors) + 1)


def _mean(value: Mapping[str, float] | None) -> str:
    if value is None or value["mean"] != value["mean"]:
        return "–"
    half = max(value["high"] - value["mean"], value["mean"] - value["low"])
    return with_error(value["mean"], half if half == half else 0.0)


def _pages(results: Tables) -> list[Markup]:
    """Pages and groups of connections, each cell in a row."""
    factors = list(results.experiment.factors)
    shown = []
    for name, rows in page_summary.to_json(results).items():
        title, key, columns = page_summary.TABLES[name]
        head = [*factors, "page" if key == "session" else key]
        head += [heading.replace("\n", " ") for heading, _ in columns.values()]
        cells = [
            [
                *(row[factor] for factor in factors),
                row[key],
                *(load_summary.text(row, column) for column in columns),
            ]
            for row in rows[:_MOST_ROWS]
        ]
        shown += [tag("h3", title), table(head, cells, left=len(factors) + 1)]
    return shown


def _under_load(results: Tables) -> list[Markup]:
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
    flows = results.flows.filter(results.flows["kind"] == "ping")["flow"]
    shown = [tag("h3", "Under load"), table(head, cells, left=len(factors))]
    wanted: list[tuple[str, dict[str, Any]]] = [("cdf", {"flow": flow}) for flow in flows[:1]]
    for row in rows[:_MOST_RUNS]:
        where = {factor: row[factor] for factor in factors}
        title = ", ".join(["Over time", *where.values()])
        wanted.append(("rrul", {"where": where, "title": title}))
    for number, (kind, options) in enumerate(wanted):
        try:
            figure = plot(results, kind, **options)
        except ValueError:
            continue
        shown.append(tag("figure", tag("h3", figure.title), framed(figure, f"chart-load-{number}")))
    return shown


def _plain_figures(results: Tables) -> list[Markup]:
    drawn = []
    for kind in ("goodput", "rtt", "window"):
        try:
            figure = plot(results, kind)
        except ValueError:
            continue
        chart = framed(figure, f"chart-{kind}")
        drawn.append(tag("figure", tag("h3", figure.title), chart))
    return drawn
