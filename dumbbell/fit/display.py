"""A fit on the terminal, and as JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from dumbbell.fit.estimate import Estimate
from dumbbell.fit.fitting import Fit
from dumbbell.fit.residual import unexplained
from dumbbell.fit.what_if import Outcome
from dumbbell.metrics.numbers import percent
from dumbbell.summary.fit import add_columns, plain_table, titled

#: Algorithms shown: those with at least this probability, at most so many.
_LEAST, _MOST = 0.005, 8


def quantities(fit: Fit) -> list[tuple[str, str, Estimate, float]]:
    """Estimates with unit and factor to it: name, unit, estimate, factor."""
    path = fit.path
    rate = path.rate.rate_bps if path.shaper.kind != "policer" else path.shaper.rate_bps
    return [
        ("base RTT", "ms", path.rtt.path, 1e3),
        ("… tap to sender and back", "ms", path.rtt.near, 1e3),
        ("… tap to receiver and back", "ms", path.rtt.far, 1e3),
        ("rate", "Mbit/s", rate, 1e-6),
        ("burst", "kB", path.shaper.burst_bytes, 1e-3),
        ("wait for slots", "ms", path.shaper.wait_s, 1e3),
        ("competing traffic", "Mbit/s", path.competing.rate_bps, 1e-6),
        ("queue limit", "packets", path.queue.limit_packets, 1.0),
        ("random loss", "%", path.losses.random_share, 100.0),
        ("receive window", "kB", path.limits.window_bytes, 1e-3),
        ("initial window", "segments", path.limits.initial_window, 1.0),
    ]


def verdicts(fit: Fit) -> list[str]:
    """Sentences: what limited it, the path, the algorithm, what stays unexplained."""
    path = fit.path
    found = [f"Limited by: {path.factor.name}. {_capital(path.factor.why)}."]
    changes = f", its rate changes ({len(path.rate.steps)} levels)" if path.rate.wanders else ""
    if path.shaper.kind != path.factor.name:
        found.append(f"Shaper: {path.shaper.kind}{changes}. {_capital(path.shaper.evidence)}.")
    found.append(f"Queue: {path.queue.kind}. {_capital(path.queue.evidence)}.")
    if path.competing.kind in ("steady", "elastic"):
        said = _capital(path.competing.evidence)
        found.append(f"Competing traffic: {path.competing.kind}. {said}.")
    if path.losses.reordered_share > 0:
        found.append(f"Reordered: {percent(path.losses.reordered_share)} of the packets.")
    ranking = fit.ranking
    if ranking is not None:
        names = " or ".join(ranking.groups[0])
        word = f"{names}, probability {ranking.share}" if ranking.told else "cannot tell"
        found.append(f"Algorithm: {word}: {ranking.why}.")
    if fit.residues:
        left = unexplained(fit.residues)
        if left:
            found.append("The twin does not explain:")
            found += [f"  {one}." for one in left]
        else:
            found.append("The twin explains the goodput, RTTs, bytes in flight and losses.")
    return found


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def shown(fit: Fit) -> RenderableType:
    """Everything for the terminal."""
    row = fit.seen.row
    ends = (f"{row[f'{end}_address']}:{row[f'{end}_port']}" for end in ("from", "to"))
    total = f"{row['unique_bytes'] / 1e6:.3g} MB in {fit.seen.duration_s:.3g} s"
    parts: list[RenderableType] = [
        Text(f"{fit.capture}, connection {row['connection']}", style="bold"),
        Text(f"{' > '.join(ends)}, {total}"),
        *(Text(f"• {note}") for note in fit.notes),
        Text(""),
        _estimates(fit),
    ]
    if fit.ranking is not None and not fit.path.factor.ends:
        parts.append(_ranking(fit))
    if fit.residues:
        parts.append(_residues(fit))
    if fit.outcomes:
        parts.append(_outcomes(fit))
    parts += [Text(line) for line in verdicts(fit)]
    return Group(*parts)


def _estimates(fit: Fit) -> RenderableType:
    table = plain_table()
    add_columns(table, ["", "unit"], ["value", "from", "to"])
    table.add_column("evidence", overflow="fold")
    for name, unit, one, factor in quantities(fit):
        table.add_row(name, unit, *interval_cells(one, factor), one.evidence)
    return titled("Estimates", table)


def interval_cells(one: Estimate, factor: float) -> tuple[str, str, str]:
    """Cells of an estimate: value, least and greatest."""
    if one.value is None:
        return "unknown", "", ""
    value = f"{one.value * factor:.4g}"
    if one.knowledge == "at least":
        return f"≥ {value}", value, ""
    if one.knowledge == "at most":
        return f"≤ {value}", "", value
    low, high = one.low or 0.0, one.high
    return value, f"{low * factor:.4g}", "" if high is None else f"{high * factor:.4g}"


def _ranking(fit: Fit) -> RenderableType:
    ranking = fit.ranking
    if ranking is None:
        return Text("")
    table = plain_table()
    add_columns(table, ["algorithm"], ["probability"])
    for one in ranking.ranked[:_MOST]:
        if one.probability >= _LEAST:
            table.add_row(one.name, f"{one.probability:.1%}")
    title = f"Algorithms: {ranking.runs} runs over the first {ranking.stretch_s:.3g} s"
    return titled(title, table)


def _residues(fit: Fit) -> RenderableType:
    table = plain_table()
    add_columns(table, ["capture and twin"], ["capture", "twin from", "to"])
    table.add_column("", no_wrap=True)
    for one in fit.residues:
        mark = "" if one.explained else "✗"
        values = (f"{value:.4g}" for value in (one.captured, one.low, one.high))
        table.add_row(one.name, *values, mark)
    return titled(f"Residual: the twin with {fit.algorithm}", table)


def _outcomes(fit: Fit) -> RenderableType:
    table = plain_table()
    columns = ["goodput\nMbit/s", "delay 95 %\nms", "completion\ns", "lost\n%"]
    add_columns(table, ["what if"], columns)
    for one in fit.outcomes:
        table.add_row(one.change.name, *outcome_cells(one))
    title = "What if: median (least–greatest) over drawn paths; delay: RTT beyond the base RTT"
    return titled(title, table)


def outcome_cells(one: Outcome) -> list[str]:
    """Cells of an outcome: goodput, delay, completion, loss."""
    scaled = (
        (one.goodput_bps, 1e-6),
        (one.delay_s, 1e3),
        (one.completion_s, 1.0),
        (one.lost_share, 100.0),
    )
    return [_ranged(values, factor) for values, factor in scaled]


def _ranged(values: tuple[float, float, float], factor: float) -> str:
    if any(value != value for value in values):
        return "not in time"
    middle, low, high = (f"{value * factor:.3g}" for value in values)
    return f"{middle} ({low}–{high})"


def as_json(fit: Fit) -> dict[str, Any]:
    """Estimates, verdicts, ranking and residual as JSON values; unknown is null."""
    ranking = fit.ranking
    return {
        "capture": fit.capture,
        "connection": fit.seen.row["connection"],
        "notes": list(fit.notes),
        "estimates": [
            {
                "name": name,
                "unit": unit,
                "value": _times(one.value, factor),
                "low": _times(one.low, factor),
                "high": _times(one.high, factor),
                "knowledge": one.knowledge,
                "evidence": one.evidence,
            }
            for name, unit, one, factor in quantities(fit)
        ],
        "factor": {"name": fit.path.factor.name, "why": fit.path.factor.why},
        "shaper": fit.path.shaper.kind,
        "competing": fit.path.competing.kind,
        "queue": fit.path.queue.kind,
        "algorithms": None
        if ranking is None
        else {
            "told": ranking.told,
            "why": ranking.why,
            "stretch_s": ranking.stretch_s,
            "alike": [list(group) for group in ranking.groups],
            "probabilities": {one.name: one.probability for one in ranking.ranked},
        },
        "what_if": [
            {"change": o.change.name, "goodput_bps": o.goodput_bps, "delay_s": o.delay_s,
             "completion_s": [v if v == v else None for v in o.completion_s],
             "lost_share": o.lost_share}
            for o in fit.outcomes
        ],
        "residual": [
            {"name": r.name, "capture": r.captured, "twin_from": r.low, "twin_to": r.high,
             "explained": r.explained}
            for r in fit.residues
        ],
    }  # fmt: skip


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else float(value) * factor
