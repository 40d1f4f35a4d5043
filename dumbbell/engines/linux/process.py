"""Programs that a build runs: their output goes into a log, none of them outlives it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import EngineError

_PATIENCE_S = 5.0
# A fixed name, host and time of the build: the kernel mixes them into its random numbers.
_ENVIRONMENT = {
    "LC_ALL": "C",
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "dumbbell",
    "KBUILD_BUILD_HOST": "dumbbell",
    "KBUILD_BUILD_VERSION": "1",
}
_INHERITED = ("PATH", "HOME", "TMPDIR", "http_proxy", "https_proxy", "no_proxy")


def environment() -> dict[str, str]:
    """Environment of a program, without the user's variables that steer `make`."""
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {"PATH": os.defpath, **kept, **_ENVIRONMENT}


def run(
    command: Sequence[str | Path],
    folder: Path,
    log: Path,
    heard: Callable[[str], None] | None = None,
) -> int:
    """Runs a program in `folder`; its output is appended to `log`, each line given to `heard`.

    The program has a process group of its own, which ends with this call whatever happens. If
    this process is killed, the program ends at its next line of output.

    Returns:
        The exit code; negative if a signal ended it.

    Raises:
        EngineError: There is no such program.
        OSError: The log cannot be written.
    """
    with log.open("a", encoding="utf-8") as written:
        written.write(f"$ {' '.join(map(str, command))}\n")
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                text=True,
                errors="replace",
            )
        except FileNotFoundError:
            raise EngineError(
                f"the program {command[0]} is missing", code=Code.NOT_INSTALLED
            ) from None
        try:
            assert process.stdout is not None
            with process.stdout as output:
                for line in output:
                    written.write(line)
                    if heard is not None:
                        heard(line)
            return process.wait()
        except BaseException:
            _end(process)
            raise


def said(command: Sequence[str | Path]) -> str | None:
    """Output of a program; None if it fails or does not exist."""
    try:
        done = subprocess.run(
            command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.decode(errors="replace")


def _end(process: subprocess.Popen[str]) -> None:
    """Ends a process and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
