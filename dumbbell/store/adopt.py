"""Adoption of the runs of killed writers into segments, and removal of unfinished files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from dumbbell.store.files import is_refused, is_temporary, listed, owner_of, remove
from dumbbell.store.index import Index, Sound
from dumbbell.store.journal import Journal, read
from dumbbell.store.place import FOLDERS, MARK, begin_writing, create
from dumbbell.store.segments import write_segment


def adopt(store: Path, own: Journal | None, sound: Sound) -> None:
    """Seals the journals of dead writers. Raises `OSError` on failure; the journals stay then."""
    for path in listed(store / "journal", "*.log"):
        if own is not None and path == own.path:
            continue
        try:
            orphan = Journal.adopt(path)
        except OSError as error:
            if is_refused(error):
                return  # a read-only store stays as it is
            raise
        if orphan is None:
            continue
        try:
            _seal(store, orphan, sound)
            for unfinished in abandoned(store, orphan.owner):
                remove(unfinished)
            orphan.remove()  # last: a crash before this line leaves the journal for another try
        finally:
            orphan.close()


@contextlib.contextmanager
def writing(store: Path) -> Iterator[Journal]:
    """Context with the journal of a writer: its lock shows that the writer lives."""
    journal = begin_writing(store) if (store / MARK).exists() else create(store)
    try:
        adopt(store, journal, Sound(store))
        yield journal
        journal.remove()
    finally:
        journal.close()


def _seal(store: Path, orphan: Journal, sound: Sound) -> None:
    """Writes the entries to a segment, except those that the writer sealed before its death."""
    entries = read(orphan.path)
    if not entries:
        return
    sealed, _ = Index(store, sound, journals=False).sound(e.fields["run"] for e in entries)
    left = [entry for entry in entries if entry.fields["run"] not in sealed]
    if left:
        write_segment(store, left, orphan.owner)


def abandoned(store: Path, owner: str) -> list[Path]:
    """Unfinished files and folders of a writer."""
    return [
        path
        for folder in (store, *(store / name for name in FOLDERS))
        for path in listed(folder)
        if is_temporary(path.name) and owner_of(path.name) == owner
    ]
