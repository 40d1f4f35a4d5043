"""Results of an experiment as frames of polars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Any, Protocol, Unpack

import polars as pl

from dumbbell.console.words import many
from dumbbell.errors import did_you_mean, nearest_name
from dumbbell.rows import Where, parts_of, repeat_of, repeats_range, repeats_words, runs_of
from dumbbell.runs import ExperimentInfo

if TYPE_CHECKING:
    from dumbbell.figures import Figure, PlotOptions


class LazyTables(Protocol):
    """Tables that are made on demand: from files of a store, or from streams in memory."""

    @property
    def place(self) -> str:
        """Folder of the store, or words that there is none."""

    def load(self, name: str) -> pl.DataFrame:
        """Table with the rows of all runs."""

    def parts(self, name: str, columns: Sequence[str] | None) -> Iterator[pl.DataFrame]:
        """Columns of a table, some runs at a time. Default: all columns."""

    def has(self, name: str) -> bool:
        """Returns true if the table has rows."""

    def of_repeat(self, name: str, where: Where, repeat: int | None) -> pl.DataFrame:
        """See :meth:`Results.of_repeat`."""

    def of_runs(self, name: str, runs: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        """See :meth:`Results.of_runs`."""


#: Words in place of the folder of a store.
IN_MEMORY = "none, these are in memory"


def _check_names(tables: Mapping[str, object]) -> None:
    known = [field.name for field in fields(Results) if field.name != "experiment"]
    for name in tables:
        if name not in known:
            hint = did_you_mean(nearest_name(name, known))
            raise ValueError(f"{name}: no table of results{hint}; there are {', '.join(known)}")


@dataclass(frozen=True, repr=False, eq=False)
class Results:
    """Everything measured in an experiment.

    Results of a store read the tables over time (`samples`, `queues`, `drops`, `packets`, `hops`,
    `probes`) when they are first asked for; `parts` goes through one run by run. Results of runs
    without a store make every table when it is first asked for.

    Every frame begins with the columns `run` (hash of scenario, seed and engine version), one text
    column per factor holding the level as written, `repeat` (0, 1, …) and `seed`. Then each factor
    of quantities has its levels as numbers, with the unit in the name (`rtt_ms`). After them
    stand the columns of the table, named and typed as `dumbbell._core.tables()` says; units are
    suffixes (`_ns`, `_bytes`, `_packets`, `_bps`).

    Attributes:
        experiment: What was run.
        flows: One row per flow and run.
        samples: State of each TCP sender over time; empty unless the experiment keeps it.
        queues: Each queue over time; empty unless the experiment keeps it.
        pipes: Totals of each direction of each link, per run.
        drops: One row per dropped packet; empty unless the experiment keeps it.
        packets: One row per packet and tap; empty unless the experiment keeps a stretch.
        hops: One row per packet and link that it came to; empty unless the experiment keeps them.
        probes: One row per echo request and datagram; empty unless the experiment keeps them.
        transfers: One row per finished application transfer.
        connections: One row per Multipath TCP connection.
        programs: One row per program: end, output; empty without programs.
        program_files: One row per file that a program left in its working folder.
        sockets: TCP sockets of hosts that run programs over time; empty without programs.
        runs: One row per run: engine, engine_version, digest, wall_s, packets, events, scenario
            (JSON text).
    """

    experiment: ExperimentInfo
    flows: pl.DataFrame
    samples: pl.DataFrame
    queues: pl.DataFrame
    pipes: pl.DataFrame
    drops: pl.DataFrame
    packets: pl.DataFrame
    probes: pl.DataFrame
    transfers: pl.DataFrame
    connections: pl.DataFrame
    hops: pl.DataFrame
    programs: pl.DataFrame
    program_files: pl.DataFrame
    sockets: pl.DataFrame
    runs: pl.DataFrame

    def parts(self, name: str, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """Table in parts of whole runs, in design order, without loading it as a whole.

        Args:
            name: Name of the table.
            columns: Columns of the parts, besides `run`; None: all.
        """
        yield from parts_of(getattr(self, name), columns)

    def has(self, name: str) -> bool:
        """Returns true if a table has rows, without reading it."""
        frame: pl.DataFrame = getattr(self, name)
        return not frame.is_empty()

    def of_repeat(
        self, name: str, where: Where | None = None, repeat: int | None = None
    ) -> pl.DataFrame:
        """Rows of a table with these levels, of one repeat.

        Default: the first repeat with such rows. Raises `ValueError` for an unknown column.
        """
        return repeat_of(getattr(self, name), where or {}, repeat)

    def of_runs(self, name: str, runs: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        """Rows of some runs, read together: `run` and these columns, without their place."""
        return runs_of(getattr(self, name), runs, columns)

    @property
    def repeats_range(self) -> tuple[int, int]:
        """Least and most repeats of a cell."""
        return repeats_range(self.runs, self.experiment.factors)

    @property
    def repeats_words(self) -> str:
        """`10 repeats`, or `5–40 repeats` where cells differ."""
        return repeats_words(self.repeats_range)

    def with_tables(self, **tables: pl.DataFrame) -> Results:
        """Copy with other tables. Raises `ValueError` for a name that is none."""
        _check_names(tables)
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        return Results(**{**known, **tables})

    def in_memory(self) -> Results:
        """Copy with every table in memory, independent of the store."""
        known: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        return Results(**known)

    def plot(self, kind: str | None = None, **options: Unpack[PlotOptions]) -> Figure:
        """Draws a figure. See :func:`dumbbell.figures.plot`.

        Args:
            kind: Kind of figure, or name of a metric; None: what suits, and the title says which.
            options: Options of the kind.
        """
        from dumbbell.figures import plot

        return plot(self, kind, **options)

    def _summary(self) -> dict[str, str]:
        """Summary of the results, by heading."""
        from dumbbell.metrics import METRICS

        info = self.experiment
        engines = self.runs.select("engine", "engine_version").unique(maintain_order=True)
        cells = self.runs.select(*info.factors).unique().height if info.factors else 1
        factors = ", ".join(f"{name}: {len(levels)}" for name, levels in info.factors.items())
        design = f"{many(cells, 'cell')} × {self.repeats_words} = {many(self.runs.height, 'run')}"
        return {
            "experiment": info.name,
            "engine": ", ".join(" ".join(row) for row in engines.iter_rows()) or "none",
            "design": design + (f" ({factors})" if factors else ""),
            "metrics": f"{len(METRICS)}, `dumbbell.METRICS[name].measure(results)`",
            "store": self._place(),
        }

    def _place(self) -> str:
        return IN_MEMORY

    def __str__(self) -> str:
        return "\n".join(f"{name:<11} {text}" for name, text in self._summary().items())

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><th style='text-align: left'>{escape(name)}</th>"
            f"<td style='text-align: left'>{escape(text)}</td></tr>"
            for name, text in self._summary().items()
        )
        from dumbbell.summary.notebook import overview_html

        return f"<table>{''.join(rows)}</table>{overview_html(self)}"

    def __repr__(self) -> str:
        size = f"{many(self.runs.height, 'run')}, {many(self.flows.height, 'flow')}"
        return f"<Results of {self.experiment.name}: {size}>"


class LazyResults(Results):
    """Results with tables that are made when they are first asked for."""

    _lazy: LazyTables

    @classmethod
    def of(
        cls, experiment: ExperimentInfo, known: Mapping[str, pl.DataFrame], lazy: LazyTables
    ) -> LazyResults:
        """Results of known tables and of tables made on demand."""
        made = object.__new__(cls)
        made.__dict__.update(experiment=experiment, _lazy=lazy, **known)
        return made

    def __getattr__(self, name: str) -> pl.DataFrame:
        # called only until the table is read
        if name.startswith("_") or name not in {field.name for field in fields(self)}:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        frame = self._lazy.load(name)
        self.__dict__[name] = frame
        return frame

    def _place(self) -> str:
        return self._lazy.place

    def parts(self, name: str, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """See :meth:`Results.parts`."""
        if name in self.__dict__:
            yield from super().parts(name, columns)
        else:
            yield from self._lazy.parts(name, columns)

    def has(self, name: str) -> bool:
        """See :meth:`Results.has`."""
        return super().has(name) if name in self.__dict__ else self._lazy.has(name)

    def of_repeat(
        self, name: str, where: Where | None = None, repeat: int | None = None
    ) -> pl.DataFrame:
        """See :meth:`Results.of_repeat`."""
        if name in self.__dict__:
            return super().of_repeat(name, where, repeat)
        return self._lazy.of_repeat(name, where or {}, repeat)

    def of_runs(self, name: str, runs: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        """See :meth:`Results.of_runs`."""
        if name in self.__dict__:
            return super().of_runs(name, runs, columns)
        return self._lazy.of_runs(name, runs, columns)

    def with_tables(self, **tables: pl.DataFrame) -> Results:
        """See :meth:`Results.with_tables`."""
        _check_names(tables)
        made = object.__new__(LazyResults)
        made.__dict__.update({**self.__dict__, **tables})
        return made
