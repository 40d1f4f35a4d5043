"""What an experiment gives: frames of polars, one row per thing that happened."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class ExperimentInfo:
    """The experiment behind a set of results.

    Attributes:
        name: Its name.
        yaml: Text of the experiment file.
        factors: Each factor with its levels as written, in order.
        repeats: Runs per combination of levels.
        seed: Seed of the first repeat; repeat k has seed + k.
    """

    name: str
    yaml: str
    factors: dict[str, list[str]]
    repeats: int
    seed: int


@dataclass(frozen=True, slots=True)
class Results:
    """Everything measured in an experiment.

    Every frame begins with the columns `run` (hash of scenario, seed and engine version), one text
    column per factor holding the level as written, `repeat` (0, 1, …) and `seed`. After them
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
    runs: pl.DataFrame
