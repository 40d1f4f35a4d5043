"""Repair of a store: damaged runs are rerun."""

from __future__ import annotations

from pathlib import Path

from dumbbell.engines import engine_named
from dumbbell.execution.budget import allowed
from dumbbell.execution.plan import each_task
from dumbbell.execution.runner import execute
from dumbbell.experiment.load import load_text
from dumbbell.runs import MEASURED
from dumbbell.store import Store
from dumbbell.store.leftovers import remove_leftover
from dumbbell.store.place import MARK, restore
from dumbbell.store.records import Record
from dumbbell.store.verify import Examination, examine, is_as_found


def repair(store: Path, *, workers: int | None = None) -> tuple[Examination, list[str]]:
    """Reruns damaged runs, from the experiments in the store.

    Returns the remaining damage, and the reasons why some runs could not be rerun. Raises what
    `dumbbell.run` raises.
    """
    found = examine(store)
    if any(damage.path == store / MARK for damage in found.damages):
        restore(store)
    failed = []
    with Store(store, write=True) as opened:  # seals the journals of dead writers
        for record in found.records:
            lost = found.lost() & {one.run for one in record.runs}
            if lost:
                failed += _again(opened, record, lost, workers)
    now = examine(store)
    for one in now.leftovers:
        if one.path.parent == store / "segments" and is_as_found(one):
            remove_leftover(store, one.path)
    return examine(store), failed


def _again(store: Store, record: Record, lost: set[str], workers: int | None) -> list[str]:
    """Reruns runs of an experiment. Returns the reason if that is not possible."""
    if record.engine == MEASURED:
        words = f"{len(lost)} damaged runs were measured; {store.make_again(record)} reads them"
        return [f"{record.info.name}: {words}"]
    engine = engine_named(record.engine)
    file = Path(record.file or f"{record.info.name}.yaml")
    experiment = load_text(
        record.info.yaml,
        file,
        set={name: list(levels) for name, levels in record.overrides.items()},
        repeats=record.info.repeats,
        seed=record.info.seed,
    )
    gone = lost - {task.run.id for task in each_task(experiment, engine)}
    if len(gone) < len(lost):
        execute(experiment, engine, store, workers=workers, only=lost, allow=allowed(["all"]))
    if not gone:
        return []
    return [
        f"{record.info.name}: {len(gone)} damaged runs are of another version of the engine "
        f"{record.engine}: {store.run_again(record.file)} makes those of this version"
    ]
