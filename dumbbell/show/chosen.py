"""Choice of a run in a store."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from dumbbell.codes import Code
from dumbbell.console.words import many
from dumbbell.errors import DumbbellError, StoreError, StoreWarning, shortened
from dumbbell.lives import while_alive
from dumbbell.metrics import METRICS
from dumbbell.results import Results
from dumbbell.scenario import Scenario, read_scenario
from dumbbell.store import Store
from dumbbell.store.levels import fits, levels_of
from dumbbell.store.records import SHORT_ID, Planned, Record
from dumbbell.summary.flow_names import flow_title

#: Field that keeps tables over time, for messages.
KEEPS = "`sampling: {keep: [samples, queues]}`"
#: Metrics of a flow that stand beside its window.
MEASURED = ("cwnd_mean_packets", "cwnd_max_packets", "retransmissions", "warm_up_s")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A run of an experiment.

    Attributes:
        title: Experiment, levels, repeat and seed, for people.
        hints: How to see other runs.
        scenario: Scenario of the run.
        samples: Rows of the table `samples`, flows in the order of the file.
        queues: Rows of the table `queues`.
        pipes: Rows of the table `pipes`.
        titles: Flow → what it is called.
        measured: Flow → metric of `MEASURED` → value; unknown ones are left out.
    """

    title: str
    hints: Sequence[str]
    scenario: Scenario
    samples: pl.DataFrame
    queues: pl.DataFrame
    pipes: pl.DataFrame
    titles: Mapping[str, str] = field(default_factory=dict)
    measured: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChosenRun:
    """A finished run of an experiment.

    Attributes:
        title: Experiment, levels, repeat and engine, for people.
        hints: How to see other runs.
        record: Experiment.
        planned: The run.
        results: Tables of the run.
    """

    title: str
    hints: Sequence[str]
    record: Record
    planned: Planned
    results: Results


def choose(
    place: Path, cell: str | None, repeat: int | None, experiment: str | None = None
) -> Chosen:
    """Reads windows and queues of one run, see :func:`choose_run`.

    Raises:
        DumbbellError: There is no such run, or nothing over time is kept of it.
        StoreError: The store cannot be read, or every such run is damaged.
    """
    return _read(choose_run(place, cell, repeat, experiment))


def choose_run(
    place: Path, cell: str | None, repeat: int | None, experiment: str | None = None
) -> ChosenRun:
    """Finds one run of a store; no file of other runs is read.

    Args:
        place: Folder of the store.
        cell: Levels of factors, as `rtt=10 ms,cc=reno`; None: any.
        repeat: Repeat, counted from 0; None: any. Of several runs the first finished one is taken.
        experiment: Name or id of the experiment; None: the one run last.

    A damaged run is left out, with a `StoreWarning`.

    Raises:
        DumbbellError: There is no such run.
        StoreError: The store cannot be read, or every such run is damaged.
    """
    with Store(place, write=False, partial=True) as store:
        records = store.experiments()
        if not records:
            raise DumbbellError(f"{place}: no experiment was run here", code=Code.NO_EXPERIMENT)
        if experiment is None:
            record = records[-1]
        else:
            key, _ = store.chosen(experiment)
            record = next(one for one in records if one.id == key)
        wanted = levels_of(cell, record.info.factors) if cell is not None else {}
        fitting = [one for one in record.runs if fits(one, wanted) and repeat in (None, one.repeat)]
        if not fitting:
            raise DumbbellError(_no_repeat(record, repeat), code=Code.NO_RUN)
        finished = [one for one in record.runs if one.run in store]
        found, results = _first_whole(store, record, fitting)
        for sentence in store.sentences([]):
            warnings.warn(sentence, StoreWarning, stacklevel=2)
        if found is None:
            raise DumbbellError(
                f"{place}: no such run of {shortened(record.info.name)} is finished yet; "
                f"{len(finished)} of {many(len(record.runs), 'run is', 'runs are')}: "
                f"{store.run_again(record.file)}",
                code=Code.NO_RUN,
            )
    hints = [] if experiment is not None else _other_experiments(place, records)
    hints += _hints(record, found, len(finished))
    return ChosenRun(_title(record, found), hints, record, found, results)


def _first_whole(
    store: Store, record: Record, fitting: Sequence[Planned]
) -> tuple[Planned | None, Results]:
    """The first finished run that is not damaged. Raises `StoreError` if all are damaged."""
    damaged: StoreError | None = None
    for one in fitting:
        if one.run not in store:
            continue
        try:
            results = store.results(replace(record, runs=(one,)))
        except StoreError as error:
            damaged = damaged or error
            continue
        if damaged is not None:
            warnings.warn(f"another run is shown: {damaged}.", StoreWarning, stacklevel=3)
        return one, results
    return None, store.results(replace(record, runs=tuple(fitting)))  # raises if any is damaged


def _no_repeat(record: Record, repeat: int | None) -> str:
    """Message that no planned run fits."""
    last = max(one.repeat for one in record.runs)
    if repeat is not None and repeat > last:
        return f"--repeat {repeat}: repeats are counted from 0; the last one is {last}"
    return "--cell: the experiment does not combine these levels"


def _read(run: ChosenRun) -> Chosen:
    title, results = run.title, run.results
    where = {"run": run.planned.run}
    samples, queues = (results.of_repeat(name, where) for name in ("samples", "queues"))
    if samples.is_empty() and queues.is_empty():
        raise DumbbellError(
            f"{title}: no windows and no queues over time are kept of this run; the file's field"
            f" {KEEPS} keeps them",
            code=Code.NOT_KEPT,
        )
    scenario = read_scenario(results.runs["scenario"][0])
    titles = {row["flow"]: flow_title(row) for row in results.flows.iter_rows(named=True)}
    names = [flow["name"] for flow in scenario["flows"]]
    place = pl.col("flow").replace_strict(names, range(len(names)), default=len(names))
    samples = while_alive(samples, results.flows)
    samples = samples.sort(place, maintain_order=True)  # rows are in the order of first samples
    pipes, known = results.pipes, _measured(results)
    return Chosen(title, run.hints, scenario, samples, queues, pipes, titles, known)


def _measured(results: Results) -> dict[str, dict[str, float]]:
    """Flow → metric → value, of one run."""
    found: dict[str, dict[str, float]] = {}
    for name in MEASURED:
        values = METRICS[name].measure(results).drop_nans("value")
        for flow, value in values.select("flow", "value").iter_rows():
            found.setdefault(flow, {})[name] = value
    return found


def _title(record: Record, planned: Planned) -> str:
    parts = [f"{name}={level}" for name, level in planned.levels.items()]
    if record.info.repeats > 1:
        parts.append(f"repeat {planned.repeat}")
    if record.engine != "sim":
        parts.append(f"engine {record.engine}")
    shown = ", ".join(shortened(part) for part in parts)
    return shortened(record.info.name) + (f": {shown}" if shown else "")


def _other_experiments(place: Path, records: Sequence[Record]) -> list[str]:
    """Line about the other experiments of a store; none if there are none."""
    if len(records) < 2:
        return []
    other = records[-2]
    # The id tells experiments of one name apart, as those of two engines.
    names = [one.info.name for one in records]
    named = other.info.name if names.count(other.info.name) == 1 else other.id[:SHORT_ID]
    return [
        f"the last run of {len(records)} experiments; another: "
        f"--experiment {shortened(shlex.quote(named), 100)}; "
        f"all: dumbbell store ls {shlex.quote(str(place))}"
    ]


def _hints(record: Record, planned: Planned, finished: int) -> list[str]:
    """Lines about the other runs of the experiment."""
    cells = list(dict.fromkeys(tuple(one.levels.items()) for one in record.runs))
    parts = []
    if len(cells) > 1:
        here = tuple(planned.levels.items())
        other = dict(next(one for one in cells if one != here))
        differing = [name for name, level in here if other[name] != level]
        text = shlex.quote(",".join(f"{name}={other[name]}" for name in differing))
        parts.append(f"one of {len(cells)} cells; another: --cell {shortened(text, 100)}")
    if record.info.repeats > 1:
        other_repeat = 0 if planned.repeat else 1
        parts.append(f"one of {record.info.repeats} repeats; another: --repeat {other_repeat}")
    if finished < len(record.runs):
        parts.append(f"{finished} of {len(record.runs)} runs are finished")
    return parts
