"""Ranking of congestion controls: every algorithm runs on the twin's path.

The likelihood of an algorithm is made by simulation (Wood 2010, "Statistical inference for noisy
nonlinear ecological dynamic systems"): the features of its runs, on paths drawn within the
uncertainty of the estimates and with the losses of the capture, are compared with those of the
capture. `likelihood` turns distances into probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from dumbbell.fit.features import NAMES, Features, Scale, distances, features
from dumbbell.fit.likelihood import far_from, probabilities
from dumbbell.fit.observe import Observed
from dumbbell.fit.replay import replaying
from dumbbell.fit.running import run_twin
from dumbbell.fit.twin import Sketch, drawn
from dumbbell.fit.weights import WEIGHTS

Floats = NDArray[np.float64]
#: Data packets of the stretch that is compared: more tell little and take long.
PACKETS = 20_000
#: Shortest stretch, in base RTTs, that may say more than "cannot tell".
ROUNDS_LEAST = 20
#: Weighted distance of the runs of two algorithms that make the same transfer, and most such names
#: that still are an answer.
ALIKE, ALIKE_MAX = 0.3, 4
#: Algorithms that stay for further draws, and log-likelihood below the best that excludes one.
_STAY, _FAR = 6, 6.0
#: Greatest probability that is said in words.
_WORDS = 0.99
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
        ranked: In the order of the groups.
        groups: The most probable first; names in a group make the same transfer on this path.
        told: False if the capture cannot tell.
        why: Why it can, or cannot.
        stretch_s: Compared time from the start of the capture.
        runs: Number of simulations.
    """

    ranked: tuple[Ranked, ...]
    groups: tuple[tuple[str, ...], ...]
    told: bool
    why: str
    stretch_s: float
    runs: int

    @property
    def probability(self) -> float:
        """Probability of the first group."""
        return sum(one.probability for one in self.ranked if one.name in self.groups[0])

    @property
    def share(self) -> str:
        """Probability of the first group in words: no model is surer than 99 %."""
        return "above 99%" if self.probability > _WORDS else f"{self.probability:.0%}"


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

    Args and steps: see `simulated`.
    """
    runs, length = simulated(
        seen, one, names, draws=draws, seed=seed, workers=workers, progress=progress
    )
    return _ranking(runs, one, length)


def simulated(
    seen: Observed,
    one: Sketch,
    names: Sequence[str],
    *,
    draws: int = 3,
    seed: int = 1,
    workers: int = 2,
    progress: Callable[[int, int, str], None] | None = None,
) -> tuple[Runs, float]:
    """Runs of all algorithms, more of those near the best, and the time that is compared, s.

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
    runs = Runs(features(seen, scale), {name: [] for name in names})

    # Queues lose packets as the capture's did, or the twin loses those of the capture.
    ways = (False, True) if len(seen.lost_nth) else (False,)

    def tried(task: tuple[str, int, bool]) -> tuple[str, Features | None]:
        name, number, again = task
        path = short if number == 0 else drawn(short, Random(f"{seed} {number}"))
        try:
            made = run_twin(replaying(path, seen) if again else path, name, seed + number, seen)
        except ValueError:  # the algorithm sent nothing on this path
            return name, None
        return name, features(made, scale)

    done = 0
    with ThreadPoolExecutor(workers) as pool:
        stay = list(names)
        for number in range(draws):
            tasks = [(name, number, again) for name in stay for again in ways]
            most = done + len(tasks) * (draws - number)
            for name, made in pool.map(tried, tasks):
                runs.made[name].append(made)
                done += 1
                if progress is not None:
                    progress(done, most, runs.best())
            shares = runs.shares()
            groups = runs.groups(shares)
            top = sum(shares[name] for name in groups[0])
            if number >= 1 and top > _SURE:
                break
            order = sorted(names, key=lambda name: -shares[name])
            stay = [name for name in order[:_STAY] if shares[name] > top * np.exp(-_FAR)]
            if len(groups) == 1:
                break
    return runs, length


@dataclass(frozen=True)
class Runs:
    """Features of the capture, and of the runs of each algorithm; None: it sent nothing."""

    target: Features
    made: dict[str, list[Features | None]]

    def found(self) -> dict[str, list[Floats]]:
        """Distances between capture and runs of the algorithms that ran."""
        nothing = np.full(len(self.target), 3.0)
        return {
            name: [nothing if one is None else distances(self.target, one) for one in runs]
            for name, runs in self.made.items()
            if runs
        }

    def shares(self) -> dict[str, float]:
        """Probabilities so far."""
        return probabilities(self.found())

    def best(self) -> str:
        """The most probable algorithm so far."""
        shares = self.shares()
        return max(shares, key=lambda name: shares[name])

    def groups(self, shares: Mapping[str, float]) -> tuple[tuple[str, ...], ...]:
        """Groups of algorithms that cannot be told apart, the most probable first."""
        left = sorted(shares, key=lambda name: -shares[name])
        found = []
        while left:
            group = tuple(name for name in left if name == left[0] or self._alike(left[0], name))
            found.append(group)
            left = [name for name in left if name not in group]
        return tuple(sorted(found, key=lambda group: -sum(shares[name] for name in group)))

    def _alike(self, one: str, other: str) -> bool:
        pairs = list(zip(self.made[one], self.made[other], strict=False))
        return bool(pairs) and all(
            a is not None and b is not None and far_from(distances(a, b)) < ALIKE for a, b in pairs
        )


def _ranking(runs: Runs, one: Sketch, length: float) -> Ranking:
    found, shares = runs.found(), runs.shares()
    groups = runs.groups(shares)
    ranked = tuple(
        Ranked(name, shares[name], tuple(float(v) for v in min(found[name], key=far_from)))
        for group in groups
        for name in group
    )
    told, why = _told(ranked, groups, one, length / max(one.rtt_s, 1e-5))
    done = sum(len(made) for made in runs.made.values())
    return Ranking(ranked, groups, told, why, length, done)


def _told(
    ranked: tuple[Ranked, ...], groups: tuple[tuple[str, ...], ...], one: Sketch, rounds: float
) -> tuple[bool, str]:
    """Whether the capture tells the algorithm, and why."""
    if rounds < ROUNDS_LEAST:
        return False, f"the transfer lasted {rounds:.0f} RTTs"
    if not one.rtt_known:
        return False, "the base RTT is not known, so windows cannot be compared"
    if one.ends:
        return False, "an end limited the transfer, not the congestion window"
    first = groups[0]
    alike = f"{', '.join(first)} make the same transfer on this path"
    if len(first) > ALIKE_MAX:
        return False, alike
    if sum(one.probability for one in ranked if one.name in first) < 0.5 and len(groups) > 1:
        near = [one.name for one in ranked if one.probability > 0.1]
        return False, f"{', '.join(near)} explain it about equally well"
    rest = [one for one in ranked if one.name not in first]
    if not rest:
        return True, alike if len(first) > 1 else "no other was tried"
    name, gap = _decided(ranked[0], rest[0])
    nearer = f"{ranked[0].name} is {gap:.2f} nearer than {rest[0].name}"
    decided = f"decided by the {name}: {nearer}"
    return True, f"{alike}; {decided}" if len(first) > 1 else decided


def _decided(best: Ranked, second: Ranked) -> tuple[str, float]:
    """Group of features that speaks most for the best against the second."""
    pairs = zip(WEIGHTS.items(), best.distances, second.distances, strict=True)
    gaps = [(weight * (b - a), name) for (name, weight), a, b in pairs]
    gap, name = max(gaps)
    return NAMES[name], gap
