"""Rankings of algorithms beside the truth, and how well their probabilities are calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dumbbell.fit.algorithm import ALIKE_MAX, possible, rank
from dumbbell.fit.observe import Observed
from dumbbell.fit.path import Path
from dumbbell.fit.twin import sketch
from tests.fit.cases import ALGORITHMS, Truth

#: RTTs above which a transfer with a loss or a probe counts.
ROUNDS = 50
_BANDS = ((0.0, 0.5), (0.5, 0.8), (0.8, 0.9), (0.9, 0.97), (0.97, 1.01))


@dataclass(frozen=True)
class Told:
    """Ranking of a case.

    Attributes:
        truth: The case.
        place: Place of the group of the true algorithm, from 1; a group of more than `ALIKE_MAX`
            names is no answer.
        alone: True if it is in no group with others.
        probability: Probability of the first group.
        first: Its names.
        told: False if the ranking says "cannot tell".
        counts: True for transfers above `ROUNDS` RTTs with a loss, or a probe.
    """

    truth: Truth
    place: int
    alone: bool
    probability: float
    first: tuple[str, ...]
    told: bool
    counts: bool


#: Algorithms that probe also without losses.
_PROBES = ("bbr", "bbr3", "copa", "ledbat++", "vegas", "nv", "cdg")


def told(truth: Truth, seen: Observed, path: Path) -> Told:
    """Ranks the algorithms of a case."""
    try:
        one = sketch(seen, path)
    except ValueError:  # the path is not known
        return Told(truth, len(ALGORITHMS), False, 0.0, (), False, False)
    found = rank(seen, one, possible(seen, ALGORITHMS), draws=2, workers=1)
    places = [at for at, group in enumerate(found.groups, 1) if truth.algorithm in group]
    group = found.groups[places[0] - 1] if places else ()
    answers = bool(places) and len(group) <= ALIKE_MAX
    rounds = found.stretch_s / max(one.rtt_s, 1e-5)
    moves = len(seen.lost_s) > 0 or truth.algorithm in _PROBES
    return Told(
        truth,
        places[0] if answers else len(found.groups) + 1,
        len(group) == 1,
        found.probability,
        found.groups[0],
        found.told,
        rounds > ROUNDS and moves,
    )


def algorithm_table(found: Sequence[Told]) -> list[str]:
    """Share of rankings with the true algorithm first, and among the first two; calibration.

    An algorithm is first if it is in the first group of names that make the same transfer.
    """
    counts = [one for one in found if one.counts]
    said = [one for one in counts if one.told]
    lines = ["| transfers | number | first | … and no other with it | among the first two |",
             "| --- | ---: | ---: | ---: | ---: |"]  # fmt: skip
    rows = (("all", found), (f"more than {ROUNDS} RTTs, with a loss or a probe", counts),
            ("… and not \"cannot tell\"", said))  # fmt: skip
    for name, group in rows:
        first, second = ([one.place <= most for one in group] for most in (1, 2))
        alone = [one.place == 1 and one.alone for one in group]
        shares = " | ".join(_percent(right) for right in (first, alone, second))
        lines.append(f"| {name} | {len(group)} | {shares} |")
    lines += ["", "| probability, if told | number | right |", "| --- | ---: | ---: |"]
    for low, high in _BANDS:
        band = [one.place == 1 for one in found if one.told and low <= one.probability < high]
        lines.append(
            f"| {100 * low:.0f} % to {100 * min(1, high):.0f} % | {len(band)} | {_percent(band)} |"
        )
    return lines


def _percent(right: Sequence[bool]) -> str:
    return f"{100 * sum(right) / len(right):.0f} %" if right else "–"
