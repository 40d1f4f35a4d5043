"""Worker processes, and what ends them: a deadline, a crash, a cancelled run."""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from dumbbell.plugins.page import Page, Where
from dumbbell.plugins.requests import LENGTH, Reply, Request, framed, message_end

#: Processor time after which a hook has not returned, s.
HOOK_CPU_S = 3.0
#: Time after which a hook has not returned, s.
HOOK_S = 8.0
_LOOK_S = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")


class EndedError(Exception):
    """The process is gone, with the reason in words, and where its run was."""

    def __init__(self, reason: str, where: Where) -> None:
        super().__init__(reason)
        self.reason, self.where = reason, where


class Worker:
    """A worker process. One thread at a time uses it."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "dumbbell.plugins.worker"]
        self.page = Page()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )

    def ask(
        self,
        request: Request,
        look: Callable[[Where], bool],
        silent_s: float,
        silent_cpu_s: float = math.inf,
    ) -> Reply:
        """Sends a request and waits for the reply.

        Args:
            request: The request.
            look: Called now and then with the place of the run; False ends it.
            silent_s: Time in s that the process may take outside of hooks.
            silent_cpu_s: Processor time in s that it may take there.

        Raises:
            EndedError: The process ended, or was ended.
        """
        self.page.clear()
        clock = _Clock(self._process.pid, silent_s, silent_cpu_s)
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(framed(request))
            self._process.stdin.flush()
            data = bytearray()
            while (length := message_end(data)) is None or len(data) < length:
                self._wait(data, clock, look)
            reply: Reply = pickle.loads(memoryview(data)[LENGTH.size :])
            return reply
        except (BrokenPipeError, EOFError):
            raise self._ended() from None

    def _wait(self, data: bytearray, clock: _Clock, look: Callable[[Where], bool]) -> None:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        ready, _, _ = select.select([pipe], [], [], _LOOK_S)
        where = self.page.read()
        if ready:
            more = os.read(pipe, 1 << 20)
            if not more:
                raise EOFError
            data += more
            return
        if not look(where):
            self.end()
            raise EndedError("it was stopped", where)
        if (reason := clock.overdue(where)) is not None:
            self.end()
            raise EndedError(reason, where)

    def _ended(self) -> EndedError:
        code = self._process.wait()
        reason = f"its process ended with exit code {code}"
        if code < 0:
            with contextlib.suppress(ValueError):
                reason = f"its process was ended by {signal.Signals(-code).name}"
        where = self.page.read()
        self.end()
        return EndedError(reason, where)

    def end(self) -> None:
        """Ends the process and all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self.page.remove()


class _Clock:
    """Time since a run has moved on."""

    def __init__(self, process: int, silent_s: float, silent_cpu_s: float) -> None:
        self._process, self._silent_s, self._silent_cpu_s = process, silent_s, silent_cpu_s
        self._last: Where | None = None
        self._since = self._cpu_since = 0.0

    def overdue(self, where: Where) -> str | None:
        """Reason to end the process; None: it is in time."""
        now, cpu = time.monotonic(), self._cpu_s()
        if where != self._last:
            self._last, self._since, self._cpu_since = where, now, cpu
            return None
        waited, computed = now - self._since, cpu - self._cpu_since
        if not where.inside:
            if computed > self._silent_cpu_s:
                return f"it did not answer within {self._silent_cpu_s:.0f} s of processor time"
            late = waited > self._silent_s
            return f"it did not answer within {self._silent_s:.0f} s" if late else None
        if computed > HOOK_CPU_S or waited > HOOK_S:
            return f"it did not return within {min(waited, HOOK_S):.0f} s"
        return None

    def _cpu_s(self) -> float:
        try:
            text = Path(f"/proc/{self._process}/stat").read_text(encoding="utf-8")
        except OSError:
            return 0.0
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


_IDLE: list[Worker] = []
_LOCK = threading.Lock()


@contextlib.contextmanager
def worker() -> Iterator[Worker]:
    """A worker for one request; those that live are used again."""
    with _LOCK:
        chosen = _IDLE.pop() if _IDLE else None
    chosen = chosen or Worker()
    try:
        yield chosen
    except BaseException:
        chosen.end()
        raise
    with _LOCK:
        _IDLE.append(chosen)


def _end_all() -> None:
    with _LOCK:
        for one in _IDLE:
            one.end()
        _IDLE.clear()


atexit.register(_end_all)
