"""Questions of `dumbbell init`. Each answer is checked at once, and asked for again."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable
from typing import TypeVar

from dumbbell import console
from dumbbell.catalogue import single_path
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.starter import (
    STARTERS,
    Answers,
    Starter,
    affordable,
    read,
    starter_named,
    with_short_runs,
)

_Answer = TypeVar("_Answer")


def ask() -> tuple[Starter, Answers]:
    """Asks four questions. Raises `DumbbellError` if standard input ends."""
    console.say("A first experiment in four questions. Enter takes the value in brackets.\n")
    for one in STARTERS.values():
        console.say(f"  {one.name:<15} {one.words}")
    console.say("")
    starter = _asked("Network", "dumbbell", lambda text: starter_named(text.lower()))
    answers = starter.defaults

    def path(text: str) -> Answers:
        found = answers.with_line(text)
        read(starter, found)
        return found

    def controls(text: str) -> Answers:
        found = answers.with_controls(text)
        read(starter, found)
        return found

    def length(text: str) -> Answers:
        found = answers.with_length(text)
        affordable(starter, found)
        return found

    answers = _asked("Rate and RTT of the bottleneck", f"{answers.rate}, {answers.rtt}", path)
    known = ", ".join(single_path())
    answers = _asked(
        f"Congestion controls that compete ({known})", ", ".join(answers.controls), controls
    )
    answers = with_short_runs(starter, answers)
    shown = f"{answers.duration}, {answers.repeats}"
    answers = _asked("Duration of a run, number of repeats", shown, length)
    return starter, answers


def next_line() -> str:
    """The next line of standard input. At a terminal Ctrl-C ends the wait whenever it comes.

    `input` reads after it looked for signals; one in between would wait for the next line.
    The descriptor that each signal is written to ends `select` also if the signal came before.
    """
    signal.siginterrupt(signal.SIGINT, True)  # polars lets reads go on after Ctrl-C
    if not sys.stdin.isatty():
        return input()
    signals, written = os.pipe()
    os.set_blocking(written, False)
    before = signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    try:
        select.select([sys.stdin, signals], [], [])
        return input()
    finally:
        signal.set_wakeup_fd(before)
        os.close(signals)
        os.close(written)


def _asked(question: str, default: str, read_answer: Callable[[str], _Answer]) -> _Answer:
    """Answer to a question, as `read_answer` reads it; Enter is the default."""
    while True:
        console.err.print(f"{question} [{default}]: ", end="", soft_wrap=True)
        try:
            text = next_line().strip()
        except EOFError:
            console.say("")
            raise DumbbellError(
                "the questions were not answered; nothing is written", code=Code.NO_ANSWER
            ) from None
        except UnicodeDecodeError:
            console.say("  not UTF-8 text")
            continue
        try:
            return read_answer(text or default)
        except ExperimentError as error:
            console.say(f"  {error}")
