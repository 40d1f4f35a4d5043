"""Probabilities of algorithms from the distances of their runs.

A twin's path is never quite right, so all runs are some way off. What counts is how much nearer one
algorithm is than another, relative to the distance of the nearest: the likelihood falls as a power
of the weighted distance (a Student's t has such tails; Lange et al. 1989, "Robust statistical
modeling using the t distribution").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dumbbell.fit.weights import POWER, WEIGHTS

Floats = NDArray[np.float64]
USED = np.array(list(WEIGHTS.values()))


def far_from(one: Floats, weights: Floats = USED) -> float:
    """Weighted distance."""
    return float(weights @ one)


def log_likelihood(values: Sequence[Floats], weights: Floats = USED, power: float = POWER) -> float:
    """Log-likelihood of an algorithm: the mean over its draws."""
    logs = np.array([-power * np.log1p(far_from(one, weights)) for one in values])
    top = logs.max()
    return float(top + np.log(np.exp(logs - top).mean()))


def probabilities(
    found: Mapping[str, Sequence[Floats]], weights: Floats = USED, power: float = POWER
) -> dict[str, float]:
    """Probabilities with equal priors."""
    logs = {name: log_likelihood(runs, weights, power) for name, runs in found.items() if len(runs)}
    top = max(logs.values())
    parts = {name: float(np.exp(value - top)) for name, value in logs.items()}
    total = sum(parts.values())
    return {name: part / total for name, part in parts.items()}
