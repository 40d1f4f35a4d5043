"""Folder of a store: its creation, and its contents.

Several processes may create one store at once, and each may be killed at any moment. Each step
can therefore be repeated, and a folder with only the beginnings of a store counts as a store.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import uuid
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import StoreError, shortened
from dumbbell.files.whole import write_file
from dumbbell.store.files import is_temporary, listed
from dumbbell.store.journal import Journal

FORMAT = 1
MARK = "store.json"
FOLDERS = ("experiments", "journal", "segments", "runs")
#: Names that each folder of a store may contain.
_NAMES = {
    "experiments": re.compile(r"[0-9a-f]{16}\.json"),
    "journal": re.compile(r"[0-9]+-[0-9a-f]{8}\.log"),
    "segments": re.compile(r"[0-9]{20}-[0-9a-f]{8}"),
    "runs": re.compile(r"[0-9a-f]{32}\.([a-z_]+\.parquet|pcapng)"),
    "studies": re.compile(r".+\.json"),
}


def check_name(path: Path) -> None:
    """Refuses a path that is not UTF-8: it can be neither printed nor recorded."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = str(path).encode(errors="surrogateescape").decode(errors="backslashreplace")
        raise StoreError(
            f"{shown}: the name of a store should be UTF-8; this one is not: choose another"
        ) from None


class FormatError(StoreError):
    """Damaged mark, or a mark with an unknown format.

    Attributes:
        what: What is wrong with the mark.
    """

    code = Code.DAMAGED

    def __init__(self, path: Path, what: str, rest: str) -> None:
        super().__init__(f"{path / MARK}: {what}{rest}")
        self.what = what


def check_format(path: Path) -> None:
    """Refuses a store with a format other than this program's. Raises `OSError` if unreadable."""
    again = f"; `dumbbell store repair {shlex.quote(str(path))}` writes it again"
    try:
        found = json.loads((path / MARK).read_bytes())["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        wanted = f'it should hold {{"format": {FORMAT}}}'
        raise FormatError(path, f"damaged: {wanted}", again) from None
    if type(found) is int and found == FORMAT:
        return
    if type(found) is int and found > FORMAT:
        raise StoreError(
            f"{path}: written by a newer Dumbbell (format {found}; this one reads {FORMAT}); it "
            "was left as it is",
            code=Code.NEWER,
        )
    shown = shortened(json.dumps(found), 40)
    raise FormatError(path, f"there is no format {shown}; allowed: {FORMAT}", again)


def restore(path: Path) -> None:
    """Rewrites the mark of a store."""
    owner = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
    write_file(path / MARK, json.dumps({"format": FORMAT}).encode(), sync=True, owner=owner)


def create(path: Path) -> Journal:
    """Creates a store, or completes one that another process began.

    Returns the journal of the writer. Its lock shows that the writer lives.
    """
    refuse_other(path)
    path.mkdir(parents=True, exist_ok=True)
    journal = begin_writing(path)
    try:
        if not (path / MARK).exists():
            data = json.dumps({"format": FORMAT}).encode()
            write_file(path / MARK, data, sync=True, owner=journal.owner)
    except BaseException:
        journal.remove()
        raise
    return journal


def refuse_other(path: Path) -> None:
    """Refuses a folder in which no store can be created."""
    if path.exists() and not only_ours(path):
        raise StoreError(
            f"{path}: a folder with other things in it, not a store: choose another",
            code=Code.NOT_STORE,
        )


def begin_writing(path: Path) -> Journal:
    """Creates the folders that a writer needs, and its journal."""
    for folder in FOLDERS:
        (path / folder).mkdir(exist_ok=True)
    return Journal.create(path / "journal")


def only_ours(path: Path) -> bool:
    """Returns true if a folder is empty, or contains only files of a store."""
    for one in listed(path):
        if one.name == MARK or is_temporary(one.name):
            continue
        names = _NAMES.get(one.name)
        if names is None or not one.is_dir():
            return False
        inner = (inside.name for inside in listed(one))
        if not all(is_temporary(name) or names.fullmatch(name) for name in inner):
            return False
    return True


def is_store(path: Path) -> bool:
    """Returns true if a folder is a store, even if its mark is gone."""
    if (path / MARK).exists():
        return True
    return any((path / folder).is_dir() for folder in FOLDERS) and only_ours(path)


def no_store(path: Path) -> str:
    """Message that a path is no store, with what it is instead."""
    words = "not a store of Dumbbell"
    if not path.exists():
        return (
            f"{words}: there is no such folder; `dumbbell run FILE` makes one, by default `store`"
        )
    if path.is_file():
        return f"{words}, but a file; a store is a folder, by default `store`"
    if is_store(path / "store"):
        return f"{words}; one is in {path / 'store'}"
    return words
