"""Leftovers of crashes in a store, and their removal."""

from __future__ import annotations

from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import StoreError
from dumbbell.store.files import remove
from dumbbell.store.remote import remote_of
from dumbbell.store.store import Store
from dumbbell.store.temporary import forgotten
from dumbbell.store.verify import Leftover, examine, is_as_found, leftover_of


def collect(store: Path, *, dry: bool) -> list[Leftover]:
    """Removes the leftovers of crashes in a store, and temporary stores. Returns them."""
    if not dry:
        Store(store, write=True).close()  # seals the runs of dead writers instead of removing them
    gone = examine(store).leftovers
    gone += [leftover_of(path, "a store of a run that was killed") for path in forgotten()]
    if dry:
        return gone
    removed = [one for one in gone if is_as_found(one)]
    for one in removed:
        try:
            remove_leftover(store, one.path)
        except OSError as error:
            raise StoreError(
                f"{one.path}: not removed: {error.strerror or error}", code=Code.STORE_ACCESS
            ) from None
    return removed


def remove_leftover(store: Path, path: Path) -> None:
    """Removes a leftover; a segment also from the remote copy, or it would be fetched again."""
    remove(path)
    remote = remote_of(store)
    if remote is not None and path.parent == store / "segments":
        remote.remove_segment(path.name)
