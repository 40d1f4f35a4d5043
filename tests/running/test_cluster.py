"""Runs on executors and on a cluster of Dask: the same digests, whatever is lost on the way."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli import app
from dumbbell.errors import EngineError, ExperimentError
from dumbbell.execution import cluster as cluster_module
from dumbbell.execution.pool import LostError, Remote
from dumbbell.execution.remote import Answer, VersionError, execute_remotely
from dumbbell.store import Store
from dumbbell.store.digest import digests, of_all

TEXT = """\
dumbbell: 1
name: sweep
template: {dumbbell: {rate: 10 Mbit/s, rtt: $rtt, buffer: 1 BDP, forward: {loss: 0.1 %}}}
flows: [{from: s1, to: d1, tcp: cubic, start_jitter: 1 RTT}]
duration: 4 s
factors: {rtt: [10 ms, 40 ms]}
repeats: 6
sampling: none
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def found(results: dumbbell.Results) -> list[str]:
    digest: list[str] = results.runs["digest"].to_list()
    return digest


class Inline(Executor):
    """Executor that calls at once. The first `losses` calls are lost."""

    size = 2

    def __init__(self, losses: int = 0) -> None:
        self.losses, self.calls = losses, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        done: Future[Any] = Future()
        if self.calls <= self.losses:
            done.set_exception(LostError())
        else:
            try:
                done.set_result(fn(*args, **kwargs))
            except Exception as error:
                done.set_exception(error)
        return done


def test_any_executor_gives_the_same_digests(file: Path) -> None:
    alone = found(dumbbell.run(file))
    assert found(dumbbell.run(file, executor=Inline())) == alone
    with ProcessPoolExecutor(2) as processes:
        assert found(dumbbell.run(file, executor=processes)) == alone


def test_workers_write_a_store_that_they_share(file: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    with ProcessPoolExecutor(2) as processes:
        results = dumbbell.run(file, executor=processes, store=store, shared=True)
    assert found(results) == found(dumbbell.run(file))
    with Store(store, write=False) as opened:
        assert opened.results().runs.height == 12
    with pytest.raises(EngineError, match="name one"), ProcessPoolExecutor(1) as processes:
        dumbbell.run(file, executor=processes, shared=True)
    with pytest.raises(EngineError, match="only workers of a cluster or an executor can share"):
        dumbbell.run(file, store=store, shared=True)


@pytest.mark.slow
def test_a_worker_outlives_a_store(file: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    # A forked process would inherit locks of threads that it does not have.
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:
        first = found(dumbbell.run(file, executor=processes, store=store, shared=True))
        shutil.rmtree(store)
        again = found(dumbbell.run(file, executor=processes, store=store, shared=True))
    assert first == again
    with Store(store, write=False) as opened:
        assert opened.results().runs.height == 12


def test_a_broken_pool_is_one_message(file: Path) -> None:
    class Broken(Inline):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            done: Future[Any] = Future()
            done.set_exception(BrokenProcessPool("a process was terminated abruptly"))
            return done

    with pytest.raises(EngineError, match="the workers are gone: a process was terminated"):
        dumbbell.run(file, executor=Broken())


def test_what_is_lost_is_handed_out_again_a_few_times(file: Path) -> None:
    assert found(dumbbell.run(file, executor=Inline(losses=5))) == found(dumbbell.run(file))
    with pytest.raises(EngineError, match="lost 6 times with its worker"):
        dumbbell.run(file, executor=Inline(losses=1000))


def test_a_worker_of_another_version_is_refused_at_once(file: Path) -> None:
    class Older(Inline):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            name, _, *rest = args
            return super().submit(fn, name, "0.0.9", *rest)

    executor = Older()
    with pytest.raises(VersionError, match=r"has another version of the engine sim: .* 0\.0\.9"):
        dumbbell.run(file, executor=executor)
    assert executor.calls <= 2 * Remote.depth  # of the first two workers


def test_repeats_that_end_by_a_rule_run_on_executors(file: Path) -> None:
    rule = "repeats: {until: {metric: goodput_mbps, relative_half_width: 5 %}, min: 3, max: 9}"
    file.write_text(TEXT.replace("repeats: 6", rule), encoding="utf-8")
    assert found(dumbbell.run(file, executor=Inline())) == found(dumbbell.run(file))
    with pytest.raises(ExperimentError, match="a shard cannot know when all repeats are enough"):
        dumbbell.run(file, shard="1/2")


def test_an_answer_says_who_and_when(file: Path) -> None:
    from dumbbell.engines import engine_named
    from dumbbell.execution import plan
    from dumbbell.experiment import load

    engine = engine_named("sim")
    task = plan(load(file), engine)[0]
    before = time.time()
    answer = execute_remotely("sim", engine.version, task.run, None)
    assert isinstance(answer, Answer) and answer.worker.endswith(f":{os.getpid()}")
    assert before <= answer.begun_s <= time.time()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("dask-slrum", r"unknown cluster dask-slrum; did you mean dask-slurm\?"),
        ("dask://127.0.0.1:9", "no scheduler of Dask answers there"),
        ("dask://", "no scheduler of Dask answers there"),
    ],
)
def test_a_cluster_that_is_not_there_is_told(
    address: str, words: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cluster_module.ANSWER_S < 10
    monkeypatch.setattr(cluster_module, "ANSWER_S", 1.0)
    with pytest.raises(EngineError, match=words):
        dumbbell.run(file, executor=address)


class Client:
    """Client of Dask that has a status."""

    def __init__(self, status: str = "running") -> None:
        self.status = status


class Distributed:
    """Package whose first clients get a message that is not alone, after `answer_s`."""

    def __init__(self, refused: int, answer_s: float = 0.0) -> None:
        self.refused, self.answer_s = refused, answer_s

    def Client(self, place: str, **_: object) -> Client:
        self.refused -= 1
        if self.refused >= 0:
            time.sleep(self.answer_s)
            raise AssertionError
        return Client()


@pytest.mark.parametrize("package", [Distributed(3), Distributed(1, answer_s=0.2)])
def test_a_client_whose_first_message_was_not_alone_connects_again(
    package: Distributed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "ANSWER_S", 0.1)
    assert cluster_module._client(package, "dask://h:1", "tcp://h:1").status == "running"


def test_a_scheduler_that_never_greets_alone_is_told() -> None:
    with pytest.raises(EngineError, match="no scheduler of Dask answers there"):
        cluster_module._client(Distributed(1000), "dask://h:1", "tcp://h:1")


@pytest.mark.parametrize("status", ["closed", "connecting"])
def test_a_client_that_stays_lost_is_replaced(status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "ANSWER_S", 0.3)
    clients = iter([Client(status), Client()])
    executor = cluster_module.DaskExecutor(lambda: next(clients))
    assert executor._living().status == "running"


# A cluster of processes.


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port


class Cluster:
    """A scheduler and workers of Dask as processes on the loopback."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start_scheduler()
        self.workers = [self.start_worker() for _ in range(2)]
        self.wait_for_scheduler()

    def wait_for_scheduler(self) -> None:
        """A busy machine takes more than `ANSWER_S` to start Python twice."""
        for _ in range(1200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.1)
        pytest.fail(f"no scheduler listens on port {self.port} after two minutes")

    @property
    def address(self) -> str:
        return f"dask://127.0.0.1:{self.port}"

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
        with (self.folder / f"{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        self.processes.append(process)
        return process

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        host = f"--host=tcp://127.0.0.1:{self.port}"
        return self.start("dask_scheduler", host, "--no-dashboard", "--no-show")

    def start_worker(self) -> subprocess.Popen[bytes]:
        place = f"tcp://127.0.0.1:{self.port}"
        words = ("--nthreads=1", "--no-nanny", "--no-dashboard", "--host=127.0.0.1")
        return self.start("dask_worker", place, *words, "--death-timeout=60")

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    made = Cluster(folder)
    yield made
    made.close()


def when_some_are_done(events: Path, act: Any) -> threading.Thread:
    """Calls `act` as soon as a few runs are finished."""

    def watch() -> None:
        for _ in range(1000):
            time.sleep(0.02)
            if events.exists() and events.read_text().count('"finished"') >= 5:
                act()
                return

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["nothing", "worker", "scheduler"])
def test_a_sweep_on_dask_ends_with_the_digest_of_an_undisturbed_one(
    lost: str, cluster: Cluster, file: Path, tmp_path: Path
) -> None:
    file.write_text(
        TEXT.replace("repeats: 6", "repeats: 20").replace("4 s", "60 s"), encoding="utf-8"
    )
    store, alone, events = tmp_path / "store", tmp_path / "alone", tmp_path / "events"

    acted: list[int] = []

    def lose() -> None:
        acted.append(events.read_text().count('"finished"'))
        if lost == "worker":
            cluster.workers[0].send_signal(signal.SIGKILL)
        elif lost == "scheduler":
            cluster.scheduler.send_signal(signal.SIGKILL)
            cluster.scheduler.wait()
            cluster.scheduler = cluster.start_scheduler()
            for worker in cluster.workers:
                worker.kill()
            cluster.workers = [cluster.start_worker() for _ in range(2)]

    watching = when_some_are_done(events, lose)
    words = ["run", str(file), "--store", str(store), "--cluster", cluster.address]
    words += ["--events", str(events)]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    watching.join()
    assert done.exit_code == 0, done.output
    assert acted and acted[0] < 40, "it was lost in the middle"
    dumbbell.run(file, store=alone)
    assert of_all(digests(store)) == of_all(digests(alone))
