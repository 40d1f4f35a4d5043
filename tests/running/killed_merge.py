"""Merges stores in forks of itself that are killed at a step, and merges them again.

    killed_merge.py FOLDER

Only forks use polars, whose threads a fork of their process would lack.
Prints a line of JSON per step: whether the killed merge left a readable store, and what the same
merge made of it afterwards.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

from dumbbell.errors import StoreError
from dumbbell.store import Store
from dumbbell.store.digest import digests, of_all
from dumbbell.store.merge import merge
from dumbbell.store.verify import examine
from tests.running.killed_writer import Steps, ended, forked
from tests.running.test_merge import made
from tests.scale import ALL, SCALE

#: Every step in `make test-all`.
STEP = 1 if ALL or SCALE >= 10 else 4


class Links(Steps):
    """Counts links too, of which the second name is what changes."""

    def event(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "os.link" and str(args[1]).startswith(self.place) and self.step(event):
            os._exit(9)
        super().event(event, args)


def make(stores: list[Path]) -> None:
    """Makes two shards, of which the second has some runs of the first beside its own."""
    for number, store in enumerate(stores, 1):
        made(store, f"{number}/2")
    made(stores[1], "1/4")


def killed(stores: list[Path], into: Path, number: int) -> list[str]:
    """Merges until the step of that number; which steps there were."""
    steps = Links(into, number)
    merge(stores, into)
    return steps.names


def is_readable(into: Path) -> bool:
    """True for a store of which nothing is damaged, and for nothing at all."""
    if not (into / "store.json").exists():
        return True
    try:
        with Store(into, write=False) as store:
            for record in store.experiments():
                store.results(record)
    except StoreError:
        return False
    return not examine(into).damages


def resumed(stores: list[Path], into: Path) -> dict[str, Any]:
    """What a merge that is not disturbed makes and leaves."""
    os.fsync = lambda _: None  # type: ignore[assignment]
    merge(stores, into)
    left = [str(one.path) for one in examine(into).leftovers]
    left += [str(path) for path in into.glob("journal/*")]
    return {"digest": of_all(digests(into)), "left": left}


def main(place: Path) -> None:
    """Dies at each step, goes on, and says what came of it."""
    stores = [place / "p1", place / "p2"]
    ended(*forked(partial(make, stores)))
    number, status = 1, 9
    while status == 9:
        into = place / f"all-{number}"
        status, told = ended(*forked(partial(killed, stores, into, number)))
        _, readable = ended(*forked(partial(is_readable, into)))
        again = ended(*forked(partial(resumed, stores, into)))
        line = {"step": number, "status": status, "told": told, "store": readable, "again": again}
        sys.stdout.write(json.dumps(line) + "\n")
        shutil.rmtree(into)
        number += STEP


if __name__ == "__main__":
    main(Path(sys.argv[1]))
