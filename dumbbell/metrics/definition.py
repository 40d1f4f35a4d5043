"""Definition of a metric: a number computed from stored tables alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from dumbbell.errors import DefectWarning


class ExperimentFacts(Protocol):
    """Factors and levels of an experiment, in order, as metrics need them."""

    @property
    def name(self) -> str:
        """Name of the experiment."""
        ...

    @property
    def factors(self) -> Mapping[str, list[str]]:
        """Each factor with its levels as written, in order."""
        ...


class Tables(Protocol):
    """The stored tables of an experiment; `dumbbell.Results` is one."""

    @property
    def experiment(self) -> ExperimentFacts:
        """The experiment."""
        ...

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow and run."""
        ...

    @property
    def pipes(self) -> pl.DataFrame:
        """Totals of each direction of each link, per run."""
        ...

    @property
    def programs(self) -> pl.DataFrame:
        """One row per program."""

    @property
    def program_files(self) -> pl.DataFrame:
        """One row per file that a program left."""

    @property
    def sockets(self) -> pl.DataFrame:
        """State of TCP sockets of hosts that run programs, over time."""

    @property
    def transfers(self) -> pl.DataFrame:
        """One row per finished application transfer, per run."""
        ...

    @property
    def samples(self) -> pl.DataFrame:
        """State of each TCP sender over time; empty unless it is kept."""
        ...

    @property
    def drops(self) -> pl.DataFrame:
        """One row per dropped packet; empty unless they are kept."""
        ...

    @property
    def connections(self) -> pl.DataFrame:
        """One row per Multipath TCP connection."""
        ...

    @property
    def packets(self) -> pl.DataFrame:
        """One row per packet and tap; empty unless they are kept."""
        ...

    @property
    def queues(self) -> pl.DataFrame:
        """Each queue over time; empty unless it is kept."""
        ...

    @property
    def probes(self) -> pl.DataFrame:
        """One row per echo request and datagram; empty unless they are kept."""
        ...

    @property
    def runs(self) -> pl.DataFrame:
        """One row per run."""
        ...

    def has(self, name: str) -> bool:
        """Returns true if a table has rows; reads none of it."""
        ...

    def parts(self, name: str, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """Some columns of a table in parts of whole runs: those over time do not fit in memory."""
        ...

    def of_runs(self, name: str, runs: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        """Rows of some runs: `run` and these columns."""
        ...

    def of_repeat(
        self,
        name: str,
        where: Mapping[str, str | Sequence[str]] | None = None,
        repeat: int | None = None,
    ) -> pl.DataFrame:
        """The rows with these levels of one repeat, by default of the first that has any."""
        ...


#: Room for rounding in quotients of floating-point numbers.
ROUNDING = 1e-9


Measurement = Callable[[Tables], pl.DataFrame]


@dataclass(frozen=True)
class Metric:
    """A number with its definition.

    `computed(tables)` gives one row per thing measured: `run`, the factors, `repeat`, `seed`, the
    columns named in `of` (`flow` for a metric of flows, none for one of whole runs), and
    `value` (float, in `unit`; NaN where the metric does not apply). `measure` does the same and
    tells of values that cannot be.
    """

    name: str
    label: str
    unit: str
    formula: str
    place: str
    window: str
    source: str
    computed: Measurement
    of: tuple[str, ...] = ("flow", "kind", "congestion_control")
    #: Physical bounds `(lowest, highest)` that no correct value leaves.
    bounds: tuple[float, float] = (0.0, float("inf"))

    def measure(self, tables: Tables) -> pl.DataFrame:
        """Values of `computed`; one outside `bounds` gives a `DefectWarning`."""
        frame = self.computed(tables)
        for breach in self.breaches(frame, tables):
            warnings.warn(breach, DefectWarning, stacklevel=2)
        return frame

    def breaches(self, frame: pl.DataFrame, tables: Tables) -> Iterator[str]:
        """Impossible values of a measurement: a sentence for each row."""
        low, high = self.bounds
        value = pl.col("value")
        outside = (value < low - ROUNDING) | (value > high + ROUNDING)
        for row in frame.filter(outside & value.is_not_nan()).iter_rows(named=True):
            what = ", ".join(str(row[name]) for name in self.of if row.get(name))
            levels = ", ".join(f"{name}={row[name]}" for name in tables.experiment.factors)
            yield (
                f"a defect of the program: {self.name} of {what or 'the run'} is "
                f"{row['value']:.6g}, outside {low:g} to {high:g}, in run {row['run']} of "
                f"{tables.experiment.name}{' with ' * bool(levels)}{levels}, seed {row['seed']}; "
                "please report it with the experiment file"
            )

    @property
    def axis(self) -> str:
        """Label with unit, as on an axis: `Goodput (Mbit/s)`; not twice where it names it."""
        named = not self.unit or self.unit in self.label.split()
        return self.label if named else f"{self.label} ({self.unit})"


def keys(tables: Tables) -> list[str]:
    """The columns that name a run: `run`, the factors in order, `repeat`, `seed`."""
    return ["run", *tables.experiment.factors, "repeat", "seed"]


#: Kinds of flows that are whole connections.
CONNECTIONS = ("tcp", "mptcp", "quic")
#: Kinds of flows with a congestion control: connections, and subflows of Multipath TCP.
CONTROLLED = (*CONNECTIONS, "subflow")
#: Kinds of flows that carry data, each byte once.
DATA = (*CONNECTIONS, "udp")


def per_flow(value: pl.Expr, kinds: tuple[str, ...] = (*CONTROLLED, "udp", "ping")) -> Measurement:
    """A measurement that evaluates `value` in each row of `flows` of these kinds; NaN elsewhere."""

    def measure(tables: Tables) -> pl.DataFrame:
        applies = pl.col("kind").is_in(kinds)
        return tables.flows.select(
            *keys(tables),
            "flow",
            "kind",
            "congestion_control",
            pl.when(applies)
            .then(value.cast(pl.Float64))
            .otherwise(float("nan"))
            .fill_null(float("nan"))
            .alias("value"),
        )

    return measure


def ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """`numerator / denominator`; 0 where both are 0 or the denominator is not positive."""
    return pl.when(denominator > 0).then(numerator / denominator).otherwise(0.0)


def known(column: str) -> pl.Expr:
    """A column of integers, NaN where it says -1 ("never", "not known")."""
    value = pl.col(column)
    return pl.when(value < 0).then(float("nan")).otherwise(value.cast(pl.Float64))


def present(column: str) -> pl.Expr:
    """A column of integers, null where it says -1: sums and extremes leave it out."""
    return pl.when(pl.col(column) >= 0).then(pl.col(column))


#: The life of a connection in seconds: from the finished handshake (first packet for UDP and
#: ping) until everything is acknowledged after the source stopped, or the end of the run.
LIFE_S = (
    pl.when((pl.col("established_ns") >= 0) & (pl.col("end_ns") > pl.col("established_ns")))
    .then((pl.col("end_ns") - pl.col("established_ns")) / 1e9)
    .otherwise(0.0)
)

LIFE_WORDS = (
    "the connection's life: from established_ns to end_ns (handshake finished until all is "
    "acknowledged after the source stopped, or the end of the run; UDP and ping: from the first "
    "packet)"
)
