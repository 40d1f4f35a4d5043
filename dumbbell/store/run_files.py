"""Files of single runs: tables over time, and captures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from dumbbell.files.whole import sync_path, write_file
from dumbbell.runs import RunResult
from dumbbell.store.files import mark_of
from dumbbell.store.index import Sound
from dumbbell.store.tables import LARGE, parquet


class RunFiles:
    """The folder `runs` of a store."""

    def __init__(self, store: Path, sound: Sound) -> None:
        self._folder, self._sound = store / "runs", sound
        self._unsynced: list[Path] = []

    def keep(
        self, run: str, result: RunResult, owner: str
    ) -> Iterator[tuple[str, tuple[int, str]]]:
        """Writes the tables over time and the capture of a run. Returns their names and marks."""
        written: dict[str, bytes] = {}
        for name in LARGE:
            if name in result.tables:
                frame = pl.read_ipc_stream(result.tables[name])
                if frame.height:
                    written[f"{run}.{name}.parquet"] = parquet(frame)
        if result.capture is not None:
            written[self._capture(run).name] = result.capture
        for name, data in written.items():
            path, mark = self._folder / name, mark_of(data)
            write_file(path, data, sync=False, owner=owner)
            self._unsynced.append(path)
            self._sound.trust(name, mark)
            yield name, (mark.size, mark.hash)

    def _capture(self, run: str) -> Path:
        return self._folder / f"{run}.pcapng"

    def capture(self, run: str) -> Path | None:
        """Capture of a run, as pcapng; None: there is none."""
        path = self._capture(run)
        return path if path.is_file() else None

    def sync(self) -> None:
        """Makes the files written since the last call survive a power failure."""
        for path in self._unsynced:
            sync_path(path)
        if self._unsynced:
            sync_path(self._folder)
        self._unsynced = []
