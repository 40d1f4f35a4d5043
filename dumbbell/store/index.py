"""Index of a store: the files of each run, and their damage."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dumbbell.store.files import FileMark, listed, problem
from dumbbell.store.journal import Entry, read
from dumbbell.store.segments import Files, Noted, Segment, read_segments, runs_beside

_THREADS = 4
#: Files that a thread examines at once: most are small.
_BATCH = 64


@dataclass(frozen=True, slots=True)
class Damage:
    """Damaged file of a store.

    Attributes:
        path: Path of the file.
        what: What is wrong.
        runs: Runs that need the file; empty: unknown.
    """

    path: Path
    what: str
    runs: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


@dataclass(frozen=True, slots=True)
class Kept:
    """Run in a journal or a segment. `noted`: None if an older version did not record files."""

    run: str
    noted: Noted | None
    entry: Entry | None = None
    segment: Segment | None = None

    @property
    def files(self) -> Files | None:
        """Files of the run in the folder `runs`; None: not recorded."""
        if self.noted is None:
            return None
        return {name: FileMark(*mark) for name, mark in self.noted.items()}


class Sound:
    """Cache of checked files and their damage."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._files: dict[tuple[str, FileMark], str | None] = {}
        self._segments: dict[Path, list[tuple[Path, str]]] = {}

    def trust(self, name: str, mark: FileMark) -> None:
        """Records a file as undamaged, without reading it."""
        self._files[name, mark] = None

    def examine(self, marks: Iterable[tuple[str, FileMark]]) -> None:
        """Checks the files of runs that are not yet checked, several at once."""
        new = [one for one in dict.fromkeys(marks) if one not in self._files]
        if not new:
            return
        batches = [new[begin : begin + _BATCH] for begin in range(0, len(new), _BATCH)]
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="verify") as pool:
            for batch, found in zip(batches, pool.map(self._problems, batches), strict=True):
                self._files.update(zip(batch, found, strict=True))

    def _problems(self, files: Iterable[tuple[str, FileMark]]) -> list[str | None]:
        folder = str(self._store / "runs")
        return [problem(f"{folder}/{name}", mark) for name, mark in files]

    def problem(self, name: str, mark: FileMark) -> str | None:
        """Damage of a file of a run; None: undamaged."""
        if (name, mark) not in self._files:
            self.examine([(name, mark)])
        return self._files[name, mark]

    def of_segment(self, segment: Segment) -> list[tuple[Path, str]]:
        """Damage of the tables of a segment."""
        if segment.path not in self._segments:
            self._segments[segment.path] = segment.problems()
        return self._segments[segment.path]


class Index:
    """Snapshot of the contents of a store. Other processes may add runs later.

    Attributes:
        segments: Readable segments, the newest first.
        manifests: Unreadable manifests.
    """

    def __init__(self, store: Path, sound: Sound, *, journals: bool = True) -> None:
        self.store = store
        self._sound = sound
        self._kept: dict[str, list[Kept]] = {}
        # Journals before segments: another process may move runs from a journal to a segment.
        for path in listed(store / "journal", "*.log") if journals else ():
            for entry in reversed(read(path)):
                fields = entry.fields
                self._add(Kept(fields["run"], fields.get("files"), entry=entry))
        self.segments, wrong = read_segments(store)
        self.manifests = [Damage(path, what, runs_beside(path)) for path, what in wrong]
        for segment in self.segments:
            for run in segment.runs:
                noted = None if segment.noted is None else segment.noted.get(run)
                self._add(Kept(run, noted, segment=segment))

    def _add(self, kept: Kept) -> None:
        self._kept.setdefault(kept.run, []).append(kept)

    def runs(self) -> set[str]:
        """Runs in a journal or in a segment with tables of the recorded length."""
        torn = self._torn()
        return {
            run
            for run, copies in self._kept.items()
            if any(one.segment is None or one.segment.path not in torn for one in copies)
        }

    def _torn(self) -> set[Path]:
        return {segment.path for segment in self.segments if segment.torn() is not None}

    def named(self) -> set[str]:
        """Runs in a journal or a readable manifest, damaged or not."""
        return set(self._kept)

    def named_of(self, runs: Iterable[str]) -> set[str]:
        """Those of some runs that are in a journal or a readable manifest, damaged or not."""
        return {run for run in runs if run in self._kept}

    def copies(self, run: str) -> list[Kept]:
        """All copies of a run."""
        return self._kept.get(run, [])

    def sound(self, runs: Iterable[str]) -> tuple[dict[str, Kept], list[Damage]]:
        """Undamaged copies of runs by id, and the damage of the other runs.

        Every file is read once to compare its checksum.
        """
        copies = {run: self._kept[run] for run in runs if run in self._kept}
        self._sound.examine(
            (name, mark)
            for some in copies.values()
            for one in some
            if one.files is not None
            for name, mark in one.files.items()
        )
        whole: dict[str, Kept] = {}
        wrong: dict[tuple[Path, str], list[str]] = {}
        for run, some in copies.items():
            found = [self._problems(one) for one in some]
            sound = next((one for one, bad in zip(some, found, strict=True) if not bad), None)
            if sound is not None:
                whole[run] = sound
                continue
            for bad in found:
                for one in bad:
                    wrong.setdefault(one, []).append(run)
        damages = [Damage(path, what, tuple(runs)) for (path, what), runs in wrong.items()]
        return whole, damages

    def _problems(self, kept: Kept) -> list[tuple[Path, str]]:
        found = [] if kept.segment is None else list(self._sound.of_segment(kept.segment))
        for name, mark in (kept.files or {}).items():
            wrong = self._sound.problem(name, mark)
            if wrong is not None:
                found.append((self.store / "runs" / name, wrong))
        return found

    def unread(self, missing: Collection[str]) -> list[Damage]:
        """Unreadable manifests that may name some of these runs."""
        return [one for one in self.manifests if not one.runs or set(one.runs) & set(missing)]

    def digest(self, run: str) -> str | None:
        """Recorded digest of a run; None: unknown or unreadable."""
        for one in self.copies(run):
            if one.entry is not None:
                return str(one.entry.fields["digest"])
            if one.segment is not None:
                table = one.segment.table("runs")
                if any(path == table for path, _ in self._sound.of_segment(one.segment)):
                    continue
                found = one.segment.frame("runs", [run])["digest"]
                return str(found[0]) if found.len() else None
        return None

    def walls(self, runs: Collection[str]) -> dict[str, float]:
        """Real time in s of runs of `runs()`."""
        found: dict[str, float] = {}
        torn = self._torn()
        of_segment: dict[Path, tuple[Segment, list[str]]] = {}
        for run in runs:
            copies = self._kept[run]
            one = next(c for c in copies if c.segment is None or c.segment.path not in torn)
            if one.entry is not None:
                found[run] = float(one.entry.fields["wall_s"])
            elif one.segment is not None:
                of_segment.setdefault(one.segment.path, (one.segment, []))[1].append(run)
        for segment, some in of_segment.values():
            frame = segment.frame("runs", some, ["wall_s"])
            found.update(frame.select("run", "wall_s").iter_rows())
        return found

    def small(self, kept: Mapping[str, Kept]) -> dict[str, list[pl.DataFrame]]:
        """Small tables of runs in segments, by name."""
        of_segment: dict[Path, tuple[Segment, list[str]]] = {}
        for run, one in kept.items():
            if one.segment is not None:
                of_segment.setdefault(one.segment.path, (one.segment, []))[1].append(run)
        parts: dict[str, list[pl.DataFrame]] = {}
        for segment, runs in of_segment.values():
            for name in segment.tables:
                parts.setdefault(name, []).append(segment.frame(name, runs))
        return parts
