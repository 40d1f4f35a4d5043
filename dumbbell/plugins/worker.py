"""Process that runs the code of plug-ins: `python -m dumbbell.plugins.worker`.

Requests come on standard input, replies go to standard output, each pickled. What a plug-in prints
goes to standard error. A copy that a plug-in makes of the process (`fork`) never answers.
"""

from __future__ import annotations

import os
import pickle
import resource
import threading
import time

from dumbbell import _core
from dumbbell.plugins.load import facts, loaded
from dumbbell.plugins.requests import (
    LENGTH,
    Defect,
    Execute,
    Probe,
    Refused,
    Reply,
    Request,
    Unfit,
    framed,
)
from dumbbell.plugins.unusable import UnusableError
from dumbbell.runs import RunResult

#: Least memory of a worker, bytes. More: a quarter of the machine's.
LEAST_MEMORY_BYTES = 2 << 30


def memory_bytes() -> int:
    """Memory that a worker may have."""
    all_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(LEAST_MEMORY_BYTES, all_bytes // 4)


def _answer(request: Request) -> Reply:
    try:
        match request:
            case Probe(path, name):
                return facts(path, name)
            case Execute():
                return _executed(request)
    except UnusableError as error:
        return Refused(str(error))


def _executed(request: Execute) -> Reply:
    plugins = {sha256: loaded(*one) for sha256, one in request.plugins.items()}
    begin = time.perf_counter()
    try:
        output = _core.run(request.scenario, request.seed, None, plugins, request.page)
    except _core.ScenarioError as error:
        return Unfit(error.path, error.message)
    except _core.DefectError as error:
        return Defect(str(error))
    except _core.PluginError as error:
        return Refused(str(error))
    wall_s = time.perf_counter() - begin
    tables, capture = output.tables, output.capture
    return RunResult(tables, output.digest, wall_s, output.packets, output.events, capture)


def _end_with(parent: int) -> None:
    """Ends this process soon after its parent is gone, also inside of an endless hook."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main() -> None:
    """Answers requests until there are no more."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes(), memory_bytes()))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    os.register_at_fork(after_in_child=lambda: os._exit(1))
    itself = os.getpid()
    while front := source.read(LENGTH.size):
        request = pickle.loads(source.read(*LENGTH.unpack(front)))
        reply = framed(_answer(request))
        if os.getpid() != itself:  # forked by a library: its answer would be that of the next run
            os._exit(1)
        sink.write(reply)
        sink.flush()


if __name__ == "__main__":
    main()
