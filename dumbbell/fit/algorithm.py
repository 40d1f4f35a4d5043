"""Ranking of congestion controls: every algorithm runs on the twin's path.

The likelihood of an algorithm is made by simulation (Wood 2010, "Statistical inference for noisy
nonlinear ecological dynamic systems"): the features of its runs, on paths drawn within the
uncertainty of the estimates, are compared with those of the capture. `weights` turns distances into
log-likelihoods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from dumbbell.fit.features import NAMES, Scale, distances, features
from dumbbell.fit.observe import Observed
from dumbbell.fit.running import run_twin
from dumbbell.fit.twin import Sketch, drawn
from dumbbell.fit.weights import WEIGHTS

Floats = NDArray[np.float64]
#: Data packets of the stretch that is compared: more tell little and take long.
PACKETS = 20_000
#: Shortest stretch, in base RTTs, that may say more than "cannot tell".
ROUNDS_LEAST = 20
#: Algorithms that stay for further draws, and log-likelihood below the best that excludes one.
_STAY, _FAR = 6, 6.0
#: Probability that ends the draws.
_SURE = 0.97


@dataclass(frozen=True)
class Ranked:
    """An algorithm with its probability, and the distances of its nearest run."""

    name: str
    probability: float
    distances: tuple[float, ...]


@dataclass(frozen=True)
class Ranking:
    """Algorithms by probability.

    Attributes:
        ranked: The most probable first.
        told: False if the capture cannot tell.
        why: Why it can, or cannot.
        stretch_s: Compared time from the start of the capture.
        runs: Number of simulations.
    """

    ranked: tuple[Ranked, ...]
    told: bool
    why: str
    stretch_s: float
    runs: int


def possible(seen: Observed, names: Sequence[str]) -> list[str]:
    """Algorithms that the handshake allows: DCTCP and Prague need ECN (RFC 8257 §3.1, RFC 9331)."""
    if seen.ecn != "none":
        return list(names)
    return [name for name in names if name not in ("dctcp", "prague")]


def stretch(seen: Observed) -> float:
    """Time from the start that has `PACKETS` data packets, s."""
    if len(seen.sent_s) <= PACKETS:
        return seen.duration_s
    return float(seen.sent_s[PACKETS])


def scale_of(one: Sketch, seen: Observed, duration_s: float) -> Scale:
    """Scale of the features: base RTT, and the bytes that fill the path."""
    rate = max(bps for _, bps in one.steps) if one.policer is None else one.policer[0]
    rtt = max(one.rtt_s, 1e-5)
    return Scale(rtt, max(2.0 * seen.payload_bytes, rate * rtt / 8), duration_s)


def rank(
    seen: Observed,
    one: Sketch,
    names: Sequence[str],
    *,
    draws: int = 3,
    seed: int = 1,
    workers: int = 2,
    progress: Callable[[int, int, str], None] | None = None,
) -> Ranking:
    """Ranks algorithms.

    Args:
        seen: The capture.
        one: Its twin's values.
        names: Algorithms to try.
        draws: Paths drawn for an algorithm that stays near the best; the first is the
            estimate itself.
        seed: Seed of all draws.
        workers: Simulations at once.
        progress: Told the number of runs so far, the most that may follow, and the best name.
    """
    length = min(stretch(seen), one.duration_s)
    scale = scale_of(one, seen, length)
    short = replace(one, duration_s=length, payload_total=None) if length < one.duration_s else one
    target = features(seen, scale)
    found: dict[str, list[Floats]] = {name: [] for name in names}
    runs = 0

    def tried(task: tuple[str, int]) -> tuple[str, Floats]:
        name, number = task
        chance = Random(f"{seed} {number}")
        path = short if number == 0 else drawn(short, chance)
        try:
            made = run_twin(path, name, seed + number, seen)
        except ValueError:  # the algorithm sent nothing on this path
            return name, np.full(len(target), 3.0)
        return name, distances(target, features(made, scale))

    with ThreadPoolExecutor(workers) as pool:
        stay = list(names)
        for number in range(draws):
            most = runs + len(stay) * (draws - number)
            for name, distance in pool.map(tried, [(name, number) for name in stay]):
                found[name].append(distance)
                runs += 1
                if progress is not None:
                    progress(runs, most, _best(found))
            shares = probabilities(found)
            top = max(shares.values())
            if number >= 1 and top > _SURE:
                break
            order = sorted(names, key=lambda name: -shares[name])
            stay = [name for name in order[:_STAY] if shares[name] > top * np.exp(-_FAR)]
            if len(stay) == 1:
                break
    return _ranking(found, seen, one, length, runs)


def _best(found: dict[str, list[Floats]]) -> str:
    known = {name: values for name, values in found.items() if values}
    shares = probabilities(known)
    return max(shares, key=lambda name: shares[name])


def log_likelihood(values: Sequence[Floats], weights: Floats) -> float:
    """Log-likelihood of an algorithm: the mean over its draws."""
    logs = np.array([-float(weights @ one) for one in values])
    top = logs.max()
    return float(top + np.log(np.exp(logs - top).mean()))


def probabilities(
    found: dict[str, list[Floats]], weights: Floats | None = None
) -> dict[str, float]:
    """Probabilities with equal priors."""
    used = np.array(list(WEIGHTS.values())) if weights is None else weights
    logs = {name: log_likelihood(values, used) for name, values in found.items() if values}
    top = max(logs.values())
    parts = {name: float(np.exp(value - top)) for name, value in logs.items()}
    total = sum(parts.values())
    return {name: part / total for name, part in parts.items()}


def _ranking(
    found: dict[str, list[Floats]], seen: Observed, one: Sketch, length: float, runs: int
) -> Ranking:
    shares = probabilities(found)
    used = np.array(list(WEIGHTS.values()))
    order = sorted(shares, key=lambda name: -shares[name])
    ranked = tuple(
        Ranked(
            name,
            shares[name],
            tuple(float(v) for v in min(found[name], key=lambda d: float(used @ d))),
        )
        for name in order
    )
    rounds = length / max(one.rtt_s, 1e-5)
    told, why = _told(ranked, seen, one, rounds)
    return Ranking(ranked, told, why, length, runs)


def _told(
    ranked: tuple[Ranked, ...], seen: Observed, one: Sketch, rounds: float
) -> tuple[bool, str]:
    """Whether the capture tells the algorithm, and why."""
    if rounds < ROUNDS_LEAST:
        return False, f"the transfer lasted {rounds:.0f} RTTs"
    if one.window_bytes is not None or one.writes is not None or one.send_bytes is not None:
        return False, "an end limited the transfer, not the congestion window"
    best, second = ranked[0], ranked[1] if len(ranked) > 1 else ranked[0]
    if best.probability < 0.5 and len(ranked) > 1:
        near = [one.name for one in ranked if one.probability > 0.1]
        return False, f"{', '.join(near)} explain it about equally well"
    name, gap = _decided(best, second)
    nearer = f"{best.name} is {gap:.2f} nearer than {second.name}"
    return True, f"decided by the {name}: {nearer}"


def _decided(best: Ranked, second: Ranked) -> tuple[str, float]:
    """Group of features that speaks most for the best against the second."""
    weights = list(WEIGHTS.items())
    gaps = [
        (weight * (b - a), name)
        for (name, weight), a, b in zip(weights, best.distances, second.distances, strict=True)
    ]
    gap, name = max(gaps)
    return NAMES[name], gap
