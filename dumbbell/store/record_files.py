"""Files of the experiments in a store. Each names the runs of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from dumbbell.store.files import is_temporary, listed
from dumbbell.store.index import Damage
from dumbbell.store.records import Record, read_fields, read_record
from dumbbell.store.segments import Segment

T = TypeVar("T")


def record_path(store: Path, key: str) -> Path:
    """Path of the file of an experiment."""
    return store / "experiments" / f"{key}.json"


def read_one(path: Path) -> tuple[Record | None, str]:
    """Experiment in a file, or the reason why it cannot be read."""
    return _tried(path, read_record)


def read_all(store: Path, segments: Iterable[Segment]) -> tuple[list[Record], list[Damage]]:
    """Readable experiments, the last run at the end, and the damage of the others."""
    found, wrong = _every(store, segments, read_record)
    records = sorted(found.values(), key=lambda one: (one.order, one.updated_ns, one.id))
    return records, wrong


def read_all_fields(
    store: Path, segments: Iterable[Segment]
) -> tuple[dict[str, dict[str, Any]], list[Damage]]:
    """Fields of readable experiments by id, the last run at the end, and the damage of others."""
    found, wrong = _every(store, segments, read_fields)

    def place(key: str) -> tuple[int, int, str]:
        return found[key].get("order", 0), found[key]["updated_ns"], key

    return {key: found[key] for key in sorted(found, key=place)}, wrong


def _every(
    store: Path, segments: Iterable[Segment], read: Callable[[str, bytes], T]
) -> tuple[dict[str, T], list[Damage]]:
    """Contents of the files of all experiments.

    Segments list the experiments of the store. A missing file of one of them counts as damage.
    """
    found, wrong = {}, []
    paths = {path.stem: path for path in listed(store / "experiments", "*.json")}
    for segment in segments:
        for key in segment.experiments:
            paths.setdefault(key, record_path(store, key))
    for key, path in paths.items():
        if is_temporary(path.name):
            continue
        one, why = _tried(path, read)
        if one is not None:
            found[key] = one
        else:
            wrong.append(Damage(path, why))
    return found, wrong


def _tried(path: Path, read: Callable[[str, bytes], T]) -> tuple[T | None, str]:
    try:
        return read(path.stem, path.read_bytes()), ""
    except FileNotFoundError:
        return None, "missing"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return None, f"damaged: {error}" if type(error) is ValueError else "damaged"
