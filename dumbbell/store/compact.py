"""Compaction: small segments become few large ones; runs that no experiment needs are removed.

New segments are complete before an old one goes, and a run in two segments is read once: a
compaction may be killed at any moment.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dumbbell.codes import Code
from dumbbell.errors import StoreError
from dumbbell.store.adopt import writing
from dumbbell.store.collector import collector_paused
from dumbbell.store.files import is_locked, listed, remove, size_of
from dumbbell.store.index import Index, Kept, Sound
from dumbbell.store.merge_source import by_segment
from dumbbell.store.place import check_format, is_store, no_store
from dumbbell.store.record_files import read_all_fields
from dumbbell.store.remote import entered
from dumbbell.store.segments import Segment, write_frames
from dumbbell.store.store import SEGMENT_RUNS


@dataclass(frozen=True, slots=True)
class Compaction:
    """Plan of a compaction.

    Attributes:
        joined: Sound copies of the runs that move to new segments.
        old: Segments that go.
        kept: Number of segments that stay.
        unneeded: Runs that go: no experiment needs them.
        files: Their files.
    """

    joined: Mapping[str, Kept]
    old: tuple[Segment, ...]
    kept: int
    unneeded: frozenset[str]
    files: tuple[Path, ...]

    @property
    def new(self) -> int:
        """Number of segments that are written."""
        return -(-len(self.joined) // SEGMENT_RUNS)

    @property
    def freed(self) -> int:
        """Size in bytes of the files that go, without segments."""
        return sum(map(size_of, self.files))


def compact(store: Path, *, dry: bool = False) -> Compaction:
    """Joins segments with few runs, and removes runs of no experiment.

    Args:
        store: Folder of the store.
        dry: Only find what would be done.

    Raises:
        StoreError: The store is at a URL, is damaged, cannot be written, or is being written.
    """
    if entered(store) is not None:
        raise StoreError(
            "segments at a URL are never removed: merge the store into a new one", code=Code.URL
        )
    if not is_store(store):
        raise StoreError(f"{store}: {no_store(store)}", code=Code.NOT_STORE)
    check_format(store)
    if any(map(is_locked, listed(store / "journal", "*.log"))):
        raise StoreError(
            f"{store}: a process is writing to it: compact it afterwards", code=Code.STORE_ACCESS
        )
    try:
        with collector_paused():
            if dry:
                return _planned(store)
            with writing(store) as journal:
                plan = _planned(store)
                _carry_out(store, plan, journal.owner)
                return plan
    except OSError as error:
        raise StoreError(
            f"{store}: cannot be compacted: {error.strerror or error}", code=Code.STORE_ACCESS
        ) from None


def _planned(store: Path) -> Compaction:
    index = Index(store, Sound(store))
    records, wrong = read_all_fields(store, index.segments)
    whole, damages = index.sound(index.named())
    if found := [*wrong, *index.manifests, *damages]:
        again = f"`dumbbell store repair {shlex.quote(str(store))}` comes first"
        raise StoreError(f"{found[0]}; {again}", code=Code.DAMAGED)
    needed = {run[0] for fields in records.values() for run in fields["runs"]}
    old, staying = [], set[str]()
    for segment in index.segments:
        runs = needed.intersection(segment.runs) - staying
        # Files of runs older than checksums are not recorded: such segments stay.
        if segment.noted is None or len(runs) == len(segment.runs) >= SEGMENT_RUNS:
            staying |= runs
        else:
            old.append(segment)
    joined = {
        run: whole[run] for one in old for run in one.runs if run in needed and run not in staying
    }
    if len(old) == 1 and len(joined) == len(old[0].runs):
        old, joined = [], {}  # nothing would change
    gone = {run for one in old for run in one.runs} - needed
    named = {name for run in needed & set(whole) for name in whole[run].files or ()}
    files = {
        name for run in gone for one in index.copies(run) for name in one.files or ()
    } - named  # fmt: skip
    return Compaction(
        joined,
        tuple(old),
        len(index.segments) - len(old),
        frozenset(gone),
        tuple(store / "runs" / name for name in sorted(files)),
    )


def _carry_out(store: Path, plan: Compaction, owner: str) -> None:
    runs = list(plan.joined)
    for begin in range(0, len(runs), SEGMENT_RUNS):
        part = {run: plan.joined[run] for run in runs[begin : begin + SEGMENT_RUNS]}
        frames: dict[str, list[pl.DataFrame]] = {}
        for segment, own in by_segment(part):
            for name in segment.tables:
                frames.setdefault(name, []).append(segment.frame(name, own))
        whole = {name: pl.concat(some) for name, some in frames.items()}
        write_frames(store, whole, {run: kept.noted or {} for run, kept in part.items()}, owner)
    for path in (*(one.path for one in plan.old), *plan.files):
        remove(path)
