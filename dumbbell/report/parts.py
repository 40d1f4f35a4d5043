"""Parts that the pages of studies and of other experiments share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from dumbbell.face.markup import Markup, details, tag
from dumbbell.metrics import Tables
from dumbbell.report.provenance import method_section, provenance_section
from dumbbell.report.topology import topology
from dumbbell.scenario import Scenario, read_scenario


class _Text(Protocol):
    yaml: str


def warning(notes: Sequence[str]) -> list[Markup]:
    """Notes at the top of a page, a sentence each; nothing if there is none."""
    if not notes:
        return []
    return [tag("div", *(tag("p", note) for note in notes), class_="warning", role="note")]


def navigation(places: Mapping[str, str]) -> Markup:
    """Links to parts of the page: place → words."""
    links = (tag("li", tag("a", words, href=f"#{place}")) for place, words in places.items())
    return tag("nav", tag("ul", *links), aria_label="Contents")


def topologies(parts: Mapping[str, Tables]) -> list[Markup]:
    """The network of the largest scenario; one drawing serves a study."""
    scenarios = [
        scenario
        for results in parts.values()
        for scenario in results.runs["scenario"].unique(maintain_order=True).to_list()
    ]
    chosen = max(map(read_scenario, scenarios), key=_richness, default=None)
    if chosen is None or not chosen["nodes"]:  # measured runs have no network
        return []
    note = (
        "Rate, delay and queue limit of a link stand beside it or in its tooltip; taps are marked."
    )
    return [topology(chosen), tag("p", note, class_="caption")]


def _richness(scenario: Scenario) -> tuple[int, int]:
    """Size of a network to draw: nodes, and routers that spray."""
    return len(scenario["nodes"]), sum(node["spray"] is not None for node in scenario["nodes"])


def closing(
    metrics: list[str], parts: Mapping[str, Tables], *, verdicts: bool = True
) -> list[Markup]:
    """Method, provenance and experiment files; `verdicts`: the page judges claims."""
    sources = [
        details(f"{title}: {results.experiment.name}", tag("pre", _yaml(results), tabindex="0"))
        for title, results in parts.items()
    ]
    return [
        tag("h2", "Method", id="method"),
        method_section(metrics, verdicts=verdicts),
        tag("h2", "Provenance", id="provenance"),
        provenance_section(parts),
        tag("h2", "Experiment files", id="files"),
        tag("p", "Save one as a file and run it with ", tag("code", "dumbbell run FILE"), "."),
        *sources,
    ]


def _yaml(results: Tables) -> str:
    return cast(_Text, results.experiment).yaml
