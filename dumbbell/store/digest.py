"""Digests of the runs of a store, and comparison of two stores."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dumbbell.store.store import Store


@dataclass(frozen=True, slots=True)
class RunDigest:
    """Digest and place of a run: experiment, overrides, engine, levels, repeat, seed."""

    experiment: str
    overrides: str
    engine: str
    levels: Mapping[str, str]
    repeat: int
    seed: int
    digest: str

    @property
    def place(self) -> tuple[str, ...]:
        """Key that matches runs of two stores."""
        levels = json.dumps(dict(self.levels), ensure_ascii=False)
        return (
            self.experiment, self.engine, self.overrides, levels, f"{self.repeat:09d}",
            f"{self.seed:020d}",
        )  # fmt: skip

    def words(self) -> str:
        """Place of the run in words."""
        levels = [f"{name}={level}" for name, level in self.levels.items()]
        place = [f"{self.experiment}: {self.engine}", *levels, f"repeat {self.repeat}"]
        return ", ".join([*place, f"seed {self.seed}"])


def digests(store: Path) -> list[RunDigest]:
    """Digests of all finished runs, in the order of their experiments.

    Raises `StoreError` if one of their files is damaged.
    """
    found = {}
    with Store(store, write=False) as opened:
        for record in opened.experiments():
            runs = opened.results(record).runs
            overrides = json.dumps(dict(record.overrides), sort_keys=True, ensure_ascii=False)
            for row in runs.iter_rows(named=True):
                levels = {name: row[name] for name in record.info.factors}
                one = RunDigest(
                    record.info.name, overrides if record.overrides else "", record.engine,
                    levels, row["repeat"], row["seed"], row["digest"],
                )  # fmt: skip
                found[one.place] = one
    return list(found.values())


def of_all(runs: Iterable[RunDigest]) -> str:
    """Digest over all runs and their places, independent of their order."""
    lines = sorted(json.dumps([*one.place, one.digest], ensure_ascii=False) for one in runs)
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Unlike:
    """Run with different digests in two stores; None: the store lacks the run."""

    words: str
    first: str | None
    second: str | None


def compared(first: Iterable[RunDigest], second: Iterable[RunDigest]) -> list[Unlike]:
    """Runs with different digests, and runs that only one of two stores has."""
    one = {run.place: run for run in first}
    other = {run.place: run for run in second}
    found = []
    for place, run in {**one, **other}.items():
        mine = one[place].digest if place in one else None
        yours = other[place].digest if place in other else None
        if mine != yours:
            found.append(Unlike(run.words(), mine, yours))
    return found
