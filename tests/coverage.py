"""Coverage of the interval over few repeats, by simulation: table of `docs/models/metrics.md`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dumbbell.metrics.statistics import interval, weights
from dumbbell.studies.quantities import Drawn
from tests.helpers import ROOT

PAGE = ROOT / "docs" / "models" / "metrics.md"
COUNTS = range(2, 13)
#: Samples of each number of repeats, those of the ratio, its draws, and the seed.
_SAMPLES, _FEWER, _DRAWS, _SEED = 4000, 1000, 2000, 20_261_130
_Floats = npt.NDArray[np.float64]
_Draw = Callable[[np.random.Generator, tuple[int, int]], _Floats]
#: Distribution → its draws and its mean.
DISTRIBUTIONS: dict[str, tuple[_Draw, float]] = {
    "normal": (lambda generator, size: generator.normal(size=size), 0.0),
    "exponential": (lambda generator, size: generator.exponential(size=size), 1.0),
    "lognormal, σ = 1": (lambda generator, size: generator.lognormal(size=size), math.exp(0.5)),
}
_BLOCK = re.compile(r"<!-- coverage -->\n.*?<!-- end coverage -->", re.DOTALL)


def student(name: str, count: int) -> float:
    """Share of samples whose interval of Student's t holds the true mean."""
    draw, mean = DISTRIBUTIONS[name]
    held = [
        one.low <= mean <= one.high for one in map(interval, draw(_generator(), (_SAMPLES, count)))
    ]
    return sum(held) / len(held)


def ratio(count: int) -> float:
    """Share of intervals of a claim, a ratio of two means drawn jointly, that hold the true one.

    Samples without an interval are left out.
    """
    generator = _generator()
    shared, first, second = generator.normal(size=(3, _FEWER, count)) * math.sqrt(0.5)
    above = (10 + shared + first) @ weights(count, _DRAWS).T
    below = (5 + shared + second) @ weights(count, _DRAWS).T
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = np.maximum(above, 0) / np.maximum(below, 0)
    found = [Drawn(2.0, one, count).interval for one in drawn]
    held = [one.low <= 2 <= one.high for one in found if not math.isnan(one.low)]
    return sum(held) / len(held)


def _generator() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(_SEED))


def measured() -> dict[int, tuple[list[float], float]]:
    """Repeats → coverage of Student's t for each distribution, and of a ratio."""
    return {
        count: ([student(name, count) for name in DISTRIBUTIONS], ratio(count)) for count in COUNTS
    }


def table(found: dict[int, tuple[list[float], float]]) -> str:
    """Block of the page."""
    names = [f"Student's t, {name}" for name in DISTRIBUTIONS]
    head = ["repeats", *names, "ratio"]
    rows = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for count, (own, other) in found.items():
        rows.append(
            f"| {count} | " + " | ".join(f"{100 * one:.0f} %" for one in [*own, other]) + " |"
        )
    return "<!-- coverage -->\n" + "\n".join(rows) + "\n<!-- end coverage -->"


if __name__ == "__main__":
    PAGE.write_text(_BLOCK.sub(table(measured()), PAGE.read_text(encoding="utf-8")), "utf-8")
