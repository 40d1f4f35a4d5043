"""Files of the experiments in a store. Each names the runs of an experiment."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dumbbell.store.files import is_temporary, listed
from dumbbell.store.index import Damage
from dumbbell.store.records import Record, read_record
from dumbbell.store.segments import Segment


def record_path(store: Path, key: str) -> Path:
    """Path of the file of an experiment."""
    return store / "experiments" / f"{key}.json"


def read_one(path: Path) -> tuple[Record | None, str]:
    """Experiment in a file, or the reason why it cannot be read."""
    try:
        return read_record(path.stem, path.read_bytes()), ""
    except FileNotFoundError:
        return None, "missing"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return None, f"damaged: {error}" if type(error) is ValueError else "damaged"


def read_all(store: Path, segments: Iterable[Segment]) -> tuple[list[Record], list[Damage]]:
    """Readable experiments, the last run at the end, and the damage of the others.

    Segments list the experiments of the store. A missing file of one of them counts as damage.
    """
    records, wrong = [], []
    paths = {path.stem: path for path in listed(store / "experiments", "*.json")}
    for segment in segments:
        for key in segment.experiments:
            paths.setdefault(key, record_path(store, key))
    for path in paths.values():
        if is_temporary(path.name):
            continue
        record, why = read_one(path)
        if record is not None:
            records.append(record)
        else:
            wrong.append(Damage(path, why))
    return sorted(records, key=lambda one: (one.order, one.updated_ns, one.id)), wrong
