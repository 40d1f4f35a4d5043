"""The page of a gate: what changed, since which event, and what another engine says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.console.words import many
from dumbbell.face.markup import Markup, details, joined, table, tag
from dumbbell.face.page import chart_page, framed
from dumbbell.gate.changes import changes_figure
from dumbbell.gate.display import Beside, changed, lines
from dumbbell.gate.gate import Outcome
from dumbbell.gate.verdict import Quantity, Verdict
from dumbbell.metrics import METRICS
from dumbbell.metrics.numbers import number
from dumbbell.report.parts import navigation
from dumbbell.report.provenance import digest_of, method_section

#: Verdict → class in the style of all pages.
_CLASSES = {
    Verdict.BETTER: "reproduced", Verdict.WORSE: "not-reproduced", Verdict.LOST: "not-reproduced",
    Verdict.CHANGED: "not-reproduced", Verdict.OPEN: "within-noise",
}  # fmt: skip
_CHANGES = (
    "Each line is a quantity that changed: the mean change as a share of the value before, with "
    "its 95 % interval over the repeats. Both sides have the same seeds. Larger changes than 100 % "
    "are at the edge."
)
_HEAD = ["cell and quantity", "before", "now", "change", "p", "verdict"]
_LONG = "These tables scroll sideways."


def gate_page(outcome: Outcome, engine: str = "", beside: Beside | None = None) -> str:
    """HTML of a gate. `engine`, `beside`: as of `dumbbell.gate.display.table`."""
    base, new = outcome.base.name, outcome.new.name
    rows = changed(outcome)
    places = {"changes": "What changed"} if rows else {}
    places |= {"all": "All quantities", "method": "Method", "provenance": "Provenance"}
    body = [
        _pills(outcome),
        *(tag("p", one) for one in lines(outcome)),
        navigation(places),
        *(_changes(rows, engine, beside) if rows else []),
        tag("h2", "All quantities", id="all"),
        tag("p", _LONG, class_="caption hint"),
        *(_experiment(outcome, name) for name in outcome.results),
        tag("h2", "Method", id="method"),
        method_section(_metrics(outcome.quantities), verdicts=False),
        tag("h2", "Provenance", id="provenance"),
        _provenance(outcome),
    ]
    return chart_page(f"{new} beside {base}: gate", joined(body), "Dumbbell gate")


def _pills(outcome: Outcome) -> Markup:
    count = Counter(one.verdict for one in outcome.quantities)
    word = "passes" if outcome.passes else "fails"
    state = "reproduced" if outcome.passes else "not-reproduced"
    items = [tag("li", word, class_=f"pill {state}")]
    items += [
        tag("li", f"{count[one]} {one.value}", class_=f"pill {_CLASSES.get(one, '')}".strip())
        for one in Verdict
        if count[one]
    ]
    return tag("ul", *items, class_="pills")


def _changes(rows: Sequence[Quantity], engine: str, beside: Beside | None) -> list[Markup]:
    made = [tag("h2", "What changed", id="changes")]
    figure = changes_figure(rows)
    if figure is not None:
        made.append(tag("figure", framed(figure, "chart-changes")))
    head = [*_HEAD, engine] if beside is not None else _HEAD
    shown = [[*_row(one, one.place), *_there(one, beside)] for one in rows]
    return [*made, tag("p", _CHANGES, class_="caption"), table(head, shown, left=1)]


def _there(one: Quantity, beside: Beside | None) -> list[object]:
    if beside is None:
        return []
    found = beside.get((one.part, one.sample.key))
    return [_coloured(found.verdict, found.change_words) if found is not None else "not asked"]


def _row(one: Quantity, place: str) -> list[object]:
    shown_p = f"{one.p:.2g}" if one.p == one.p else "–"
    name = METRICS[one.sample.metric].axis
    return [
        tag("div", tag("b", place), tag("br"), name, class_="wraps"),
        number(one.before), number(one.now), one.change_words, shown_p,
        _coloured(one.verdict, one.verdict.value),
    ]  # fmt: skip


def _coloured(verdict: Verdict, text: str) -> object:
    name = _CLASSES.get(verdict)
    return tag("span", text, class_=name) if name else text


def _experiment(outcome: Outcome, name: str) -> Markup:
    rows = [one for one in outcome.quantities if one.part == name]
    fail = sum(not one.verdict.passes for one in rows)
    told = f": {fail} of {many(len(rows), 'quantity', 'quantities')} fail"
    text = str(outcome.results[name][1].experiment.yaml)
    return details(
        tag("span", tag("b", name), told),
        table(_HEAD, [_row(one, one.sample.place) for one in rows], left=1),
        details("Experiment", tag("pre", text, tabindex="0")),
    )


def _metrics(quantities: Sequence[Quantity]) -> list[str]:
    found = {one.sample.metric for one in quantities}
    return [name for name in METRICS if name in found]


def _provenance(outcome: Outcome) -> Markup:
    """Versions, repeats and digests of the runs of both sides."""
    sides = (outcome.base.name, outcome.new.name)
    head = ["experiment", *(f"digest of {name}" for name in sides)]
    rows = [
        [part, *(tag("code", digest_of(one)[:16]) for one in pair)]
        for part, pair in outcome.results.items()
    ]
    runs = [one.runs for pair in outcome.results.values() for one in pair]
    engines = sorted({row for one in runs for row in one.select("engine", "engine_version").rows()})
    facts: Mapping[str, Any] = {
        "Engine": ", ".join(f"{name} {version}" for name, version in engines),
        "Runs": sum(one.height for one in runs),
        "Repeats": outcome.repeats,
    }
    entries = (tag(n, v) for k, x in facts.items() for n, v in (("dt", k), ("dd", str(x))))
    return joined([tag("dl", *entries, class_="facts"), table(head, rows, left=3)])
