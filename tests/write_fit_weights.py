"""Fits the weights of `dumbbell fit` to simulated transfers, and writes dumbbell/fit/weights.py.

    python -m tests.write_fit_weights --cases 60 --seed 5000000

The cases must not be those that are judged. A conditional logit (McFadden 1974) on the logarithm of
distances: the weights and the power maximise the probability of the true algorithm and of those
that make the same transfer. Coordinate descent from the present weights, which a penalty keeps
near. The power, which is the temperature of the probabilities, is then fitted to cases that the
weights did not see: five times a fifth of the cases.
"""

from __future__ import annotations

import argparse
import pickle
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from dumbbell.fit.algorithm import possible, simulated
from dumbbell.fit.likelihood import USED, probabilities
from dumbbell.fit.path import estimate
from dumbbell.fit.twin import sketch
from dumbbell.fit.weights import POWER, WEIGHTS
from tests.fit.cases import ALGORITHMS, draw
from tests.fit.judge import read
from tests.fit.told import ROUNDS
from tests.helpers import ROOT

Floats = NDArray[np.float64]
_FOLDS, _STEPS, _PENALTY = 5, 10, 0.02
_POWERS = np.geomspace(1, 40, 60)
FILE = ROOT / "dumbbell/fit/weights.py"


@dataclass(frozen=True)
class Example:
    """Distances of the runs of each algorithm, and the names that are right."""

    found: dict[str, list[Floats]]
    right: frozenset[str]


def main(arguments: Sequence[str] | None = None) -> None:
    """Fits and writes the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seed", type=int, default=5_000_000)
    parser.add_argument("--keep", type=Path, help="file for the distances, to fit again")
    wanted = parser.parse_args(arguments)
    examples = _examples(wanted)
    before = loss(examples, USED, POWER)
    weights = fitted(examples, USED, POWER)
    power, held = power_of(examples)
    sys.stdout.write(
        f"{len(examples)} transfers; -log probability of the truth: {before:.3f} before, "
        f"{loss(examples, weights, power):.3f} after, {held:.3f} on cases not seen\n"
    )
    write(weights, power, len(examples), wanted)


def _examples(wanted: argparse.Namespace) -> list[Example]:
    """Examples of the seeds; with `--keep` those of the file are not made again."""
    keep = wanted.keep
    made: dict[int, Example | None] = {}
    if keep is not None and keep.exists():
        made = pickle.loads(keep.read_bytes())
    for seed in range(wanted.seed, wanted.seed + wanted.cases):
        if seed not in made:
            made[seed] = example(seed)
            if keep is not None:
                keep.write_bytes(pickle.dumps(made))
    return [one for one in made.values() if one is not None]


def example(seed: int) -> Example | None:
    """Runs all algorithms on the twin of a drawn case; None: it does not count."""
    case = draw(seed)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "case.pcapng"
        file.write_bytes(case.capture())
        seen = read(str(file))
    one = sketch(seen, estimate(seen))
    ends = (one.window_bytes, one.writes, one.send_bytes)
    names = possible(seen, ALGORITHMS)
    truth = case.truth.algorithm
    if any(end is not None for end in ends) or truth not in names or not one.rtt_known:
        return None
    runs, length = simulated(seen, one, names, draws=2, workers=1)
    if length < ROUNDS * one.rtt_s:
        return None
    groups = runs.groups(runs.shares())
    (right,) = (group for group in groups if truth in group)
    sys.stderr.write(f"{seed}: {truth}, {case.truth.path}\n")
    return Example(runs.found(), frozenset(right))


def loss(examples: Sequence[Example], weights: Floats, power: float) -> float:
    """Mean of -log probability of the right names."""
    total = 0.0
    for one in examples:
        shares = probabilities(one.found, weights, power)
        total -= np.log(max(1e-6, sum(shares[name] for name in one.right)))
    return float(total / len(examples))


def fitted(examples: Sequence[Example], weights: Floats, power: float) -> Floats:
    """Weights that fit, by coordinate descent on their logarithms."""

    def cost(logs: Floats) -> float:
        far = float(((logs - np.log(weights)) ** 2).mean())
        return loss(examples, np.exp(logs), power) + _PENALTY * far

    logs, step = np.log(weights), 0.6
    best = cost(logs)
    for _ in range(_STEPS):
        for place in range(len(logs)):
            for change in (step, -step):
                tried = logs.copy()
                tried[place] += change
                value = cost(tried)
                if value < best:
                    best, logs = value, tried
                    break
        step *= 0.8
    return np.exp(logs)


def power_of(examples: Sequence[Example]) -> tuple[float, float]:
    """Power that fits cases which the weights did not see, and their loss."""
    parts = []
    for fold in range(_FOLDS):
        others = [one for at, one in enumerate(examples) if at % _FOLDS != fold]
        parts.append((examples[fold::_FOLDS], fitted(others, USED, POWER)))
    losses = [
        sum(loss(part, weights, power) * len(part) for part, weights in parts) / len(examples)
        for power in _POWERS
    ]
    best = int(np.argmin(losses))
    return float(_POWERS[best]), losses[best]


def write(weights: Floats, power: float, number: int, wanted: argparse.Namespace) -> None:
    """Writes the module."""
    command = f"python -m tests.write_fit_weights --cases {wanted.cases} --seed {wanted.seed}"
    pairs = zip(WEIGHTS, weights, strict=True)
    lines = [
        '"""Weight of each group of `features`, and exponent of the likelihood.',
        "",
        f"Fitted to {number} simulated transfers, which are not judged:",
        f"`{command}`.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "WEIGHTS = {",
        *(f'    "{name}": {value:.2g},' for name, value in pairs),
        "}",
        "#: Exponent of the likelihood, see `likelihood`.",
        f"POWER = {power:.1f}",
    ]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
