"""Runs both sides of a gate over a suite, with more repeats until every quantity is decided."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell import units
from dumbbell.codes import Code
from dumbbell.compare.samples import Sample, samples
from dumbbell.errors import DumbbellError, about_file
from dumbbell.gate.queues import QueueSide, check_suite
from dumbbell.gate.sides import Side, StoreSide
from dumbbell.gate.suite import is_one_of, needs_linux_tcp, subjects
from dumbbell.gate.verdict import ENDS, JUDGED, ONCE, Quantity, Verdict, judge
from dumbbell.results import Results

#: Repeats at each look.
LOOKS = (6, 12, 24)


@dataclass(frozen=True, slots=True)
class Measured:
    """What is compared in an experiment.

    Attributes:
        metrics: Names.
        flows, pipes: Names of flows and pipes that count; `*` stands for any letters.
    """

    metrics: tuple[str, ...] = tuple(JUDGED)
    flows: tuple[str, ...] = ("*",)
    pipes: tuple[str, ...] = ("*",)

    def has(self, sample: Sample) -> bool:
        """True if a sample counts."""
        return is_one_of(sample.of.get("flow", ""), self.flows) and is_one_of(
            sample.of.get("pipe", ""), ("", *self.pipes)
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a gate found.

    Attributes:
        base, new: The sides.
        quantities: All quantities, as of the last look.
        repeats: Repeats of the last look.
        results: Experiment → results of both sides.
        subjects: Experiment → names of the flows under test; `*` stands for numbers.
        untold: Metrics that the new side never has.
        left_out: Experiments that a side cannot run.
        refused: Experiment → why an engine does not run it.
        late: True if the time was over before everything was decided.
        notes: Sentences on what was not compared, or is not alike.
    """

    base: Side | QueueSide | StoreSide
    new: Side | QueueSide | StoreSide
    quantities: list[Quantity]
    repeats: int
    results: Mapping[str, tuple[Results, Results]]
    subjects: Mapping[str, tuple[str, ...]]
    untold: tuple[str, ...]
    left_out: tuple[str, ...]
    refused: Mapping[str, str]
    late: bool
    notes: tuple[str, ...] = ()

    @property
    def passes(self) -> bool:
        """True if nothing got worse."""
        return all(one.verdict.passes for one in self.quantities)


def seconds_of(text: str) -> float:
    """Value of `--at-most`. Raises `DumbbellError`."""
    try:
        return units.positive(text, units.TIME) / 1e9
    except units.QuantityError as error:
        raise DumbbellError(f"--at-most: {error.alone()}", code=Code.GATE) from None


def run_gate(
    base: Side | QueueSide,
    new: Side | QueueSide,
    suite: Mapping[str, Mapping[str, Any]],
    store: Path,
    *,
    tolerance: float,
    looks: tuple[int, ...] = LOOKS,
    at_most_s: float | None = None,
    workers: int | None = None,
    levels: Mapping[str, str] | None = None,
    measured: Mapping[str, Measured] | None = None,
    keep_going: bool = False,
) -> Outcome:
    """Runs both sides and judges.

    Args:
        base, new: The sides.
        suite: Contents of experiments by name.
        store: Folder for the stores of both sides. Finished runs are not repeated.
        tolerance: Share of the value before that a change may have.
        looks: Repeats at each look; the gate ends at the first at which all is decided.
        at_most_s: Time after which no further look begins, s; None: no limit.
        workers: Runs at once; None: one per processor.
        levels: Factor → the only level to run; None: all cells.
        measured: Experiment → what is compared; None: the metrics of a gate.
        keep_going: Leaves out the experiments that an engine refuses.

    Raises:
        DumbbellError: The suite is not about sides of this kind, or a run is refused.
    """
    check_suite(suite, base, new)
    begin = time.monotonic()
    left_out = tuple(name for name, one in suite.items() if not _runs(one, base, new))
    suite = {name: one for name, one in suite.items() if name not in left_out}
    refused: dict[str, str] = {}
    for number, repeats in enumerate(looks):
        results = {}
        for name, contents in suite.items():
            try:
                with about_file("" if keep_going else name):
                    pair = [
                        dumbbell.run(
                            side.fitted(contents), repeats=repeats, engine=side.engine,
                            workers=workers, store=store / place / name, set=levels,
                        )
                        for place, side in (("base", base), ("new", new))
                    ]  # fmt: skip
            except DumbbellError as error:
                if not keep_going:
                    raise
                refused[name] = str(error)
                continue
            results[name] = (pair[0], pair[1])
        quantities, untold = judged_pairs(results, suite, measured or {}, tolerance, len(looks))
        is_open = any(one.verdict is Verdict.OPEN for one in quantities)
        late = at_most_s is not None and time.monotonic() - begin > at_most_s
        if not is_open or late or number == len(looks) - 1:
            break
    of_subject = {name: subjects(contents) for name, contents in suite.items()}
    return Outcome(
        base, new, quantities, repeats, results, of_subject, untold, left_out, refused,
        late and is_open,
    )  # fmt: skip


def judged_pairs(
    results: Mapping[str, tuple[Results, Results]],
    suite: Mapping[str, Mapping[str, Any]],
    measured: Mapping[str, Measured],
    tolerance: float,
    looks: int,
) -> tuple[list[Quantity], tuple[str, ...]]:
    """Quantities of both sides, judged, and the metrics that the new side never has.

    Args: as of `run_gate`; `results`: experiment → results of both sides.
    """
    rows = list(_samples(results, suite, measured))
    told = {now.metric for _, _, now in rows if now is not None} | set(ENDS)
    untold = tuple(dict.fromkeys(one.metric for _, one, _ in rows if one.metric not in told))
    return judge([one for one in rows if one[1].metric in told], tolerance, looks), untold


def _runs(contents: Mapping[str, Any], *sides: Side | QueueSide) -> bool:
    """True if all sides can run an experiment: flows that arrive are of Linux's TCP."""
    return not needs_linux_tcp(contents) or all(side.is_linux_tcp for side in sides)


def _samples(
    results: Mapping[str, tuple[Results, Results]],
    suite: Mapping[str, Mapping[str, Any]],
    measured: Mapping[str, Measured],
) -> Iterator[tuple[str, Sample, Sample | None]]:
    """Values of each quantity of the base, and those of the new side.

    Flows that arrive are measured together, not each by itself.
    """
    for name, (before, now) in results.items():
        arriving = [f"{one['name']}." for one in suite[name].get("arrivals") or []]
        of_subject = subjects(suite[name])
        what = measured.get(name, Measured())
        theirs = {one.key: one for one in samples(now, what.metrics)}
        for one in samples(before, what.metrics):
            flow = one.of.get("flow", "")
            if any(map(flow.startswith, arriving)) or not what.has(one):
                continue
            if one.metric not in ONCE or is_one_of(flow, of_subject):
                yield name, one, theirs.get(one.key)
