"""Gaps in the results of a store: damaged runs, unfinished ones, checksums of older versions."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from dumbbell import _core
from dumbbell.store.files import is_locked, listed
from dumbbell.store.index import Damage, Kept
from dumbbell.store.records import Record


@dataclass(frozen=True, slots=True)
class Lack:
    """Gaps in the results of an experiment.

    Attributes:
        experiment: Name of the experiment.
        planned: Number of its runs.
        damaged: Runs that are not there because of damage.
        unfinished: Number of runs that were not finished.
        unchecked: Number of runs without checksums, from an older version.
        damages: Damage of files that its runs need.
        writing: True if a process is writing to the store.
        repair: Command that makes the missing runs, for messages.
        versions: Versions of the simulator that made the runs, if they are not this one.
    """

    experiment: str
    planned: int
    damaged: frozenset[str]
    unfinished: int
    unchecked: int
    damages: tuple[Damage, ...]
    writing: bool
    repair: str
    versions: tuple[str, ...] = ()

    def not_shown(self) -> list[str]:
        """A sentence per reason why runs are not among the results."""
        told = []
        if self.damages:
            more = f" and {len(self.damages) - 1} more files" if len(self.damages) > 1 else ""
            told.append(
                f"{_are(len(self.damaged), self.planned)} damaged and not shown"
                f" ({self.damages[0]}{more}); {self.repair} repairs the store."
            )
        if self.unfinished and self.writing:
            told.append(
                f"{_are(self.unfinished, self.planned)} not finished yet and not shown: a process"
                " is writing to the store."
            )
        elif self.unfinished:
            told.append(
                f"{_are(self.unfinished, self.planned)} not finished and not shown; {self.repair}"
                " goes on from there."
            )
        return told

    def sentences(self) -> list[str]:
        """All that a reader of the results should know of the store, a sentence each."""
        told = self.not_shown()
        if self.unchecked:
            told.append(
                f"{_are(self.unchecked, self.planned)} from an older version, which recorded no"
                " checksums: only their length was checked."
            )
        if self.versions:
            told.append(
                f"The runs are of the simulator {', '.join(self.versions)}; this is"
                f" {_core.engine_version}, with which they may come out different."
            )
        return told


def _are(count: int, planned: int) -> str:
    return f"{count} of {planned} runs {'is' if count == 1 else 'are'}"


def lack_of(
    store: Path,
    record: Record,
    kept: dict[str, Kept],
    damages: Sequence[Damage],
    versions: Collection[str],
    repair: str,
) -> Lack:
    """Gaps that the undamaged copies of the runs of an experiment leave.

    Args:
        store: Folder of the store.
        record: The experiment.
        kept: Undamaged copies of its runs.
        damages: Damage of the others.
        versions: Versions of the engine that made the runs.
        repair: Command that makes the missing runs.
    """
    missing = {one.run for one in record.runs} - set(kept)
    known = {run for one in damages for run in one.runs}
    # An unreadable manifest may have named any run.
    damaged = missing if any(not one.runs for one in damages) else missing & known
    other = [one for one in versions if record.engine == "sim" and one != _core.engine_version]
    return Lack(
        experiment=record.info.name,
        planned=len({one.run for one in record.runs}),
        damaged=frozenset(damaged),
        unfinished=len(missing - damaged),
        unchecked=sum(one.files is None for one in kept.values()),
        damages=tuple(damages),
        writing=any(map(is_locked, listed(store / "journal", "*.log"))),
        repair=repair,
        versions=tuple(sorted(other)),
    )


def sentence_of(damage: Damage, store: Path) -> str:
    """Sentence about a damaged file that no run needs: the mark, or an experiment."""
    repair = f"`dumbbell store repair {shlex.quote(str(store))}`"
    if damage.path.parent == store:
        return f"{damage}; {repair} writes it again."
    return f"{damage}: this experiment is not shown; running its file again repairs it."
