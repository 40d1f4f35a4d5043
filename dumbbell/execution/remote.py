"""Execution of a run by a process elsewhere: the function that workers call."""

from __future__ import annotations

import atexit
import contextlib
import os
import platform
import threading
import time
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.engines import engine_named
from dumbbell.engines.base import Engine, Monitor
from dumbbell.engines.host_files import host_files
from dumbbell.errors import DumbbellError, EngineError
from dumbbell.runs import Run, RunResult, run_id
from dumbbell.store import Store


class VersionError(EngineError):
    """A worker has another version of the engine, or other programs."""

    code = Code.VERSIONS


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of a run, from a worker.

    Attributes:
        result: The result; without tables if it is stored.
        worker: Host and process.
        begun_s: Time at which the run began, in s since 1970.
        stored: True if the worker has stored it.
    """

    result: RunResult
    worker: str
    begun_s: float
    stored: bool


def execute_remotely(engine: str, version: str, run: Run, store: str | None) -> Answer:
    """Executes a run in this process.

    Args:
        engine: Name of the engine.
        version: Version that the engine must have.
        run: The run.
        store: Store to which the result is added; None: it is returned.

    Raises:
        VersionError: The engine of this worker, or a program of the run, has another version.
    """
    own = _engine(engine)
    worker = f"{platform.node()}:{os.getpid()}"
    if own.version != version:
        raise VersionError(
            f"worker {worker} has another version of the engine {engine}: {own.version} in place "
            f"of {version}; install the same version on all workers"
        )
    programs = host_files(run.scenario)
    if programs and run_id(run.scenario, run.seed, engine, version + programs) != run.id:
        raise VersionError(
            f"worker {worker} has other programs than the machine that plans the runs; install the "
            "same versions on all workers"
        )
    begun_s = time.time()
    result = own.execute(run, Monitor())
    if store is None:
        return Answer(result, worker, begun_s, stored=False)
    with _LOCK:
        _opened(store).add(run, engine, version, result)
    return Answer(replace(result, tables={}, capture=None), worker, begun_s, stored=True)


#: Threads of a worker share its store.
_LOCK = threading.Lock()


@lru_cache(maxsize=16)
def _engine(name: str) -> Engine:
    engine = engine_named(name)
    engine.begin()
    return engine


#: Stores that this process has open, with the identity of their folders.
_STORES: dict[str, tuple[int, Store]] = {}


def _opened(path: str) -> Store:
    """Store of this process, closed at its end. The next writer seals that of a killed process.

    A worker may outlive a store: one that was removed and made again is opened again.
    """
    identity = Path(path).stat().st_ino
    known, store = _STORES.get(path, (0, None))
    if store is None or known != identity:
        if store is not None:
            with contextlib.suppress(DumbbellError, OSError):  # its folder is gone
                store.close()
        store = Store(Path(path), write=True)
        store.prepare()
        atexit.register(_close, path, identity)
        _STORES[path] = identity, store
    return store


def _close(path: str, identity: int) -> None:
    known, store = _STORES[path]
    if known == identity:
        store.close()
