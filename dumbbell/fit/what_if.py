"""What another congestion control, queue or buffer would have done: the twin with one change.

Each change runs on the same drawn paths as the twin itself. Where the algorithm is not certain, it
is drawn by its probability, too. So the intervals have the whole uncertainty of the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from dumbbell.catalogue import disciplines, single_path
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError, ExperimentError, about_file, did_you_mean, nearest_name
from dumbbell.experiment.load import load
from dumbbell.fit.algorithm import Ranking
from dumbbell.fit.observe import Observed
from dumbbell.fit.running import run_contents
from dumbbell.fit.twin import Sketch, drawn, experiment

#: Fields that a change may have.
FIELDS = ("cc", "queue", "buffer", "loss")
#: A run lasts so many times the capture, so that a slower transfer can end.
_LONGER = 1.5


@dataclass(frozen=True)
class Change:
    """A change of the twin: field of `FIELDS` and value; an empty field: none."""

    field: str
    value: str

    @property
    def name(self) -> str:
        """As on the command line."""
        return f"{self.field}={self.value}" if self.field else "as it is"


@dataclass(frozen=True)
class Outcome:
    """What a change does, over all draws: median, least and greatest.

    Attributes:
        change: The change.
        goodput_bps: Payload delivered per time of the capture.
        delay_s: 95 % quantile of the RTT less the base RTT.
        completion_s: Time until the payload of the capture was delivered; NaN: not within the run.
        lost_share: Lost packets per data packet.
    """

    change: Change
    goodput_bps: tuple[float, float, float]
    delay_s: tuple[float, float, float]
    completion_s: tuple[float, float, float]
    lost_share: tuple[float, float, float]


def changes(texts: Sequence[str]) -> list[Change]:
    """Changes as written: `cc=bbr3,cubic`.

    Raises:
        DumbbellError: A field or a name is unknown.
    """
    found = []
    for text in texts:
        field, sign, values = text.partition("=")
        if not sign or field not in FIELDS or not values.strip():
            near = nearest_name(field, FIELDS)
            hint = f"; did you mean {near}?" if near and near != field else ""
            raise DumbbellError(
                f"--what-if {text}: should be FIELD=VALUE,… of {', '.join(FIELDS)}{hint}",
                code=Code.SELECTION,
            )
        found += [Change(field, _known(field, value.strip())) for value in values.split(",")]
    return list(dict.fromkeys(found))


def _known(field: str, value: str) -> str:
    names: Sequence[str] = ()
    if field == "cc":
        names = single_path()
    elif field == "queue":
        names = tuple(name for name in disciplines() if name not in ("prio", "drr", "htb"))
    if names and value not in names:
        near = nearest_name(value, names)
        hint = did_you_mean(near)
        raise DumbbellError(
            f"--what-if {field}={value}: unknown{hint}; known: {', '.join(names)}",
            code=Code.SELECTION,
        )
    return value


def what_if(
    seen: Observed,
    one: Sketch,
    ranking: Ranking | None,
    wanted: Sequence[Change],
    *,
    draws: int = 5,
    seed: int = 1,
    workers: int = 2,
    progress: Callable[[int, int, str], None] | None = None,
) -> tuple[Outcome, ...]:
    """Outcomes of the twin as it is, and of each change.

    Raises:
        ExperimentError: A changed twin is no experiment: a value of `buffer` or `loss` is wrong.
    """
    every = [Change("", ""), *wanted]
    for change in every:
        _checked(one, ranking, change)
    tasks = [(change, number) for change in every for number in range(draws)]

    def run(task: tuple[Change, int]) -> tuple[float, float, float, float]:
        change, number = task
        chance = Random(f"{seed} what if {number}")
        path = one if number == 0 else drawn(one, chance)
        algorithm = _algorithm(ranking, chance, number)
        return _measured(
            run_contents(changed(path, algorithm, change), seed + number, seen), seen, path
        )

    rows: dict[str, list[tuple[float, float, float, float]]] = {one.name: [] for one in every}
    with ThreadPoolExecutor(workers) as pool:
        for done, (task, values) in enumerate(zip(tasks, pool.map(run, tasks), strict=True), 1):
            rows[task[0].name].append(values)
            if progress is not None:
                progress(done, len(tasks), task[0].name)
    return tuple(_outcome(change, rows[change.name]) for change in every)


def _checked(one: Sketch, ranking: Ranking | None, change: Change) -> None:
    try:
        with about_file("", field=False):
            load(changed(one, _algorithm(ranking, Random(0), 0), change)).cells[0].scenario  # noqa: B018
    except ExperimentError as error:
        raise DumbbellError(f"--what-if {change.name}: {error}", code=Code.SELECTION) from None


def _algorithm(ranking: Ranking | None, chance: Random, number: int) -> str:
    """The most probable algorithm for the first draw, then drawn by probability."""
    if ranking is None:
        return "cubic"
    if number == 0:
        return ranking.ranked[0].name
    weights = [one.probability for one in ranking.ranked]
    return chance.choices([one.name for one in ranking.ranked], weights)[0]


def changed(one: Sketch, algorithm: str, change: Change) -> dict[str, Any]:
    """Contents of the experiment of a changed twin."""
    contents = experiment(one, algorithm)
    contents["duration"] = f"{_LONGER * one.duration_s:.6f} s"
    forward = contents["links"][0]["forward"]
    tcp = contents["flows"][0]["tcp"]
    if change.field == "cc":
        tcp["congestion_control"] = change.value
    elif change.field == "loss":
        forward["loss"] = change.value if change.value != "0" else "none"
    elif change.field in ("queue", "buffer"):
        _shape(forward)
        for field in ("queue", "buffer"):
            forward.pop(field, None)
        forward[change.field] = change.value
    return contents


def _shape(forward: dict[str, Any]) -> None:
    """A queue in place of a policer: the same rate, shaped."""
    policer = forward.pop("policer", None)
    if policer is not None:
        forward["rate"] = policer["rate"]


def _measured(made: Observed, seen: Observed, path: Sketch) -> tuple[float, float, float, float]:
    total = float(seen.delivered_bytes[-1])
    within = made.ack_s <= seen.duration_s
    delivered = float(made.delivered_bytes[within][-1]) if within.any() else 0.0
    reached = np.searchsorted(made.delivered_bytes, total)
    ends = float(made.ack_s[reached]) if reached < len(made.ack_s) else float("nan")
    rtt = made.rtt_s[~np.isnan(made.rtt_s)]
    delay = float(np.quantile(rtt, 0.95)) - path.rtt_s if len(rtt) else float("nan")
    lost = len(made.lost_s) / max(1, len(made.sent_s))
    span = min(seen.duration_s, float(made.ack_s[-1]) if len(made.ack_s) else seen.duration_s)
    return delivered * 8 / span, max(0.0, delay), ends, lost


def _outcome(change: Change, rows: list[tuple[float, float, float, float]]) -> Outcome:
    columns = np.array(rows).T
    found = [
        (float(np.median(values)), float(values.min()), float(values.max())) for values in columns
    ]
    return Outcome(change, *found)
