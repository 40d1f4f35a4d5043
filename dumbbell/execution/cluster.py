"""Clusters by their address: a Dask scheduler, or a batch system through dask-jobqueue."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

from dumbbell.codes import Code
from dumbbell.errors import EngineError, did_you_mean, nearest_name, shortened
from dumbbell.execution.pool import LostError

#: Address → class of dask-jobqueue, which its own configuration files describe.
JOB_QUEUES = {
    "dask-htcondor": "HTCondorCluster",
    "dask-lsf": "LSFCluster",
    "dask-moab": "MoabCluster",
    "dask-oar": "OARCluster",
    "dask-pbs": "PBSCluster",
    "dask-sge": "SGECluster",
    "dask-slurm": "SLURMCluster",
}
_LOCAL = "dask-local"
_SCHEME = "dask://"
#: A scheduler answers within this time, s.
ANSWER_S = 8.0
#: A scheduler that is lost is back within this time, s.
RETURN_S = 120.0
#: Seconds between two questions for the number of workers.
_SIZE_S = 2.0
#: A worker that dies takes its run with it; Dask hands it out again so often.
_DEATHS = 3
#: Clients that are tried while a scheduler's first message is not alone (see :func:`_client`).
_GREETINGS = 20


class DaskExecutor(Executor):
    """Executor of a Dask scheduler. A lost scheduler is asked again until it is back."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._client = connect()
        self._lock = threading.Lock()
        self._size, self._asked_at = 1, -math.inf

    @property
    def size(self) -> int:
        """Number of threads of all workers; 1 while there is none."""
        if time.monotonic() > self._asked_at + _SIZE_S:
            self._asked_at = time.monotonic()
            with contextlib.suppress(Exception):
                self._size = max(1, sum(self._client.ncores().values()))
        return self._size

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See :class:`concurrent.futures.Executor`."""
        found: Future[Any] = Future()
        client = self._living()
        inner = client.submit(fn, *args, **kwargs, pure=False, retries=0)
        inner.add_done_callback(lambda one: _settle(found, one))
        return found

    def _living(self) -> Any:
        """The client, connected again if its scheduler was lost."""
        with self._lock:
            begin = time.monotonic()
            end = begin + RETURN_S
            while (status := self._client.status) != "running":
                if status == "connecting" and time.monotonic() < begin + ANSWER_S:
                    time.sleep(0.1)  # it connects by itself, or never (see _client)
                    continue
                try:
                    self._client = self._connect()
                except EngineError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(1)
            return self._client

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Closes the connection. Runs of workers end unheard."""
        del wait, cancel_futures
        with contextlib.suppress(Exception):
            self._client.close(timeout=2)


def _settle(found: Future[Any], inner: Any) -> None:
    """Passes on the outcome of a future of Dask."""
    if found.done():
        return
    try:
        if inner.status == "finished":
            found.set_result(inner.result(timeout=ANSWER_S))
        elif inner.status == "error":
            found.set_exception(_failure(inner.exception(timeout=ANSWER_S)))
        else:
            found.set_exception(LostError())
    except Exception:  # the outcome was lost with its worker or the scheduler
        found.set_exception(LostError())


def _failure(error: BaseException) -> BaseException:
    if type(error).__name__ == "KilledWorker":
        return EngineError(
            f"each of {_DEATHS + 1} workers died while it executed this run", code=Code.CLUSTER
        )
    return error


@contextlib.contextmanager
def open_cluster(address: str, workers: int | None) -> Iterator[Executor]:
    """Opens a cluster, and closes it at the end.

    Args:
        address: `dask://HOST:PORT`, `dask-local`, or a batch system (`dask-slurm` …).
        workers: Jobs of a batch system, or processes of `dask-local`; None: 1 job, or 2 processes.

    Raises:
        EngineError: The address is unknown, nobody answers, or a package is missing.
    """
    distributed = _package("distributed", "cluster")
    _package("dask", "cluster").config.set({"distributed.scheduler.allowed-failures": _DEATHS})
    with contextlib.ExitStack() as stack:
        if address.startswith(_SCHEME):
            place = f"tcp://{address.removeprefix(_SCHEME)}"
        elif address == _LOCAL:
            cluster = distributed.LocalCluster(
                n_workers=workers or 2, threads_per_worker=1, dashboard_address=None,
                silence_logs=50,
            )  # fmt: skip
            place = stack.enter_context(cluster).scheduler_address
        elif address in JOB_QUEUES:
            place = stack.enter_context(_job_queue(address, workers or 1)).scheduler_address
        else:
            raise _unknown(address)
        executor = DaskExecutor(lambda: _client(distributed, address, place))
        stack.callback(executor.shutdown)
        yield executor


def _client(distributed: Any, address: str, place: str) -> Any:
    """A client of a scheduler.

    A client asserts that the scheduler's first message comes alone. The scheduler joins messages
    of 2 ms, so that of a worker that registers or leaves just then may be in it
    (`distributed.client.Client._ensure_connected`). A later client is without such a neighbour.
    Clients are counted, not timed: a busy scheduler's first answer may take all of `ANSWER_S`.
    """
    left = _GREETINGS
    while True:
        left -= 1
        try:
            return distributed.Client(place, timeout=ANSWER_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError, AssertionError) as error:
            if isinstance(error, AssertionError) and left > 0:
                continue
            what = shortened(str(error), 100) or type(error).__name__
            raise EngineError(
                f"{address}: no scheduler of Dask answers there: {what}", code=Code.CLUSTER
            ) from None


def _job_queue(address: str, jobs: int) -> Any:
    queues = _package("dask_jobqueue", "cluster")
    try:
        cluster = getattr(queues, JOB_QUEUES[address])()
    except Exception as error:
        what = shortened(str(error), 200)
        raise EngineError(
            f"{address}: {what} (see dask-jobqueue's configuration)", code=Code.CLUSTER
        ) from None
    cluster.scale(jobs=jobs)
    return cluster


def _package(name: str, extra: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise EngineError(
            f"clusters need the package {name}: pip install 'dumbbell-lab[{extra}]'",
            code=Code.NOT_INSTALLED,
        ) from None


def _unknown(address: str) -> EngineError:
    known = ["dask://HOST:PORT", _LOCAL, *JOB_QUEUES]
    near = nearest_name(address, known)
    hint = did_you_mean(near)
    return EngineError(
        f"unknown cluster {shortened(address)}{hint}; there are {', '.join(known)}",
        code=Code.CLUSTER,
    )
