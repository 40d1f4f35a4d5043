"""Latency under load: what round trips and one-way trips take while flows fill the line.

Everything comes from the table `probes`; without it (`sampling: {keep: [probes]}`) values are NaN.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from dumbbell.metrics.definition import Measurement, Metric, Tables, keys, ratio
from dumbbell.metrics.emodel import mean_opinion_score, rating
from dumbbell.metrics.load import WORDS, load_windows

_IDLE = "before the first TCP flow starts"
#: A packet of speech is full after so long.
_PACKETISATION_MS = 20.0
#: Shares of packets that a playout buffer may wait for.
_WAITED_FOR = (0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 1.0)

_UNDER_LOAD = (pl.col("time_ns") >= pl.col("load_start_ns")) & (
    pl.col("time_ns") < pl.col("load_end_ns")
)
_BEFORE = pl.col("time_ns") < pl.col("first_start_ns")
_BACK = pl.col("delay_ns") >= 0
#: Time for which an answer may be under way: as long as the slowest took, and at least a second.
_UNDER_WAY_NS = pl.max_horizontal(pl.lit(10**9), pl.col("delay_ns").max())
#: Without probes that may still be answered when the load ends.
_SETTLED = _UNDER_LOAD & (pl.col("time_ns") < pl.col("load_end_ns") - _UNDER_WAY_NS)
#: Delays in milliseconds of the probes that came back, under load and before.
_MS = pl.col("delay_ns").filter(_UNDER_LOAD & _BACK) / 1e6
_IDLE_MS = pl.col("delay_ns").filter(_BEFORE & _BACK) / 1e6

#: What is known of the probes of a flow, by the name of its metric.
_STATISTICS = {
    "latency_ms": _MS.mean(),
    "latency_idle_ms": _IDLE_MS.mean(),
    "latency_p50_ms": _MS.quantile(0.50, "nearest"),
    "latency_p95_ms": _MS.quantile(0.95, "nearest"),
    "latency_p99_ms": _MS.quantile(0.99, "nearest"),
    "delay_variation_ms": _MS.quantile(0.99, "nearest") - _MS.min(),
    "probe_loss_ratio": ratio((_SETTLED & ~_BACK).sum(), _SETTLED.sum()),
}

#: Statistics of the results that are alive: going through their probes takes a while.
_KNOWN: weakref.WeakKeyDictionary[Tables, pl.DataFrame] = weakref.WeakKeyDictionary()


def _statistics(tables: Tables) -> pl.DataFrame:
    """Values of `_STATISTICS` by run and flow, in one pass over the probes."""
    if (known := _KNOWN.get(tables)) is not None:
        return known
    values = [value.cast(pl.Float64).alias(name) for name, value in _STATISTICS.items()]
    empty = pl.DataFrame(schema=dict.fromkeys(("run", "flow"), pl.String()))
    none = empty.with_columns(pl.lit(None, pl.Float64).alias(name) for name in _STATISTICS)
    windows = load_windows(tables)
    found = [
        probes.join(windows, on="run").group_by("run", "flow").agg(values)
        for probes in tables.parts("probes", ("flow", "time_ns", "delay_ns"))
    ]
    _KNOWN[tables] = pl.concat([none, *found])
    return _KNOWN[tables]


def _of_flows(name: str, kinds: tuple[str, ...]) -> Measurement:
    """A measurement of each flow of these kinds that has probes."""

    def measure(tables: Tables) -> pl.DataFrame:
        columns = [*keys(tables), "flow", "kind"]
        flows = tables.flows.filter(pl.col("kind").is_in(kinds)).select(columns)
        found = _statistics(tables).select("run", "flow", pl.col(name).alias("value"))
        return flows.join(
            found, on=["run", "flow"], how="left", maintain_order="left"
        ).with_columns(pl.col("value").fill_null(float("nan")))

    return measure


@dataclass(frozen=True)
class _Family:
    """Metrics of one kind of delay: of the probes of these flows."""

    prefix: str
    label: str
    kinds: tuple[str, ...]
    place: str
    source: str

    def metric(
        self, statistic: str, suffix: str, label: str, formula: str, window: str = WORDS
    ) -> Metric:
        return Metric(
            name=f"{self.prefix}{suffix}_ms",
            label=f"{self.label} {label}",
            unit="ms",
            formula=formula,
            place=self.place,
            window=window,
            source=self.source,
            computed=_of_flows(statistic, self.kinds),
            of=("flow", "kind"),
        )

    def metrics(self) -> tuple[Metric, ...]:
        mean = "mean delay of the probes that came back"
        return (
            self.metric("latency_ms", "", "under load", mean),
            self.metric("latency_idle_ms", "_idle", "without load", mean, _IDLE),
            *(
                self.metric(
                    f"latency_p{percent}_ms",
                    f"_p{percent}",
                    f"under load, {percent}th percentile",
                    f"{percent}th percentile of the delays of the probes that came back (nearest "
                    "rank)",
                )
                for percent in (50, 95, 99)
            ),
        )


#: Round trips of echo requests.
ROUND_TRIPS = _Family(
    "latency", "RTT of pings", ("ping",), "the host that asks", "RFC 2681 (round-trip delay)"
).metrics()
LATENCY = ROUND_TRIPS[0]
#: One-way delays of datagrams: calls and video among them.
ONE_WAY = _Family(
    "one_way_delay",
    "One-way delay of datagrams",
    ("udp",),
    "the host that receives; both clocks are one",
    "RFC 7679 (one-way delay)",
).metrics()
VARIATION = Metric(
    name="delay_variation_ms",
    label="Delay variation",
    unit="ms",
    formula="99th percentile of the delays less the smallest: of round trips for pings, of one-way "
    "delays for datagrams",
    place="the host that asks; of datagrams the one that receives",
    window=WORDS,
    source="RFC 5481 §4.2 (packet delay variation)",
    computed=_of_flows("delay_variation_ms", ("ping", "udp")),
    of=("flow", "kind"),
)

PROBE_LOSS = Metric(
    name="probe_loss_ratio",
    label="Probe loss",
    unit="share",
    formula="probes that never came back / probes sent, without those of the "
    "end of load: as long as the slowest answer took, and at least a second",
    place=VARIATION.place,
    window=WORDS,
    source="RFC 6673 (round-trip loss); RFC 7680 (one-way loss)",
    computed=_of_flows("probe_loss_ratio", ("ping", "udp")),
    of=("flow", "kind"),
    bounds=(0.0, 1.0),
)


def _measure_rpm(tables: Tables) -> pl.DataFrame:
    """Over all flows that ask for round trips."""
    means = LATENCY.measure(tables)
    of_runs = means.group_by("run").agg(pl.col("value").drop_nans().mean().alias("mean_ms"))
    runs = tables.flows.select(keys(tables)).unique(maintain_order=True)
    per_minute = 60_000 / pl.col("mean_ms")
    return runs.join(of_runs, on="run", how="left", maintain_order="left").select(
        *keys(tables), per_minute.fill_null(float("nan")).alias("value")
    )


RPM = Metric(
    name="rpm",
    label="Round trips per minute (RPM)",
    unit="1/min",
    formula="60 000 / mean over the flows that ping of their latency_ms",
    place="the host that asks",
    window=WORDS,
    source="draft-ietf-ippm-responsiveness §4.3, with probes beside the load alone",
    computed=_measure_rpm,
    of=(),
)


def conversation(delays_ms: list[float], lost: int) -> tuple[float, float]:
    """R and mouth-to-ear delay in ms of a call, with the playout delay that serves it best.

    Packets that come after their time to be played are lost. Waiting for more of them takes longer.

    Args:
        delays_ms: One-way delays of the packets that arrived.
        lost: Packets that did not.
    """
    total = len(delays_ms) + lost
    if not delays_ms:
        return 0.0, float("nan")
    ordered = sorted(delays_ms)
    best = (-1.0, float("nan"))
    for share in _WAITED_FOR:
        played = max(1, round(share * len(ordered)))
        ear_ms = _PACKETISATION_MS + ordered[played - 1]
        best = max(best, (rating(ear_ms, 1 - played / total), ear_ms))
    return best


def _voice(judge: Callable[[list[float], int], float]) -> Measurement:
    def measure(tables: Tables) -> pl.DataFrame:
        columns = [*keys(tables), "flow"]
        flows = tables.flows.filter(pl.col("codec") != "").select(columns)
        # What is still under way when the load ends counts as neither.
        calls, windows = flows.select("run", "flow"), load_windows(tables)
        rows: list[tuple[str, str, float]] = []
        for probes in tables.parts("probes", ("flow", "time_ns", "delay_ns")):
            sent = (
                probes.join(calls, on=["run", "flow"], how="semi")
                .join(windows, on="run")
                .filter(_UNDER_LOAD)
                .group_by("run", "flow")
                .agg(_MS.alias("delays"), (~_BACK).sum().alias("lost"))
            )
            rows += [
                (row["run"], row["flow"], judge(row["delays"], row["lost"]))
                for row in sent.iter_rows(named=True)
            ]
        schema = {"run": pl.String(), "flow": pl.String(), "value": pl.Float64()}
        judged = pl.DataFrame(rows, schema=schema, orient="row")
        return flows.join(
            judged, on=["run", "flow"], how="left", maintain_order="left"
        ).with_columns(pl.col("value").fill_null(float("nan")))

    return measure


_VOICE_RULE = (
    "packets that arrive after their playout count as lost. The playout delay is the one with the "
    "best R, among the delays for which 50 to 100 % of the packets are in time. The delay includes "
    "20 ms that fill a packet"
)
VOICE_R = Metric(
    name="voice_r",
    label="E-model rating (R)",
    unit="",
    formula="E-model's R from mouth-to-ear delay and loss; " + _VOICE_RULE,
    place="the host that listens",
    window=WORDS,
    source="ITU-T G.107 (06/2015); G.113 appendix I for G.711",
    computed=_voice(lambda delays, lost: conversation(delays, lost)[0]),
    of=("flow",),
    bounds=(0.0, 100.0),
)
VOICE_MOS = Metric(
    name="voice_mos",
    label="Mean opinion score (MOS)",
    unit="",
    formula="mean opinion score of voice_r",
    place="the host that listens",
    window=WORDS,
    source="ITU-T G.107 annex B",
    computed=_voice(lambda delays, lost: mean_opinion_score(conversation(delays, lost)[0])),
    of=("flow",),
    bounds=(1.0, 4.5),
)

METRICS = (*ROUND_TRIPS, *ONE_WAY, VARIATION, PROBE_LOSS, RPM, VOICE_R, VOICE_MOS)
