"""Contents of a store: its experiments, how far they are, what they take. Reads no tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dumbbell.store.collector import collector_paused
from dumbbell.store.index import Index, Kept, Sound
from dumbbell.store.place import MARK, check_format
from dumbbell.store.record_files import read_all_fields
from dumbbell.store.records import SHORT_ID
from dumbbell.store.remote import entered
from dumbbell.store.store import Store


@dataclass(frozen=True, slots=True)
class Listed:
    """Experiment of a store.

    Attributes:
        id: First letters of its id.
        name: Name.
        engine: Name of the engine.
        overrides: Levels and values that replaced those of the file.
        cells: Number of cells.
        updated_ns: Time of the last run, in ns since 1970.
        done: Number of its runs that the store has. Checksums are not compared.
        planned: Number of its runs. Cells with one scenario share a run.
        size: Bytes of its runs. A run of two experiments counts for both.
        version: Version of the engine; empty: no run is done.
    """

    id: str
    name: str
    engine: str
    overrides: Mapping[str, Sequence[str]]
    cells: int
    updated_ns: int
    done: int
    planned: int
    size: int
    version: str


@dataclass(frozen=True, slots=True)
class Contents:
    """Contents of a store.

    Attributes:
        experiments: Experiments, the one run last at the end.
        runs: Number of runs.
        unneeded: Number of runs that no experiment has.
        size: Bytes of all runs.
        damaged: Files of experiments and manifests that cannot be read.
    """

    experiments: Sequence[Listed]
    runs: int
    unneeded: int
    size: int
    damaged: Sequence[Path]


def contents(store: Path) -> Contents:
    """Lists a store. Raises `StoreError` for other folders and newer formats."""
    entered(store)
    _check_format(store)
    with collector_paused():
        index = Index(store, Sound(store))
        records, wrong = read_all_fields(store, index.segments)
        runs = index.runs()
        sizes = _sizes(index, runs)
        found, needed = [], set[str]()
        for key, fields in records.items():
            planned = {one[0] for one in fields["runs"]}
            done = planned & runs
            needed |= done
            version = _version(index.copies(run)[0] for run in done)
            size = round(sum(map(sizes.__getitem__, done)))
            found.append(
                Listed(
                    id=key[:SHORT_ID],
                    name=fields["name"],
                    engine=fields["engine"],
                    overrides=fields["overrides"],
                    cells=sum(one[2] == 0 for one in fields["runs"]),
                    updated_ns=fields["updated_ns"],
                    done=len(done),
                    planned=len(planned),
                    size=size,
                    version=version,
                )
            )
        size = round(sum(sizes.values()))
    damaged = [one.path for one in (*wrong, *index.manifests)]
    return Contents(found, len(runs), len(runs - needed), size, damaged)


def _check_format(store: Path) -> None:
    """Refuses what is no store. Raises `StoreError`."""
    if not (store / MARK).exists():
        Store(store, write=False)  # raises the error
    check_format(store)


def _sizes(index: Index, runs: Iterable[str]) -> dict[str, float]:
    """Bytes of runs: their files, and their share of the tables of a segment."""
    shares = {
        segment.path: sum(mark.size for mark in segment.tables.values()) / max(1, len(segment.runs))
        for segment in index.segments
    }
    found: dict[str, float] = {}
    for run in runs:
        kept = index.copies(run)[0]
        size = 0.0
        if kept.segment is not None:
            size = shares[kept.segment.path]
        elif kept.entry is not None:
            size = sum(map(len, kept.entry.tables.values()))
        for mark in (kept.noted or {}).values():
            size += mark[0]
        found[run] = size
    return found


def _version(runs: Iterable[Kept]) -> str:
    """Version of the engine of some runs: all runs of a record have one, it is part of their id."""
    for one in runs:
        if one.entry is not None:
            return str(one.entry.fields["engine_version"])
        if one.segment is not None and one.segment.torn() is None:
            return str(
                one.segment.frame("runs", [one.run], ["engine_version"])["engine_version"][0]
            )
    return ""
