"""Dumbbell: a laboratory for transport protocols.

```python
import dumbbell

results = dumbbell.run("two-flows.yaml", store="store")
results.flows  # one row per flow and run
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell._core import version as __version__
from dumbbell.errors import DumbbellError, EngineError, ExperimentError, StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dumbbell.execution.shard import ShardLike
    from dumbbell.experiment.design import Overrides
    from dumbbell.results import Results
    from dumbbell.runs import ExperimentInfo

__all__ = [
    "DumbbellError",
    "EngineError",
    "ExperimentError",
    "ExperimentInfo",
    "Results",
    "StoreError",
    "__version__",
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
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def run(
    path: str | Path,
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
) -> Results:
    """Runs an experiment file.

    Args:
        path: Path of the experiment file.
        set: Factor → level or levels that replace its own; or path of a field → value.
        repeats: Runs per combination of levels; None: as in the file.
        seed: Seed of the first repeat; None: as in the file.
        workers: Number of simultaneous runs; None: one per processor.
        store: Folder of the store. Finished runs in it are not repeated. None: results are in
            memory alone.
        engine: Name of the engine.
        captures: Folder for captures (`sampling: {capture: true}`), a file per run; None: captures
            stay in the store, and without one they are not kept.
        per_tap: Write a capture per run and tap.
        traces: Folder for event traces of ns-2 (`sampling: {hops: {to: 10 s}}`), a file per run;
            None: no traces are written.
        allow: Raised limits of a run: `{"events": 5e9}` or `["memory=16 GB"]`; `["all"]` removes
            all limits. See docs/experiment-file.md.
        shard: Part of the runs to make: `"3/16"` or `(3, 16)`, the third of 16 shards. None: all.
            See docs/clusters.md.

    Returns:
        Tables of all finished runs of the experiment in the store.

    Raises:
        ExperimentError: The file has an error.
        EngineError: The engine is unknown, or a run failed.
        StoreError: The store cannot be read or written.
        DumbbellError: Captures or traces cannot be written, or `shard` is none.
    """
    from functools import partial
    from pathlib import Path

    from dumbbell.engines import engine_named
    from dumbbell.execution import execute
    from dumbbell.execution.budget import allowed
    from dumbbell.execution.exports import Exports
    from dumbbell.execution.shard import shard_of
    from dumbbell.experiment.load import load
    from dumbbell.store import MemoryStore, Store, temporary_store

    raised, part = allowed(allow), shard_of(shard)
    chosen = engine_named(engine)
    experiment = load(path, set=set, repeats=repeats, seed=seed)
    exports = Exports(captures, per_tap, traces)
    exports.check(experiment, path)
    execution = partial(execute, experiment, chosen, workers=workers, allow=raised, shard=part)
    if store is None and captures is None:
        memory = MemoryStore()
        found = memory.results(execution(memory))
        exports.write_traces(found)
        return found
    # Captures may be larger than memory: without a store they pass through a temporary one.
    with temporary_store() if store is None else Store(Path(store), write=True) as kept:
        found = kept.results(execution(kept))
        exports.write_captures(kept, found)
        exports.write_traces(found)
        return found.in_memory() if store is None else found


def load_results(store: str | Path, experiment: str | None = None) -> Results:
    """Reads the results of an experiment from a store.

    Args:
        store: Folder of the store.
        experiment: Name or id of the experiment; None: the one run last.

    Raises:
        StoreError: The experiment is unknown, or the store cannot be read.
    """
    from pathlib import Path

    from dumbbell.store import Store

    with Store(Path(store), write=False) as kept:
        return kept.results(experiment)
