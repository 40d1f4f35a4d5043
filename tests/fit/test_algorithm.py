"""The congestion control of drawn cases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dumbbell.errors import DumbbellError
from dumbbell.fit.algorithm import rank
from dumbbell.fit.command import plugins as plugins_of
from dumbbell.fit.fitting import fit
from dumbbell.fit.likelihood import probabilities
from dumbbell.fit.path import estimate
from dumbbell.fit.twin import sketch
from tests.fit.cases import draw
from tests.fit.judge import read
from tests.helpers import ROOT


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
    weights = np.array([1.0, 2.0])
    one, other = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    found = probabilities({"a": [one], "b": [one, other]}, weights, power=3.0)
    likely_a, likely_b = 2.0**-3, (2.0**-3 + 3.0**-3) / 2
    assert found["a"] == pytest.approx(likely_a / (likely_a + likely_b))


def test_the_ratio_of_distances_counts() -> None:
    """The same difference decides near the capture, and not far from it."""
    weights = np.array([1.0])

    def first(near: float, far: float) -> float:
        return probabilities({"a": [np.array([near])], "b": [np.array([far])]}, weights, 8.0)["a"]

    assert first(0.1, 2.1) > 0.99
    assert first(20.0, 22.0) < 0.75


def test_a_plugin_is_ranked_beside_the_others(tmp_path: Path) -> None:
    """CUBIC in Python sends the packets of the built-in: both are one group, and Vegas is not."""
    case = draw(7, algorithms=("cubic",), paths={"drop-tail": 1})
    case.experiment["duration"] = "3 s"
    file = tmp_path / "c.pcapng"
    file.write_bytes(case.capture())
    plugins = plugins_of([f"mine={ROOT / 'examples/plugins/cubic.py'}"])
    found = fit(file, algorithms=["cubic", "vegas"], plugins=plugins, draws=1).ranking
    assert found is not None
    assert [set(group) for group in found.groups] == [{"cubic", "mine"}, {"vegas"}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("cubic.py", "cubic is taken; give another name"),
        ("mine=nothing.py", "No such file"),
        ("mine=README.md", "a file that ends with .so, .wasm, .py"),
    ],
)
def test_what_is_no_plugin_is_named(text: str, reason: str) -> None:
    with pytest.raises(DumbbellError, match=f"--plugin {text}: {reason}"):
        plugins_of([text])
