"""The progress of a search: that of its batches, as one."""

from __future__ import annotations

import pytest

from dumbbell.errors import Interrupted
from dumbbell.execution import Progress, current_progress, use_progress
from dumbbell.execution.progress import Sweep
from dumbbell.search.progress import one_progress


class Noted(Progress):
    """Progress that keeps what it receives."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def note(self, text: str) -> None:
        self.calls.append(("note", text))

    def begin(self, sweep: Sweep) -> None:
        self.calls.append(("begin", sweep.name, sweep.runs, sweep.kept))

    def update(self, done: int, simulated_s: float, rate: float, left_s: float | None) -> None:
        self.calls.append(("update", done))

    def end(self) -> None:
        self.calls.append(("end",))


def batch(shown: Progress, runs: int, kept: int, done: int) -> None:
    shown.note("warning")
    shown.begin(Sweep("batch", "sim", runs, kept))
    shown.update(done, 1.0, 1.0, 5.0)
    shown.end()


def test_batches_are_one_experiment_and_a_note_is_told_once() -> None:
    noted = Noted()
    with use_progress(noted), one_progress("all", "sim", 12):
        batch(current_progress(), runs=3, kept=1, done=3)
        batch(current_progress(), runs=4, kept=0, done=2)
    updates = [call[1] for call in noted.calls if call[0] == "update"]
    assert updates == [1, 4, 4, 6]
    rest = [call for call in noted.calls if call[0] != "update"]
    assert rest == [("begin", "all", 12, 0), ("note", "warning"), ("end",)]


def test_a_stop_tells_the_runs_of_the_whole_search() -> None:
    with (
        pytest.raises(Interrupted, match="stopped; 7 of 12 runs are finished and kept"),
        use_progress(Noted()),
        one_progress("all", "sim", 12),
    ):
        batch(current_progress(), runs=3, kept=1, done=3)
        batch(current_progress(), runs=4, kept=1, done=2)
        raise Interrupted(3, 5)  # one was kept, two were executed
