"""The congestion control of drawn cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell.fit.algorithm import probabilities, rank
from dumbbell.fit.path import estimate
from dumbbell.fit.twin import sketch
from tests.fit.cases import draw
from tests.fit.judge import read


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["bbr", "vegas", "highspeed", "reno"])
def test_the_algorithm_is_first(algorithm: str, tmp_path: Path) -> None:
    case = draw(7, algorithms=(algorithm,), paths={"drop-tail": 1})
    file = tmp_path / "c.pcapng"
    file.write_bytes(case.capture())
    seen = read(str(file))
    names = ["bbr", "bbr3", "vegas", "highspeed", "reno", "illinois", "scalable"]
    told: list[int] = []
    found = rank(
        seen, sketch(seen, estimate(seen)), names, draws=2, workers=1,
        progress=lambda runs, most, best: told.append(runs),
    )  # fmt: skip
    assert found.ranked[0].name == algorithm
    assert sum(one.probability for one in found.ranked) == pytest.approx(1)
    assert told == list(range(1, found.runs + 1))


def test_probabilities_are_those_of_the_mean_likelihood() -> None:
    import numpy as np

    weights = np.array([1.0, 2.0])
    one, other = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    found = probabilities({"a": [one], "b": [one, other]}, weights)
    likely_a, likely_b = np.exp(-1), (np.exp(-1) + np.exp(-2)) / 2
    assert found["a"] == pytest.approx(likely_a / (likely_a + likely_b))
