"""Provenance of a run of a store: experiments, engine, seed, digest, files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import StoreError, shortened
from dumbbell.store.store import Store

#: Runs that a message about an ambiguous id names.
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Provenance:
    """Provenance of a run.

    Attributes:
        run: Id of the run: hash of scenario, seed, engine and its version.
        places: Its experiments in the store, each with levels and repeat, in words.
        engine: Name of the engine.
        version: Version of the engine.
        seed: Seed of all random streams.
        digest: SHA-256 over its tables.
        wall_s: Real time that it took.
        packets: Number of packets sent by hosts.
        events: Number of events; 0: the engine has none.
        files: Its own files, tables over time and capture, with their sizes in bytes.
        scenario: Scenario as canonical JSON.
        yaml: Text of the experiment file that was run last.
    """

    run: str
    places: Sequence[str]
    engine: str
    version: str
    seed: int
    digest: str
    wall_s: float
    packets: int
    events: int
    files: Sequence[tuple[Path, int]]
    scenario: str
    yaml: str


def provenance(store: Path, run: str) -> Provenance:
    """Finds a run by its id, or by the first letters of it; checksums are compared.

    Raises `StoreError` if no run or several have such an id, or if the run is damaged.
    """
    with Store(store, write=False) as opened:
        records = opened.experiments()
        found = sorted(
            {one.run for record in records for one in record.runs if one.run.startswith(run)}
        )
        if not run or not found:
            raise StoreError(
                f"{store}: no run {shortened(run)!r}; `dumbbell query` lists all ids",
                code=Code.NO_RUN,
            )
        if len(found) > 1:
            some = ", ".join(found[:_MOST_NAMED])
            raise StoreError(
                f"{store}: {len(found)} runs begin with {run}: {some}, …", code=Code.NO_RUN
            )
        (run,) = found
        places, row, yaml = [], None, ""
        for record in records:
            for one in record.runs:
                if one.run == run:
                    levels = [f"{name}={level}" for name, level in one.levels.items()]
                    places.append(", ".join([record.info.name, *levels, f"repeat {one.repeat}"]))
                    yaml = record.info.yaml
            if row is None and any(one.run == run for one in record.runs) and run in opened:
                runs = opened.results(record).runs
                row = next(iter(runs.filter(runs["run"] == run).iter_rows(named=True)), None)
        if row is None:
            raise StoreError(
                f"{store}: run {run} is planned and not done: {places[0]}", code=Code.NO_RUN
            )
        folder = opened.path / "runs"
        files = sorted(folder.glob(f"{run}.*"))
    return Provenance(
        run,
        list(dict.fromkeys(places)),
        row["engine"],
        row["engine_version"],
        row["seed"],
        row["digest"],
        row["wall_s"],
        row["packets"],
        row["events"],
        [(path, path.stat().st_size) for path in files],
        row["scenario"],
        yaml,
    )
