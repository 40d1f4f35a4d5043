"""Remote copy of a store, below a URL: fetched before a verb, uploaded after it.

Object stores have no locks and rename nothing, so a store at a URL is worked on in a folder of this
machine, its working copy. Segments and files of runs never change and have unique names: they are
only added. A segment is uploaded after the files of its runs, its manifest last. A working copy
that was killed is uploaded by the next command with its URL.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import StoreError, StoreWarning
from dumbbell.files.urls import copies_folder, url_of
from dumbbell.files.whole import sync_path, temporary_of, write_file
from dumbbell.store.adopt import adopt
from dumbbell.store.files import FileMark, is_temporary, listed, problem, remove
from dumbbell.store.index import Sound
from dumbbell.store.objects import FULL, Objects
from dumbbell.store.place import FOLDERS, MARK, check_name
from dumbbell.store.reconcile import reconciled
from dumbbell.store.segments import MANIFEST, Segment, read_segment, read_segments

#: Time in s in which a remote copy is not listed again: a verb opens a store several times.
FRESH_S = 5.0
#: Folders of small files that change, beside the mark.
_RECORDS = ("experiments", "studies")

_copies: dict[Path, Remote] = {}


def entered(path: Path) -> Remote | None:
    """Prepares the place of a store: of a URL, its working copy is brought up to date.

    Returns its remote copy; None: the store is a folder. Raises `StoreError` if the name cannot be
    one of a store, or the remote copy cannot be read.
    """
    check_name(path)
    remote = remote_of(path)
    if remote is not None and not remote.is_fresh():
        remote.fetch()
        remote.recover()
    return remote


def remote_of(path: Path) -> Remote | None:
    """Remote copy of a store; None: the store is a folder."""
    url = url_of(path)
    if url is None:
        return None
    return _copies.setdefault(path, Remote(path, url))


class Remote:
    """Remote copy of a store.

    Attributes:
        path: Working copy.
        url: Place of the remote copy.
    """

    def __init__(self, path: Path, url: str) -> None:
        self.path, self.url = path, url
        self._objects = Objects(url)
        self._lock = threading.RLock()
        self._records: dict[str, bytes] = {}
        self._segments: dict[str, int] = {}
        self._thread: threading.Thread | None = None
        self._fetched_at = -math.inf

    # Fetching

    def is_fresh(self) -> bool:
        """Returns true if the working copy was fetched in the last `FRESH_S`."""
        fresh = time.monotonic() - self._fetched_at < FRESH_S
        return fresh and (self.path / MARK).exists()

    def fetch(self) -> None:
        """Fetches the files that the working copy lacks. Raises `StoreError`."""
        with self._lock, self._local_errors():
            self._objects.patient = True
            # Segments first: the experiments that they name were uploaded before them.
            self._segments = self._objects.names("segments")
            self._fetch_records()
            self._fetch_segments()
            self._fetched_at = time.monotonic()

    def _fetch_records(self) -> None:
        names = [MARK, *(name for folder in _RECORDS for name in self._objects.names(folder))]
        found: dict[str, bytes] = {}

        def read(name: str) -> None:
            data = self._objects.read(name)
            if data is not None:
                found[name] = data

        self._objects.each(read, names)
        self._records = found
        for name, theirs in found.items():
            path = self.path / name
            mine = path.read_bytes() if path.exists() else None
            chosen = reconciled(name, mine, theirs)
            if chosen != mine:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_file(path, chosen, sync=False)

    def _fetch_segments(self) -> None:
        whole = {one.path.name: one for one in read_segments(self.path)[0] if not one.torn()}
        folders: dict[str, list[str]] = {}
        for name in self._segments:
            folders.setdefault(name.split("/")[1], []).append(name)
        new = {
            key: names
            for key, names in folders.items()
            if key not in whole and f"segments/{key}/{MANIFEST}" in names
        }
        temporary = {key: self._begun(key) for key in new}
        places = {name: temporary[key] for key, names in new.items() for name in names}
        self._objects.each(
            lambda name: self._objects.get(name, places[name] / name.rpartition("/")[2]), places
        )
        fetched = [one for folder in temporary.values() if (one := self._checked(folder))]
        self._fetch_runs([*whole.values(), *fetched])
        for key, folder in temporary.items():
            self._placed(folder, self.path / "segments" / key)

    def _begun(self, key: str) -> Path:
        folder = temporary_of(self.path / "segments" / key, str(os.getpid()))
        remove(folder)
        folder.mkdir(parents=True)
        return folder

    def _checked(self, folder: Path) -> Segment | None:
        """Segment that was fetched. Damaged tables are fetched once more; then they stay so."""
        segment = read_segment(folder)
        if segment is not None:
            key = folder.name[1:].split(".")[0]
            for path, _ in segment.problems():
                self._objects.get(f"segments/{key}/{path.name}", path)
        return segment

    def _placed(self, folder: Path, final: Path) -> None:
        """Gives a fetched segment its name, unless another process was faster."""
        sync_path(folder)
        if final.exists():
            found = read_segment(final)
            if found is not None and found.torn() is None:  # fetched meanwhile
                remove(folder)
                return
            remove(final)
        try:
            folder.rename(final)
        except OSError:
            if not final.exists():
                raise
            remove(folder)

    def _fetch_runs(self, segments: Iterable[Segment]) -> None:
        """Fetches the files of runs that are missing, or shorter or longer than recorded."""
        marks: dict[str, set[FileMark]] = {}
        for name, mark in _files_of(segments):
            marks.setdefault(name, set()).add(mark)
        folder = self.path / "runs"
        if marks:
            folder.mkdir(parents=True, exist_ok=True)
        sizes = {one.name: one.stat().st_size for one in os.scandir(folder)} if marks else {}
        wanted = [
            name for name, some in marks.items() if all(one.size != sizes.get(name) for one in some)
        ]

        def get(name: str) -> None:
            temporary = temporary_of(folder / name, str(os.getpid()))
            for _ in range(2):
                if not self._objects.get(f"runs/{name}", temporary):
                    return  # the store says that the file is missing
                if any(problem(temporary, mark) is None for mark in marks[name]):
                    break
            temporary.replace(folder / name)

        self._objects.each(get, wanted)

    # Uploading

    def recover(self) -> None:
        """Seals what killed processes left, and uploads it. A failure is only a warning."""
        if any(listed(self.path / "journal", "*.log")):
            with self._local_errors():
                adopt(self.path, None, Sound(self.path))
        self.upload(calm=True)

    def begin_upload(self) -> None:
        """Uploads in the background, unless that is under way. The next upload mends a failure."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(
                target=self.upload, kwargs={"calm": True, "told": False}, daemon=True
            )
            self._thread.start()

    def upload(self, *, calm: bool = False, told: bool = True) -> None:
        """Uploads the files that the remote copy lacks.

        Args:
            calm: Ask a store that refuses only once; a failure is a `StoreWarning`.
            told: Give this warning.

        Raises:
            StoreError: The remote copy cannot be written. The working copy keeps everything.
        """
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        with self._lock:
            self._objects.patient = not calm
            try:
                with self._local_errors():
                    self._upload()
            except StoreError as error:
                text = (
                    f"{error}; nothing is lost: finished runs are kept on this machine, and the "
                    "next command with this URL uploads them"
                )
                if not calm:
                    raise StoreError(text, code=error.code) from None
                if told:
                    warnings.warn(text, StoreWarning, stacklevel=2)

    def _upload(self) -> None:
        if not (self.path / MARK).exists():
            return
        changed = [
            (name, data)
            for name, path in self._local_records()
            if (data := path.read_bytes()) != self._records.get(name)
        ]
        new = [one for one in reversed(read_segments(self.path)[0]) if self._lacks(one)]
        if (changed or new) and MARK not in self._records:
            self._refuse_other()
        for name, data in changed:
            self._objects.write(name, data)
            self._records[name] = data
        for segment in new:
            if not segment.problems():
                self._upload_segment(segment)

    def _local_records(self) -> Iterator[tuple[str, Path]]:
        yield MARK, self.path / MARK
        for folder in _RECORDS:
            for path in listed(self.path / folder, "*.json"):
                if not is_temporary(path.name) and not path.name.startswith("."):
                    yield f"{folder}/{path.name}", path

    def _lacks(self, segment: Segment) -> bool:
        """Returns true if a file of the segment is not there with its size."""
        return any(
            self._segments.get(name) != path.stat().st_size for name, path in _objects_of(segment)
        )

    def _upload_segment(self, segment: Segment) -> None:
        """Uploads a segment: files of its runs, its tables, its manifest."""
        runs = {}
        for name, mark in _files_of([segment]):
            path = self.path / "runs" / name
            if path.exists() and path.stat().st_size == mark.size:
                runs[f"runs/{name}"] = path
        *tables, manifest = _objects_of(segment)
        for some in (runs, dict(tables), dict([manifest])):
            self._objects.each(lambda one: self._objects.put(one[1], one[0]), some.items())
        self._segments |= {name: path.stat().st_size for name, path in (*tables, manifest)}

    def _refuse_other(self) -> None:
        others = self._objects.top() - {MARK, *FOLDERS, "studies"}
        if others:
            raise StoreError(
                f"{self.url}: other things are there ({min(others)}), not a store: choose another",
                code=Code.NOT_STORE,
            )

    def remove_segment(self, key: str) -> None:
        """Removes a segment, its manifest first."""
        with self._lock:
            self._objects.patient = True
            names = [name for name in self._segments if name.startswith(f"segments/{key}/")]
            for name in sorted(names, key=lambda one: not one.endswith(MANIFEST)):
                self._objects.remove(name)
                del self._segments[name]

    @contextlib.contextmanager
    def _local_errors(self) -> Iterator[None]:
        """Context that turns errors of the working copy into one message."""
        try:
            yield
        except OSError as error:
            reason = "the disk is full" if error.errno in FULL else error.strerror or error
            cache = copies_folder()
            raise StoreError(
                f"{self.url}: no working copy in {cache}: {reason}", code=Code.URL
            ) from None


def _files_of(segments: Iterable[Segment]) -> Iterator[tuple[str, FileMark]]:
    """Files of the runs of some segments, with their marks."""
    for segment in segments:
        for files in (segment.noted or {}).values():
            for name, mark in files.items():
                yield name, FileMark(*mark)


def _objects_of(segment: Segment) -> list[tuple[str, Path]]:
    """Names and files of a segment, its manifest last."""
    paths = [*map(segment.table, segment.tables), segment.path / MANIFEST]
    return [(f"segments/{segment.path.name}/{path.name}", path) for path in paths]
