"""Forecast of a study, for `dumbbell study run --dry-run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dumbbell import studies
from dumbbell.engines import engine_named
from dumbbell.execution.forecast import Forecast, forecast
from dumbbell.execution.shard import Shard
from dumbbell.experiment.load import load


def of_study(
    name: str,
    *,
    parts: Sequence[str] | None,
    engine: str,
    repeats: int | None,
    workers: int | None,
    store: Path | None,
    against: str | None,
    shard: Shard | None,
) -> list[Forecast]:
    """Forecast of each part of a study. Runs and writes nothing.

    Arguments and errors: those of `dumbbell.studies.run_study`.
    """
    chosen, found = engine_named(engine), []
    for one in studies.setups(studies.load_study(name), parts, against):
        experiment = load(one.file, set=one.changes, repeats=repeats)
        found.append(forecast(experiment, chosen, store, workers=workers, shard=shard))
    return found
