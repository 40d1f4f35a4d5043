"""Page of a fit: verdicts, capture and twin on one axis of time, tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dumbbell.face.markup import Markup, joined, table, tag
from dumbbell.face.page import chart_page, framed
from dumbbell.figures.figure import Figure
from dumbbell.figures.panels import panels
from dumbbell.fit.display import interval_cells, outcome_cells, quantities, verdicts
from dumbbell.fit.fitting import Fit
from dumbbell.fit.observe import Observed

#: Points of a line.
_POINTS = 400
_CAPTURE, _TWIN = "capture", "twin"


def page(fit: Fit) -> str:
    """Page that needs no network."""
    row = fit.seen.row
    title = f"{fit.capture}, connection {row['connection']}"
    parts: list[Markup] = [tag("ul", *(tag("li", note) for note in fit.notes))] if fit.notes else []
    parts.append(tag("ul", *(tag("li", line.strip()) for line in verdicts(fit))))
    if fit.twins:
        parts += [tag("h2", "Capture and twin"), framed(figure(fit), "fit", static=False)]
    parts += [tag("h2", "Estimates"), _estimates(fit)]
    if fit.ranking is not None and not fit.path.factor.ends:
        rows = [(one.name, f"{one.probability:.1%}") for one in fit.ranking.ranked]
        parts += [tag("h2", "Algorithms"), table(("algorithm", "probability"), rows)]
    if fit.outcomes:
        head = ("what if", "goodput, Mbit/s", "delay 95 %, ms", "completion, s", "lost, %")
        cells = [(one.change.name, *outcome_cells(one)) for one in fit.outcomes]
        parts += [tag("h2", "What if"), table(head, cells)]
    if fit.residues:
        head = ("quantity", "capture", "twin from", "to", "explained")
        cells = [
            (one.name, *(f"{v:.4g}" for v in (one.captured, one.low, one.high)),
             "yes" if one.explained else "no")
            for one in fit.residues
        ]  # fmt: skip
        parts += [tag("h2", "Residual"), table(head, cells)]
    if fit.sketch is not None:
        parts += [tag("h2", "Experiment file"), tag("pre", fit.experiment, tabindex="0")]
    return chart_page(title, joined(parts), "Dumbbell fit")


def _estimates(fit: Fit) -> Markup:
    rows = [
        (name, unit, one.evidence, *interval_cells(one, factor))
        for name, unit, one, factor in quantities(fit)
    ]
    return table(("", "unit", "evidence", "value", "from", "to"), rows, left=3)


def figure(fit: Fit) -> Figure:
    """In flight, RTT and sequence of the capture and of its twin over time."""
    points: list[tuple[str, str, float, float]] = []
    for name, seen in ((_CAPTURE, fit.seen), (_TWIN, fit.twins[0])):
        points += _points(name, seen)
    order = ("In flight (kB)", "RTT (ms)", "Sequence (MB)")
    points.sort(key=lambda one: order.index(one[0]))
    described = (
        "Bytes in flight, RTT and sequence number over time: the capture, and the twin with "
        f"{fit.algorithm}."
    )
    return panels("Capture and twin", described, points, zoom=True)


def _points(name: str, seen: Observed) -> Iterator[tuple[str, str, float, float]]:
    new = np.flatnonzero(seen.sent_new)
    some = new[np.linspace(0, len(new) - 1, min(len(new), _POINTS)).astype(int)]
    for at in some:
        yield "In flight (kB)", name, float(seen.sent_s[at]), float(seen.flight_bytes[at]) / 1e3
    known = np.flatnonzero(~np.isnan(seen.rtt_s))
    if len(known):
        for at in known[np.linspace(0, len(known) - 1, min(len(known), _POINTS)).astype(int)]:
            yield "RTT (ms)", name, float(seen.sent_s[at]), float(seen.rtt_s[at]) * 1e3
    for at in some:
        yield "Sequence (MB)", name, float(seen.sent_s[at]), float(seen.sent_end_bytes[at]) / 1e6
