"""Captures of an experiment as files that say which run they are of."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from dumbbell.errors import StoreError
from dumbbell.results import Results
from dumbbell.store import Store


def write_captures(store: Store, results: Results, folder: str | Path) -> list[Path]:
    """Copies what an experiment captured to `<levels>-<repeat>.pcapng` in a folder.

    Returns the files; none if the experiment asks for no capture (`sampling: {capture: true}`).
    Raises `StoreError` if they cannot be written.
    """
    written = []
    factors = list(results.experiment.factors)
    for row in results.runs.iter_rows(named=True):
        kept = store.capture(row["run"])
        if kept is None:
            continue
        words = [results.experiment.name, *(row[factor] for factor in factors), str(row["repeat"])]
        name = "-".join(re.sub(r"[^\w.]+", "_", word).strip("_") for word in words)
        path = Path(folder) / f"{name}.pcapng"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(kept, path)
        except OSError as error:
            raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from None
        written.append(path)
    return written
