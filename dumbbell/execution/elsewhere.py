"""Choice of who executes runs: an executor, or a cluster by its address."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor

from dumbbell.errors import EngineError
from dumbbell.execution.pool import Elsewhere, use_executor


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
    if chosen is None:
        if shared:
            raise EngineError("only workers of a cluster or an executor can share a store")
        yield
        return
    with contextlib.ExitStack() as stack:
        if isinstance(chosen, str):
            from dumbbell.execution.cluster import open_cluster

            chosen = stack.enter_context(open_cluster(chosen, workers))
        stack.enter_context(use_executor(Elsewhere(chosen, shared)))
        yield
