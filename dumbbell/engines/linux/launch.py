"""Starting a guest: one unprivileged process group, bounded in time, in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dumbbell import _core
from dumbbell._core import Monitor
from dumbbell.codes import Code
from dumbbell.engines.base import Run, scenario_error
from dumbbell.engines.linux import death
from dumbbell.engines.linux.processors import one_processor
from dumbbell.errors import EngineError
from dumbbell.scenario import read_scenario

#: Part of a run's identity: another amount of memory gives other buffers.
MEMORY = "512M"
_MEMORY_BYTES = 512 << 20
_OF_MEMORY = (
    f"its {MEMORY.removesuffix('M')} MB of memory were full. They hold all that the run keeps:"
    " keep less with `sampling` (a shorter stretch of `hops` or `packets`, a longer `interval`), or"
    " make the run shorter"
)
#: The guest's clock begins here (nanoseconds since 1970), so that its random numbers are the same.
_BEGIN_NS = 1_700_000_000_000_000_000
#: Masters of packet spraying that the kernel makes at boot; a router needs one per set of paths.
_TEQL_MASTERS = 64
#: First release of User-Mode Linux with the mode `seccomp`.
_SECCOMP_SINCE = (6, 16)
#: Folders of runs are named by this and the process that made them.
FOLDER_PREFIX = "dumbbell-guest-"
#: Variable with the folder that keeps those of runs; `run --keep` sets it, workers inherit it.
KEEP = "DUMBBELL_KEEP"
_CONSOLE_LINES = 200
_TOLD_LINES = 12
_POLL_S = 0.1
_NAMED = 5


@dataclass(frozen=True)
class Output:
    """Output of a guest: tables by name as Arrow IPC streams, their digest, a capture if any."""

    tables: dict[str, bytes]
    digest: str
    capture: bytes | None


class GuestDied(EngineError):
    """A guest ended before its run did.

    Attributes:
        of_registers: It could not write the processor's floating-point registers.
    """

    code = Code.GUEST

    def __init__(self, console: Sequence[str]) -> None:
        if death.is_of_memory(console):
            super().__init__(f"the guest died: {_OF_MEMORY}")
        else:
            why = death.cause(console)
            said = f": {why}" if why is not None else " before it had finished"
            super().__init__(_told(f"the guest died{said}", console))
        self.of_registers = death.is_of_registers(console)


def time_limit_s(duration_ns: int) -> float:
    """Real seconds after which a guest is taken for hung; `DUMBBELL_GUEST_TIMEOUT_S` overrides."""
    given = os.environ.get("DUMBBELL_GUEST_TIMEOUT_S")
    return float(given) if given else 120 + 10 * duration_ns / 1e9


def run_guest(command: Sequence[str], guest: Path, run: Run, monitor: Monitor) -> Output:
    """Runs a scenario by a command, in a folder of its own, and returns its output.

    `command`: what boots a kernel with the guest's program, or that program on the host. The folder
    is removed, or moved to that of `KEEP` with the console's last lines, under the run's id.

    Raises:
        ScenarioError: The guest cannot do what the scenario asks.
        Cancelled: The monitor was cancelled.
        EngineError: It failed, died, or took too long; the last lines of its console are told.
    """
    files = {"scenario.json": run.scenario, "seed": str(run.seed)}
    limit_s = time_limit_s(run.duration_ns)
    with booted(
        command, guest, files, run.seed, limit_s, monitor, hint=_hint(run), name=run.id
    ) as (folder, console):
        return _results(folder, console)


@contextlib.contextmanager
def booted(
    command: Sequence[str],
    guest: Path,
    files: Mapping[str, str],
    seed: int,
    limit_s: float,
    monitor: Monitor,
    *,
    name: str,
    hint: str = "",
) -> Iterator[tuple[Path, deque[str]]]:
    """The folder of a guest that has run, and the last lines of its console.

    Args:
        command: What boots a kernel with the guest's program, or that program on the host.
        guest: The guest's program.
        files: Text of the files in its folder, by name.
        seed: Seed of its random numbers.
        limit_s: Real seconds after which it is stopped.
        monitor: Told the progress; cancels.
        name: Name under which `KEEP` keeps the folder; not empty.
        hint: End of the message about a guest that took too long.

    Raises:
        Cancelled: The monitor was cancelled.
        EngineError: It took too long, or a file cannot be written.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-"))
    try:
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        (folder / "init").symlink_to(guest)
        console: deque[str] = deque(maxlen=_CONSOLE_LINES)
        try:
            _start(command, guest, folder, console, seed, limit_s, monitor, hint)
        finally:
            (folder / "console.txt").write_text("".join(f"{line}\n" for line in console))
        yield folder, console
    except OSError as error:
        raise EngineError(f"{folder}: {error.strerror or error}") from None
    finally:
        if kept := os.environ.get(KEEP):
            _keep(folder, Path(kept) / name)
        shutil.rmtree(folder, ignore_errors=True)


def _keep(folder: Path, place: Path) -> None:
    """Moves a run's folder to its place; one of an earlier run is replaced.

    Of anything else there, nothing is removed.
    """
    try:
        if place.exists() and not (place / "console.txt").exists():
            raise EngineError(f"{place}: this is there already, and no folder of a run")
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        (folder / "init").unlink(missing_ok=True)  # A link to the guest's program.
        shutil.move(folder, place)
    except OSError as error:
        raise EngineError(f"{place}: {error.strerror or error}") from None


def boot_command(kernel: Path, version: str) -> list[str]:
    """The kernel's command line: the same for all runs, since it is part of what seeds them."""
    release = tuple(int(word) for word in version.split(".")[:2] if word.isdecimal())
    # Programs of the guest stopped by seccomp in place of ptrace, where the host allows it.
    modes = ["seccomp=auto"] if release >= _SECCOMP_SINCE else []
    return [
        str(kernel),
        *(f"mem={MEMORY}", "time-travel=inf-cpu", f"time-travel-start={_BEGIN_NS}"),
        f"sch_teql.max_equalizers={_TEQL_MASTERS}",
        *modes,
        *("root=none", "rootfstype=hostfs", "hostfs=/", "ro", "uml_dir=uml"),
        *("init=/proc/self/cwd/init", "con=null", "con0=fd:0,fd:1", "quiet"),
    ]


def memory_folder(shared: Path = Path("/dev/shm")) -> str:
    """Returns the folder of the guest's memory.

    It is `shared` if that is writable, allows execution and has space for one guest. Otherwise it
    is the folder of temporary files: containers mount `/dev/shm` with `noexec` and 64 MB.
    """
    try:
        system = os.statvfs(shared)
    except OSError:
        return tempfile.gettempdir()
    usable = (
        os.access(shared, os.W_OK | os.X_OK)
        and not system.f_flag & os.ST_NOEXEC
        and system.f_bavail * system.f_frsize >= _MEMORY_BYTES
    )
    return str(shared) if usable else tempfile.gettempdir()


def _start(
    command: Sequence[str],
    guest: Path,
    folder: Path,
    console: deque[str],
    seed: int,
    limit_s: float,
    monitor: Monitor,
    hint: str,
) -> None:
    """Runs a guest to its end; `console` gets the last lines of its console."""
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/",
        "TMPDIR": memory_folder(),
        "DUMBBELL_SEED": str(seed),
    }
    with one_processor() as cpu:
        process = subprocess.Popen(
            # The supervisor ends the guest when its standard input closes, as it does if we die.
            [str(guest), "supervise", cpu, *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _watch(process, console, limit_s, monitor, hint)
        finally:
            if process.stdin is not None:
                process.stdin.close()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def _hint(run: Run) -> str:
    """Names the programs that may keep a guest from finishing; empty without any."""
    programs = read_scenario(run.scenario).get("programs", [])
    if not programs:
        return ""
    return (
        "; virtual time stands still while a program computes, so one that never waits may be why ("
        f"{', '.join(one['name'] for one in programs[:_NAMED])}); DUMBBELL_GUEST_TIMEOUT_S raises "
        "the limit"
    )


def _watch(
    process: subprocess.Popen[bytes],
    console: deque[str],
    limit_s: float,
    monitor: Monitor,
    hint: str,
) -> None:
    """Reads the console until it closes: progress, and what it says."""
    if process.stdout is None:
        raise AssertionError("the console is a pipe")
    deadline = time.monotonic() + limit_s
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if monitor.cancelled:
                raise _core.Cancelled("cancelled")
            if time.monotonic() > deadline:
                message = f"the guest did not finish within {limit_s:.0f} s and was stopped{hint}"
                raise EngineError(_told(message, console), code=Code.GUEST)
            if not selector.select(_POLL_S):
                continue
            data = os.read(process.stdout.fileno(), 65536)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                text = line.decode("utf-8", "replace").rstrip()
                if text.startswith("@") and text[1:].isdigit():
                    monitor.report(int(text[1:]))
                elif text:
                    console.append(text)


def _told(message: str, console: Sequence[str]) -> str:
    last = list(console)[-_TOLD_LINES:]
    return "\n".join([message + ("; its console ended with:" if last else ""), *last])


def _results(folder: Path, console: deque[str]) -> Output:
    error = folder / "error.json"
    if error.exists():
        found = json.loads(error.read_bytes())
        if "path" in found:
            raise scenario_error(found["path"], found["message"])
        raise EngineError(f"the guest failed: {found['message']}", code=Code.GUEST)
    done = folder / "done.json"
    if not done.exists():
        raise GuestDied(console)
    digest = json.loads(done.read_bytes())["digest"]
    tables = {path.stem: path.read_bytes() for path in sorted(folder.glob("*.arrow"))}
    capture = folder / "capture.pcapng"
    return Output(tables, digest, capture.read_bytes() if capture.exists() else None)
