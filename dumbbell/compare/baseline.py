"""Baseline of an experiment: values of an earlier version, against which later ones are tested."""

from __future__ import annotations

import enum
import hashlib
import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dumbbell.codes import Code
from dumbbell.compare.samples import USUAL, Sample, samples
from dumbbell.errors import DumbbellError, shortened
from dumbbell.files.input import read_file
from dumbbell.files.output import write_json
from dumbbell.metrics import METRICS
from dumbbell.metrics.numbers import number
from dumbbell.metrics.paired import ALPHA, Paired, compared, holm
from dumbbell.results import Results

FORMAT = 1
MAX_BYTES = 64 << 20
#: Direction in which a metric gets better. A change of any other metric is neither.
BETTER = {
    "goodput_mbps": 1, "jain": 1, "utilisation": 1, "rtt_ms": -1, "loss_ratio": -1,
    "retransmissions": -1,
}  # fmt: skip


#: A pipe that carries less of what it could is no bottleneck: its use is neither good nor bad.
_BUSY = 0.5
#: Fewer repeats have no power over dozens of quantities: the tolerance alone decides.
LEAST_TESTED = 5


class Change(enum.Enum):
    """Result of the comparison of a quantity with its baseline."""

    NONE = "no difference shown"
    SMALL = "differs by less than the tolerance"
    BETTER = "better"
    WORSE = "worse"
    OTHER = "changed"
    MISSING = "not measured any more"
    NEW = "not in the baseline"

    @property
    def passes(self) -> bool:
        """True if the test passes."""
        return self not in (Change.WORSE, Change.OTHER, Change.MISSING)


@dataclass(frozen=True, slots=True)
class Baseline:
    """Values of an experiment, kept in a file of JSON.

    Attributes:
        experiment, engine, engine_version: What made the values.
        seed: Seed of the first repeat.
        digest: Hash over the digests of all runs.
        samples: The values.
    """

    experiment: str
    engine: str
    engine_version: str
    seed: int
    digest: str
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity beside its baseline. `p` is adjusted by Holm over all quantities of the test."""

    sample: Sample
    before: float
    now: float
    paired: Paired | None
    p: float
    change: Change

    @property
    def words(self) -> str:
        """`goodput_mbps (rtt=10 ms, flow1): 9.1, before 9.5 Mbit/s: worse by 4.2 % (p 0.001)`."""
        unit = METRICS[self.sample.metric].unit
        place = f" ({self.sample.place})" if self.sample.place else ""
        values = f"{number(self.now)}, before {number(self.before)} {unit}".rstrip()
        told = ""
        if self.change in (Change.BETTER, Change.WORSE, Change.OTHER) and self.before:
            percent = 100 * abs(self.now / self.before - 1)
            told = f" by {percent:.0f} %" if percent >= 10 else f" by {percent:.2g} %"
        if not math.isnan(self.p) and not self.change.passes:
            told += f" (p {self.p:.2g})" if self.p > 0 else " (equally in each repeat)"
        return f"{self.sample.metric}{place}: {values}: {self.change.value}{told}"


def baseline_of(results: Results, metrics: Sequence[str]) -> Baseline:
    """Baseline of results: the usual metrics and those named."""
    engines = results.runs.select("engine", "engine_version").row(0)
    digests = "".join(sorted(results.runs["digest"]))
    names = list(dict.fromkeys([*USUAL, *metrics]))
    return Baseline(
        results.experiment.name,
        engines[0],
        engines[1],
        results.experiment.seed,
        hashlib.sha256(digests.encode()).hexdigest(),
        tuple(samples(results, names)),
    )


def write(path: Path, baseline: Baseline) -> None:
    """Writes a baseline. Raises `OutputError`."""
    write_json(path, {"format": FORMAT, **asdict(baseline)})


def read(path: Path) -> Baseline:
    """Reads a baseline. Raises `DumbbellError` if it is none."""
    again = f"`dumbbell check FILE --baseline {shlex.quote(str(path))} --update` writes one"
    try:
        data = read_file(path, MAX_BYTES)
    except OSError as error:
        raise DumbbellError(
            f"{path}: no baseline: {error.strerror}; {again}", code=Code.BASELINE
        ) from None
    try:
        fields: dict[str, Any] = json.loads(data)
        if fields.pop("format") != FORMAT:
            raise ValueError("its format is unknown to this program")
        made = tuple(_sample(one) for one in fields.pop("samples"))
        return Baseline(**fields, samples=made)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        what = shortened(what, 100)
        raise DumbbellError(
            f"{path}: not a baseline ({what}); {again}", code=Code.BASELINE
        ) from None


def _sample(fields: dict[str, Any]) -> Sample:
    if fields["metric"] not in METRICS:
        raise ValueError(f"unknown metric {fields['metric']!r}")
    repeats = tuple(map(int, fields.pop("repeats")))
    values = tuple(map(float, fields.pop("values")))
    if len(repeats) != len(values) or not repeats:
        raise ValueError("a quantity needs as many repeats as values")
    return Sample(**fields, repeats=repeats, values=values)


def against(
    now: Baseline,
    before: Baseline,
    tolerance: float,
    chosen: Mapping[str, Sequence[str]] | None = None,
) -> list[Quantity]:
    """Compares the values of now with those before, repeat by repeat.

    `chosen`: factor → levels that this run was asked for; None: all.

    A quantity has changed if the difference is larger than `tolerance` (share of the value
    before), and if a paired test shows it at 5 % over all quantities together. With fewer than
    `LEAST_TESTED` repeats the tolerance alone decides.

    Raises `DumbbellError` if they are of different experiments or seeds.
    """
    for name in ("experiment", "seed"):
        mine, theirs = getattr(now, name), getattr(before, name)
        if mine != theirs:
            raise DumbbellError(
                f"the baseline has the {name} {shortened(theirs)}, this run {shortened(mine)}: "
                "--update writes a new one",
                code=Code.BASELINE,
            )
    old = {one.key: one for one in before.samples}
    new = {one.key: one for one in now.samples}
    both = {key: compared(*old[key].common(new[key])) for key in new if key in old}
    adjusted = dict(zip(both, holm([one.p for one in both.values()]), strict=True))
    found = [
        _judged(old[key], new[key], pair, adjusted[key], tolerance) for key, pair in both.items()
    ]
    nan = math.nan
    for key, one in old.items():
        if key not in new and _is_asked(one, chosen or {}):
            found.append(Quantity(one, _mean(one.values), nan, None, nan, Change.MISSING))
    for key, one in new.items():
        if key not in old:
            found.append(Quantity(one, nan, _mean(one.values), None, nan, Change.NEW))
    return [one for one in found if not _is_idle(one.sample, one.before, one.now)]


def _is_asked(one: Sample, chosen: Mapping[str, Sequence[str]]) -> bool:
    return all(level in chosen.get(name, [level]) for name, level in one.levels.items())


def count_of(baseline: Baseline) -> int:
    """Number of quantities that a comparison with these values judges."""
    return sum(not _is_idle(one, _mean(one.values)) for one in baseline.samples)


def _is_idle(sample: Sample, *means: float) -> bool:
    known = [value for value in means if not math.isnan(value)]
    return sample.metric == "utilisation" and all(value < _BUSY for value in known)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _judged(old: Sample, new: Sample, pair: Paired, p: float, tolerance: float) -> Quantity:
    before, now = map(_mean, old.common(new))
    moved = pair.difference.mean
    if math.isnan(moved):  # no common repeat
        change = Change.MISSING
    elif moved == 0 or (pair.difference.count >= LEAST_TESTED and p >= ALPHA):
        change = Change.NONE
    elif abs(moved) <= tolerance * abs(before):
        change = Change.SMALL
    elif new.metric not in BETTER:
        change = Change.OTHER
    else:
        change = Change.BETTER if moved * BETTER[new.metric] > 0 else Change.WORSE
    return Quantity(new, before, now, pair, p, change)
