"""Table of an experiment for LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dumbbell.metrics import METRICS
from dumbbell.metrics.numbers import number
from dumbbell.results import Results
from dumbbell.summary.overview import rows

SUFFIX = ".tex"
_QUANTITIES = ("goodput_mbps", "share", "rtt_ms", "retransmissions")
_SPECIAL = {
    **{one: f"\\{one}" for one in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "→": r"$\to$",
    "µ": r"\textmu{}",
}


def table(results: Results) -> str:
    """A row per cell and flow: levels, and each metric with half its 95 % interval.

    A metric that no flow has is no column. Unknown values are dashes.
    """
    found = rows(results)
    factors = list(results.experiment.factors)
    shown = [name for name in _QUANTITIES if any(_known(one[name]) for one in found)]
    head = [*factors, "flow", *(METRICS[name].axis for name in shown)]
    places = "l" * (len(factors) + 1) + "r" * len(shown)
    lines = [
        f"% {escaped(results.experiment.name)}: mean of {results.repeats_words}, "
        "half of the 95 % interval behind it",
        r"\begin{tabular}{" + places + "}",
        r"\toprule",
        " & ".join(map(escaped, head)) + r" \\",
        r"\midrule",
    ]
    for one in found:
        cells = [*(escaped(str(one[name])) for name in (*factors, "flow"))]
        lines.append(" & ".join([*cells, *(_value(one, name) for name in shown)]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def escaped(text: str) -> str:
    """Text as LaTeX prints it."""
    plain = "".join(one if one.isprintable() else " " for one in text)
    return "".join(_SPECIAL.get(one, one) for one in plain)


def _known(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def _value(row: Mapping[str, Any], name: str) -> str:
    mean, low, high = (row[name + end] for end in ("", "_low", "_high"))
    if not _known(mean):
        return "--"
    words = number(mean).replace("\u2212", "-")
    if _known(low) and _known(high) and high > low:
        words += r" \pm " + number((high - low) / 2)
    return f"${words}$"
