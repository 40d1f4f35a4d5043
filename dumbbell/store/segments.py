"""Segments: small tables of many runs, with the checksums of all files of these runs.

A segment is written under a temporary name and renamed when it is complete. Its manifest contains
a checksum of itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from dumbbell.codes import Code
from dumbbell.errors import StoreError, shortened
from dumbbell.files.whole import sync_path, temporary_of, write_plain
from dumbbell.store.files import (
    DIGEST_BYTES,
    FileMark,
    is_temporary,
    listed,
    mark_of,
    problem,
    remove,
)
from dumbbell.store.journal import Entry
from dumbbell.store.tables import as_now, frames_of, parquet

MANIFEST = "manifest.json"
_FORMAT = 1
_LEGACY = {"format", "tables", "runs"}
_SEALED = {"format", "tables", "hashes", "runs", "files", "experiments", "check"}

Files = Mapping[str, FileMark]
"""Files of a run, by their names in the folder `runs`."""
Noted = Mapping[str, Sequence[Any]]
"""Files of a run: name → size and checksum: name → size and checksum."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Segment, as described by its manifest.

    Attributes:
        path: Folder of the segment.
        tables: Tables with their marks; the checksum is empty where none was recorded.
        runs: Runs of the segment.
        noted: Other files of each run, with size and checksum; None: the segment is older than
            this field.
        experiments: Experiments that the store had when the segment was written.
    """

    path: Path
    tables: Mapping[str, FileMark]
    runs: tuple[str, ...]
    noted: Mapping[str, Noted] | None
    experiments: tuple[str, ...]

    def table(self, name: str) -> Path:
        """Path of a table."""
        return self.path / f"{name}.parquet"

    def torn(self) -> tuple[Path, str] | None:
        """First table of the wrong length: a cheap check for damage."""
        for name, mark in self.tables.items():
            path = self.table(name)
            try:
                size = path.stat().st_size
            except FileNotFoundError:
                return path, "missing"
            if size != mark.size:
                return path, f"{size} bytes long, was written with {mark.size}"
        return None

    def problems(self) -> list[tuple[Path, str]]:
        """Damage of all tables."""
        torn = []
        for name, mark in self.tables.items():
            wrong = problem(self.table(name), mark) if mark.hash else None
            if wrong is not None:
                torn.append((self.table(name), wrong))
        if not torn and (found := self.torn()) is not None:
            torn.append(found)
        return torn

    def frame(
        self, name: str, runs: Iterable[str], columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Rows of a table for these runs. `columns`: those read beside `run`; None: all."""
        path = self.table(name)
        with readable(path):
            data = io.BytesIO(path.read_bytes())
            own = None
            if columns is not None:
                own = [one for one in pl.read_parquet_schema(data) if one in ("run", *columns)]
                data.seek(0)
            frame = pl.read_parquet(data, columns=own)
            return as_now(name, frame.filter(pl.col("run").is_in(list(runs))), columns)


def read_segments(store: Path) -> tuple[list[Segment], list[tuple[Path, str]]]:
    """All readable segments, the newest first, and the damage of unreadable manifests."""
    segments, wrong = [], []
    for folder in reversed(list(listed(store / "segments"))):
        if is_temporary(folder.name):
            continue
        path = folder / MANIFEST
        try:
            segments.append(_read(folder, path.read_bytes()))
        except (FileNotFoundError, NotADirectoryError):
            if folder.is_dir():
                wrong.append((path, "missing"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            wrong.append((path, f"damaged: {error}" if type(error) is ValueError else "damaged"))
    return segments, wrong


def read_segment(folder: Path) -> Segment | None:
    """Segment in a folder; None: its manifest cannot be read."""
    try:
        return _read(folder, (folder / MANIFEST).read_bytes())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def runs_beside(manifest: Path) -> tuple[str, ...]:
    """Runs of a segment with an unreadable manifest, from its tables; empty: unknown."""
    try:
        return tuple(pl.read_parquet(manifest.with_name("runs.parquet"), columns=["run"])["run"])
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return ()


def _read(folder: Path, data: bytes) -> Segment:
    found = orjson.loads(data)
    if set(found) == _LEGACY:
        tables = {name: FileMark(int(size), "") for name, size in found["tables"].items()}
        return Segment(folder, tables, tuple(found["runs"]), None, ())
    sealed = set(found) == _SEALED and found["check"] == seal(found)
    if not (sealed and _is_canonical(found, data)):
        raise ValueError("its checksum is not the one recorded")
    tables = {name: FileMark(size, found["hashes"][name]) for name, size in found["tables"].items()}
    experiments = tuple(found["experiments"])
    return Segment(folder, tables, tuple(found["runs"]), found["files"], experiments)


def _is_canonical(fields: Mapping[str, Any], data: bytes) -> bool:
    """Returns true if `data` is the text of a manifest as it is written."""
    bare = orjson.dumps(fields)
    # Quick for manifests, whose texts have no spaces, commas or colons.
    spaces = bare.count(b",") + bare.count(b":")
    quick = len(data) == len(bare) + spaces and data.replace(b" ", b"") == bare
    return quick or _text(fields) == data


def seal(fields: Mapping[str, Any]) -> str:
    """Checksum over a JSON object without its field `check`."""
    rest = {name: value for name, value in fields.items() if name != "check"}
    return hashlib.blake2b(_sorted_text(rest), digest_size=DIGEST_BYTES).hexdigest()


def _sorted_text(fields: Mapping[str, Any]) -> bytes:
    """What `json.dumps` makes with sorted keys and no spaces, six times as fast where it can be."""
    try:
        text = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a number of more than 64 bits
        text = b"\x7f"
    if text.isascii() and b"\x7f" not in text:  # `json` escapes other characters
        return text
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


def _found(store: Path, run: str) -> dict[str, tuple[int, str]]:
    marks = {path.name: mark_of(path.read_bytes()) for path in listed(store / "runs", f"{run}.*")}
    return {name: (mark.size, mark.hash) for name, mark in marks.items()}


def _text(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields).encode()


def write_segment(store: Path, entries: Sequence[Entry], owner: str) -> Segment:
    """Writes the runs of journals to a segment, atomically."""
    once = {entry.fields["run"]: entry for entry in entries}
    noted = {
        # Journals of older versions record no files: the files are used unchecked.
        run: entry.fields["files"] if "files" in entry.fields else _found(store, run)
        for run, entry in once.items()
    }
    return write_frames(store, frames_of(entries), noted, owner)


def write_frames(
    store: Path,
    frames: Mapping[str, pl.DataFrame],
    files: Mapping[str, Noted],
    owner: str,
) -> Segment:
    """Writes a segment atomically.

    Args:
        store: Folder of the store.
        frames: Small tables of the runs, and `runs`.
        files: Runs of the segment: name → size and checksum of the files of each in `runs`.
        owner: Name of the writer.
    """
    final = new_segment(store)
    folder = temporary_of(final, owner)
    folder.mkdir()
    try:
        marks = {}
        for name, frame in frames.items():
            data = parquet(frame)
            write_plain(folder / f"{name}.parquet", data, sync=True)
            marks[name] = mark_of(data)
        experiments = [path.stem for path in listed(store / "experiments", "*.json")]
        fields: dict[str, Any] = {
            "format": _FORMAT,
            "tables": {name: mark.size for name, mark in marks.items()},
            "hashes": {name: mark.hash for name, mark in marks.items()},
            "runs": list(files),
            "files": files,
            "experiments": [name for name in experiments if not name.startswith(".")],
        }
        data = _text({**fields, "check": seal(fields)})
        write_plain(folder / MANIFEST, data, sync=True)
        put_segment(folder, final)
    except OSError:
        with contextlib.suppress(OSError):
            remove(folder)
        raise
    return _read(final, data)


def new_segment(store: Path) -> Path:
    """Place of another segment."""
    return store / "segments" / f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}"


def put_segment(folder: Path, final: Path) -> None:
    """Gives a finished segment its name. From then on its runs are in the store."""
    sync_path(folder)
    folder.rename(final)
    sync_path(final.parent)


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Context that turns errors into a message with the path of the table."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or ("missing" if isinstance(error, FileNotFoundError) else error)
        raise StoreError(f"{path}: cannot be read: {reason}", code=Code.STORE_ACCESS) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise StoreError(
            f"{path}: damaged: {shortened(str(error), 100)}", code=Code.DAMAGED
        ) from None
