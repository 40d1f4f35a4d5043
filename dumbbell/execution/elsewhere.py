"""Choice of who executes runs: an executor, or a cluster by its address."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor
from contextvars import ContextVar
from dataclasses import dataclass

from dumbbell.codes import Code
from dumbbell.errors import EngineError


@dataclass(frozen=True, slots=True)
class ChosenExecutor:
    """Executor whose workers execute runs. `shared`: they write the store themselves."""

    executor: Executor
    shared: bool = False


_CURRENT: ContextVar[ChosenExecutor | None] = ContextVar("elsewhere", default=None)


def current_executor() -> ChosenExecutor | None:
    """Executor in use; None: threads of this process execute runs."""
    return _CURRENT.get()


@contextlib.contextmanager
def use_executor(chosen: ChosenExecutor | None) -> Iterator[None]:
    """Context in which an executor executes all runs; None: as outside of it."""
    token = None if chosen is None else _CURRENT.set(chosen)
    try:
        yield
    finally:
        if token is not None:
            _CURRENT.reset(token)


def refuse_shared_alone(chosen: Executor | str | None, *, shared: bool) -> None:
    """Raises `EngineError` if nobody shares the store."""
    if shared and chosen is None:
        raise EngineError(
            "only workers of a cluster or an executor can share a store", code=Code.CLUSTER
        )


@contextlib.contextmanager
def opened_executor(
    chosen: Executor | str | None, workers: int | None, *, shared: bool
) -> Iterator[None]:
    """Context in which an executor executes all runs.

    Args:
        chosen: The executor, or the address of a cluster, which is closed at the end; None: runs
            are executed as outside of the context.
        workers: See :func:`dumbbell.execution.cluster.open_cluster`.
        shared: The workers write the store themselves.

    Raises:
        EngineError: The cluster cannot be opened, or nobody shares the store.
    """
    refuse_shared_alone(chosen, shared=shared)
    if chosen is None:
        yield
        return
    with contextlib.ExitStack() as stack:
        if isinstance(chosen, str):
            from dumbbell.execution.cluster import open_cluster

            chosen = stack.enter_context(open_cluster(chosen, workers))
        stack.enter_context(use_executor(ChosenExecutor(chosen, shared)))
        yield
