"""Dumbbell: a laboratory for transport protocols.

```python
import dumbbell

results = dumbbell.run("two-flows.yaml", store="store")
results.flows  # one row per flow and run
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell._core import version as __version__
from dumbbell.errors import (
    DumbbellError,
    EngineError,
    ExperimentError,
    StoreError,
    StoreWarning,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from dumbbell.execution.shard import ShardLike
    from dumbbell.experiment.load import Overrides
    from dumbbell.metrics import METRICS
    from dumbbell.plugins import congestion_control
    from dumbbell.results import Results
    from dumbbell.runs import ExperimentInfo
    from dumbbell.sections import Experiment

__all__ = [
    "METRICS",
    "DumbbellError",
    "EngineError",
    "Experiment",
    "ExperimentError",
    "ExperimentInfo",
    "Results",
    "StoreError",
    "StoreWarning",
    "__version__",
    "congestion_control",
    "load_results",
    "run",
]


def __getattr__(name: str) -> object:
    """Imports modules with large dependencies on first use, so that `import dumbbell` is fast."""
    if name == "Results":
        from dumbbell.results import Results

        return Results
    if name == "ExperimentInfo":
        from dumbbell.runs import ExperimentInfo

        return ExperimentInfo
    if name == "Experiment":
        from dumbbell.sections import Experiment

        return Experiment
    if name == "METRICS":
        from dumbbell.metrics import METRICS

        return METRICS
    if name == "congestion_control":
        from dumbbell.plugins import congestion_control

        return congestion_control
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def run(
    path: str | Path | Mapping[str, Any],
    *,
    set: Overrides | None = None,
    repeats: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    store: str | Path | None = None,
    engine: str = "sim",
    captures: str | Path | None = None,
    per_tap: bool = False,
    traces: str | Path | None = None,
    allow: Sequence[str] | Mapping[str, float] | None = None,
    shard: ShardLike | None = None,
    executor: Executor | str | None = None,
    shared: bool = False,
) -> Results:
    """Runs an experiment file, or a mapping with its contents.

    Args:
        path: Path of the experiment file, or its contents as a mapping: `{"dumbbell": 1, …}`.
            Errors in a mapping name the path of the key, as `flows[0].tcp`, in place of a line.
        set: Factor → level or levels that replace its own; or path of a field → value.
        repeats: Runs per combination of levels; None: as in the file.
        seed: Seed of the first repeat; None: as in the file.
        workers: Number of simultaneous runs in this process; None: one per processor. With the
            address of a batch system: its jobs.
        store: Folder or URL of the store. Finished runs in it are not repeated. None: results are
            in memory alone.
        engine: Name of the engine.
        captures: Folder for captures (`sampling: {capture: true}`), a file per run; None: captures
            stay in the store, and without one they are not kept.
        per_tap: Write a capture per run and tap.
        traces: Folder for event traces of ns-2 (`sampling: {hops: {to: 10 s}}`), a file per run;
            None: no traces are written.
        allow: Raised limits of a run: `{"events": 5e9}` or `["memory=16 GB"]`; `["all"]` removes
            all limits. See docs/experiment-file/limits.md.
        shard: Part of the runs to make: `"3/16"` or `(3, 16)`, the third of 16 shards. None: all.
            See docs/clusters.md.
        executor: Who executes the runs: any executor whose workers have this version of Dumbbell
            (`concurrent.futures`, `client.get_executor()` of Dask), or the address of a cluster
            (`"dask://host:8786"`, `"dask-slurm"`). None: threads of this process.
        shared: The workers write the store themselves, in a file system that they share. Otherwise
            results come back to this process.

    Returns:
        Tables of all finished runs of the experiment in the store.

    Raises:
        ExperimentError: The file or the mapping has an error.
        EngineError: The engine is unknown, or a run failed.
        StoreError: The store cannot be read or written.
        DumbbellError: Captures or traces cannot be written, or `shard` is none.
    """
    from dumbbell.engines import engine_named
    from dumbbell.execution import execute_enough
    from dumbbell.execution.budget import allowed
    from dumbbell.execution.elsewhere import opened_executor
    from dumbbell.execution.exports import Exports
    from dumbbell.execution.shard import shard_of
    from dumbbell.experiment.load import load
    from dumbbell.files.urls import store_path
    from dumbbell.store import MemoryStore, Store, temporary_store

    raised, part = allowed(allow), shard_of(shard)
    chosen = engine_named(engine)
    experiment = load(path, set=set, repeats=repeats, seed=seed)
    exports = Exports(captures, per_tap, traces)
    exports.check(experiment, experiment.file)
    with opened_executor(executor, workers, shared=shared):
        options: dict[str, Any] = {"workers": workers, "allow": raised, "shard": part}
        if store is None and captures is None:
            memory = MemoryStore()
            found = memory.results(execute_enough(experiment, chosen, memory, **options))
            exports.write_traces(found)
            return found
        # Captures may be larger than memory: without a store they pass through a temporary one.
        with temporary_store() if store is None else Store(store_path(store), write=True) as kept:
            found = kept.results(execute_enough(experiment, chosen, kept, **options))
            exports.write_captures(kept, found)
            exports.write_traces(found)
            return found.in_memory() if store is None else found


def load_results(
    store: str | Path, experiment: str | None = None, *, partial: bool = False
) -> Results:
    """Reads the results of an experiment from a store.

    Args:
        store: Folder or URL of the store.
        experiment: Name or id of the experiment; None: the one run last.
        partial: Leave out damaged runs, with a `StoreWarning` about each reason, also about
            unfinished runs. Without it damage raises an error.

    Raises:
        StoreError: The experiment is unknown, the store cannot be read, or a run is damaged (with
            `partial`: every run).
    """
    import warnings

    from dumbbell.files.urls import store_path
    from dumbbell.store import Store

    with Store(store_path(store), write=False, partial=partial) as kept:
        if not partial:
            return kept.results(experiment)
        found, lack = kept.partial_results(experiment)
        if lack.damages and found.runs.is_empty():
            return kept.results(experiment)  # raises an error that names the damage
        for sentence in kept.sentences([lack]):
            warnings.warn(sentence, StoreWarning, stacklevel=2)
        return found
