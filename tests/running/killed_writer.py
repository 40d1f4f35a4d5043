"""Makes stores in forks of itself that are killed, or that make one store together.

    killed_writer.py kill FOLDER BEFORE STEP
    killed_writer.py race FOLDER PAIRS

`kill` dies at the n-th step that changes a file: n = 1, …, 20, then every STEP-th until nothing is
left to die at. BEFORE is where a process died before that (0: nowhere; -1: none did, but the store
is damaged). `race` has two processes create and fill one store. Each prints lines of JSON: what a
later run found, as a hash of all tables, and what was left behind.
Everything is imported once; each fork has the state of a new process.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell.execution import execute
from dumbbell.store import Store
from dumbbell.store import store as stores
from tests.helpers import FakeEngine, loaded
from tests.running.test_store import VARIED

TEXT = VARIED + "sampling: {keep: [samples]}\n"
TABLES = ("flows", "pipes", "samples", "transfers", "runs")
#: What changes a file system, as the interpreter announces it.
EVENTS = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate")


class Steps:
    """Counts the steps that change something below a folder; dies before the n-th."""

    def __init__(self, place: Path, last: int) -> None:
        self.place = str(place)
        self.last = last
        self.count = 0
        self.names: list[str] = []
        sys.addaudithook(self.event)
        for name in ("write", "fsync"):
            setattr(os, name, self.wrapped(name, getattr(os, name)))

    def step(self, name: str) -> bool:
        self.count += 1
        self.names.append(name)
        return self.count == self.last

    def event(self, event: str, args: tuple[Any, ...]) -> None:
        creates = event == "open" and isinstance(args[2], int) and args[2] & os.O_CREAT
        changes = (event in EVENTS or creates) and str(args[0]).startswith(self.place)
        if changes and self.step(event):
            os._exit(9)

    def wrapped(self, name: str, call: Any) -> Any:
        def done(handle: int, *args: Any) -> Any:
            target = str(Path(f"/proc/self/fd/{handle}").readlink())
            if target.startswith(self.place) and self.step(name):
                if name == "write":  # killed in the middle of it
                    call(handle, bytes(args[0])[: len(args[0]) // 2])
                os._exit(9)
            # What was written outlives the process, if not the machine: no need to wait for that.
            return None if name == "fsync" else call(handle, *args)

        return done


def work(folder: Path) -> None:
    """Makes a store with segments, large files, an adopted journal, and an experiment twice."""
    stores.SEGMENT_RUNS = 3
    stores.SYNC_S = 0.0
    with Store(folder, write=True) as store:
        execute(loaded(TEXT, repeats=1), FakeEngine(), store, workers=1)
        execute(loaded(TEXT), FakeEngine(), store, workers=1)


def found(folder: Path) -> str:
    """A hash of all that was measured."""
    results = dumbbell.load_results(folder)
    hashed = hashlib.sha256()
    for name in TABLES:
        table = getattr(results, name)
        hashed.update(table.drop("wall_s", strict=False).write_csv().encode())
    return hashed.hexdigest()


def forked(call: Any) -> tuple[int, int]:
    """A process that calls it: its id, and where what it returns is read."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            os.write(writing, json.dumps(call()).encode())
            os._exit(0)
        except BaseException as error:
            os.write(writing, json.dumps(f"{type(error).__name__}: {error}").encode())
            os._exit(1)
    os.close(writing)
    return child, reading


def ended(child: int, reading: int) -> tuple[int, Any]:
    """Exit status of a process and what it returned."""
    with os.fdopen(reading, "rb") as stream:
        text = stream.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, json.loads(text) if text else None


def killed(folder: Path, number: int) -> list[str]:
    """Works until the step of that number; which steps there were."""
    steps = Steps(folder, number)
    work(folder)
    return steps.names


def damage(folder: Path) -> None:
    """Some runs lose a table of their own, some their segment."""
    large = sorted(folder.glob("runs/*.parquet"))
    large[0].unlink()
    large[3].write_bytes(b"")
    table = min(folder.glob("segments/*/flows.parquet"))
    table.write_bytes(table.read_bytes()[:-1] + b"?")


def resumed(folder: Path) -> dict[str, Any]:
    """What a run that is not disturbed finds and leaves."""
    os.fsync = lambda _: None  # type: ignore[assignment]
    work(folder)
    left = [str(path.relative_to(folder)) for path in folder.rglob("*.tmp")]
    left += [str(path.relative_to(folder)) for path in folder.glob("journal/*")]
    whole = all((path / "manifest.json").exists() for path in folder.glob("segments/*"))
    return {"found": found(folder), "left": left, "whole": whole}


def say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def kill(place: Path, before: int, step: int) -> None:
    """Dies at each step, goes on, and says what came of it."""
    number, status = 1, 9
    while status:
        folder = place / f"s{number}"
        if before:
            ended(*forked(partial(killed, folder, before)))
        if before < 0:
            damage(folder)
        status, told = ended(*forked(partial(killed, folder, number)))
        again = ended(*forked(partial(resumed, folder)))
        say({"step": number, "status": status, "told": told, "again": again})
        shutil.rmtree(folder)
        number += 1 if number < 20 else step


def waited(folder: Path, gate: int, open_gate: int) -> None:
    """Works as soon as the gate is closed."""
    os.close(open_gate)
    os.read(gate, 1)
    work(folder)


def race(place: Path, pairs: int) -> None:
    """Two processes that wait for one moment."""
    for pair in range(pairs):
        folder = place / "deep" / f"s{pair}"
        gate, open_gate = os.pipe()

        both = [forked(partial(waited, folder, gate, open_gate)) for _ in range(2)]
        os.close(open_gate)
        # Read when both are over: meanwhile the other may have begun with fewer repeats.
        ends = [ended(*one) for one in both]
        say({"pair": pair, "ended": ends, "found": ended(*forked(partial(found, folder)))})
        os.close(gate)
        shutil.rmtree(folder)


if __name__ == "__main__":
    what, place_, *numbers = sys.argv[1:]
    {"kill": kill, "race": race}[what](Path(place_), *map(int, numbers))
