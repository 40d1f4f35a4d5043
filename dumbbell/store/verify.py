"""Examination of a store: damage, leftovers of crashes, and unfinished runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import StoreError
from dumbbell.store.files import is_locked, is_temporary, listed, owner_of, size_of
from dumbbell.store.index import Damage, Index, Sound
from dumbbell.store.journal import read_whole
from dumbbell.store.place import FOLDERS, MARK, FormatError, check_format, is_store, no_store
from dumbbell.store.record_files import read_all
from dumbbell.store.records import Record
from dumbbell.store.remote import entered
from dumbbell.store.segments import MANIFEST

#: Age after which a file without a writer in its name is abandoned.
_ABANDONED_S = 3600.0


@dataclass(frozen=True, slots=True)
class Leftover:
    """Unused file or folder: `dumbbell store gc` removes it."""

    path: Path
    what: str
    size: int
    mtime_ns: int


@dataclass
class Examination:
    """Findings in a store.

    Attributes:
        damages: Damaged files, and the runs that need them.
        leftovers: Unused files and folders.
        records: Readable experiments.
        runs: Undamaged runs.
        unchecked: Undamaged runs that are older than the recording of checksums.
        undone: Runs of experiments that were never finished.
    """

    damages: list[Damage] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    runs: set[str] = field(default_factory=set)
    unchecked: set[str] = field(default_factory=set)
    undone: set[str] = field(default_factory=set)

    def lost(self) -> set[str]:
        """Damaged runs of experiments, as far as known."""
        planned = {one.run for record in self.records for one in record.runs}
        # An unreadable manifest, or the unreadable end of a journal, may have named any run.
        ends = (MANIFEST, ".log")
        unknown = any(not one.runs and one.path.name.endswith(ends) for one in self.damages)
        named = {run for damage in self.damages for run in damage.runs}
        return (planned - self.runs) & (planned if unknown else named)


def examine(store: Path) -> Examination:
    """Reads every file of a store. Raises `StoreError` for other folders and newer formats."""
    entered(store)
    if not is_store(store):
        raise StoreError(f"{store}: {no_store(store)}", code=Code.NOT_STORE)
    found = Examination()
    found.damages += _mark(store)
    index = Index(store, sound := Sound(store))
    found.records, wrong = read_all(store, index.segments)
    found.damages += wrong
    whole, damages = index.sound(index.named())
    found.runs = set(whole)
    found.unchecked = {run for run, kept in whole.items() if kept.files is None}
    planned = {one.run for record in found.records for one in record.runs}
    # An unreadable experiment may need any run.
    needed = planned if not wrong else planned | index.named()
    unneeded: dict[Path, str] = {}
    for one in damages:
        if needed & set(one.runs):
            found.damages.append(one)
        elif one.path.exists() and one.path.parent == store / "runs":
            unneeded[one.path] = f"{one.what}; no experiment needs it"
    bad = {run for one in found.damages for run in one.runs}
    for segment in index.segments:
        if sound.of_segment(segment) and not bad & set(segment.runs):
            unneeded[segment.path] = "damaged; its runs are kept elsewhere, or nothing needs them"
    for one in index.manifests:
        if wrong or index.unread(needed - found.runs).count(one):
            found.damages.append(one)
        else:
            unneeded[one.path.parent] = "a segment without manifest; its runs are kept elsewhere"
    found.damages += _journals(store)
    unneeded |= _unnamed(store, index) | _abandoned(store)
    found.leftovers = [leftover_of(path, what) for path, what in unneeded.items()]
    found.undone = planned - found.runs - found.lost()
    return found


def leftover_of(path: Path, what: str) -> Leftover:
    """Leftover at a path, with its current size."""
    return Leftover(path, what, size_of(path), _mtime_ns(path))


def _mtime_ns(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns
    except FileNotFoundError:
        return 0


def is_as_found(leftover: Leftover) -> bool:
    """Returns true if the leftover is unchanged since it was found."""
    return _mtime_ns(leftover.path) == leftover.mtime_ns


def _mark(store: Path) -> Iterator[Damage]:
    path = store / MARK
    if not path.exists():
        yield Damage(path, "missing")
        return
    try:
        check_format(store)
    except FormatError as error:
        yield Damage(path, error.what)


def _journals(store: Path) -> Iterator[Damage]:
    """Journals of dead writers that end with an incomplete entry."""
    for path in listed(store / "journal", "*.log"):
        _, rest = read_whole(path)
        if rest and not is_locked(path):
            what = f"its last {rest} bytes are no finished run: cut short when its writer died"
            yield Damage(path, f"{what}, or altered")


def _unnamed(store: Path, index: Index) -> dict[Path, str]:
    """Files of unfinished runs; none while any writer lives."""
    if any(map(is_locked, listed(store / "journal", "*.log"))):
        return {}
    named, legacy = set(), set()
    for run in index.named():
        for kept in index.copies(run):
            named |= set(kept.files or ())
            legacy |= {run} if kept.files is None else set()
    return {
        path: "of a run that was not finished"
        for path in listed(store / "runs")
        if not is_temporary(path.name)
        and path.name not in named
        and path.name.partition(".")[0] not in legacy
    }


def _abandoned(store: Path) -> dict[Path, str]:
    """Incomplete files and folders of dead writers."""
    found = {}
    for folder in (store, *(store / name for name in (*FOLDERS, "studies"))):
        for path in listed(folder):
            if is_temporary(path.name) and not _is_owned(store, path):
                found[path] = "not complete when its writer died"
    return found


def _is_owned(store: Path, path: Path) -> bool:
    owner = owner_of(path.name)
    if "-" in owner:
        return is_locked(store / "journal" / f"{owner}.log")
    return time.time() - _mtime_ns(path) / 1e9 < _ABANDONED_S
