"""Runs shards of a sweep and merges of them in forks of itself that are killed at random moments.

    killed_shards.py FOLDER SWEEPS KILLS

Of each sweep, prints a line of JSON: kills, and what the shards and their merge hold once each was
resumed without disturbance. Only forks use polars, whose threads a fork of this process would lack.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dumbbell.engines import engine_named
from dumbbell.execution import execute, use_progress
from dumbbell.execution.events import event_log
from dumbbell.execution.shard import Shard
from dumbbell.store import Store
from dumbbell.store import store as stores
from dumbbell.store.digest import digests, of_all
from dumbbell.store.merge import merge
from dumbbell.store.verify import examine
from tests.helpers import loaded
from tests.running.killed_writer import ended, forked

TEXT = """\
dumbbell: 1
name: sweep
template: {dumbbell: {rate: 10 Mbit/s, rtt: $rtt, buffer: 30 packets, loss: 0.5 %}}
flows: [{name: f, from: s1, to: d1, tcp: $cc}]
sampling: {interval: 20 ms, keep: [samples, queues]}
duration: 2 s
factors: {rtt: [10 ms, 50 ms], cc: [reno, cubic, bbr]}
repeats: 4
"""
SHARDS = 4


def run(place: Path, number: int, of: int = SHARDS) -> None:
    """Runs a shard into its store; events are appended to a file beside it."""
    os.fsync = lambda _: None  # type: ignore[assignment]  # the machine goes on
    stores.SEGMENT_RUNS = 3
    shard = Shard(number, of)
    with (
        Store(place / f"shard-{number}", write=True) as store,
        event_log(place / f"events-{number}") as log,
        use_progress(log),
    ):
        execute(loaded(TEXT), engine_named("sim"), store, workers=2, shard=shard)


def together(place: Path) -> None:
    """Merges the shards that are there."""
    os.fsync = lambda _: None  # type: ignore[assignment]
    there = [path for path in sorted(place.glob("shard-*")) if (path / "store.json").exists()]
    if there:
        merge(there, place / "all")


def held(store: Path) -> dict[str, Any]:
    """What a store holds: its digest, its runs, and what is wrong with it."""
    found = examine(store)
    wrong = [str(one) for one in found.damages] + [str(one.path) for one in found.leftovers]
    return {"digest": of_all(digests(store)), "runs": len(found.runs), "wrong": wrong}


def disturbed(work: Callable[[], object], delay_s: float) -> bool:
    """Kills a fork that works after a delay; false if it was done before."""
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    time.sleep(delay_s)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def timed(work: Callable[[], object]) -> float:
    """Time in s of a fork that is not disturbed."""
    begin = time.monotonic()
    assert ended(*forked(work))[0] == 0
    return time.monotonic() - begin


def twice(place: Path) -> list[str]:
    """Runs that were finished twice, by the events of their shard."""
    found = []
    for path in place.glob("events-*"):
        lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
        runs = [line["run"] for line in lines if line["event"] == "finished"]
        found += [run for run in set(runs) if runs.count(run) > 1]
    return found


def sweep(place: Path, draw: random.Random, kills: int, took_s: dict[str, float]) -> dict[str, Any]:
    """Kills shards and merges, resumes them, and says what came of it."""
    place.mkdir()
    done, wanted = {"shard": 0, "merge": 0}, {"shard": kills - kills // 4, "merge": kills // 4}
    while done != wanted:
        what = draw.choice([one for one in wanted if done[one] < wanted[one]])
        number = draw.randint(1, SHARDS)
        work = partial(run, place, number) if what == "shard" else partial(together, place)
        if disturbed(work, draw.uniform(0, 0.7 * took_s[what])):
            done[what] += 1
        else:  # begun anew, so that there is always something to be killed at
            shutil.rmtree(place / (f"shard-{number}" if what == "shard" else "all"), True)
            if what == "shard":
                (place / f"events-{number}").unlink(missing_ok=True)
    for number in range(1, SHARDS + 1):
        assert ended(*forked(partial(run, place, number)))[0] == 0
    assert ended(*forked(partial(together, place)))[0] == 0
    parts = [ended(*forked(partial(held, path)))[1] for path in sorted(place.glob("shard-*"))]
    (_, merged) = ended(*forked(partial(held, place / "all")))
    return {"kills": done, "merged": merged, "parts": parts, "twice": twice(place)}


def main(place: Path, sweeps: int, kills: int) -> None:
    """Prints what an undisturbed sweep holds, then each sweep."""
    whole = place / "whole"
    whole.mkdir()
    took_s = {
        "shard": timed(partial(run, whole, 1, 1)) / SHARDS,
        "merge": timed(partial(together, whole)),
    }
    sys.stdout.write(json.dumps(ended(*forked(partial(held, whole / "all")))[1]) + "\n")
    for number in range(sweeps):
        found = sweep(place / f"sweep-{number}", random.Random(number), kills, took_s)
        sys.stdout.write(json.dumps(found) + "\n")
        shutil.rmtree(place / f"sweep-{number}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
