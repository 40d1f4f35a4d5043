"""Questions of `dumbbell init`. Each answer is checked at once, and asked for again."""

from __future__ import annotations

import signal
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

    def line(text: str) -> Answers:
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

    answers = _asked("Rate and RTT of the bottleneck", f"{answers.rate}, {answers.rtt}", line)
    known = ", ".join(single_path())
    answers = _asked(
        f"Congestion controls that compete ({known})", ", ".join(answers.controls), controls
    )
    answers = with_short_runs(starter, answers)
    shown = f"{answers.duration}, {answers.repeats}"
    answers = _asked("Duration of a run, number of repeats", shown, length)
    return starter, answers


def _asked(question: str, default: str, read_answer: Callable[[str], _Answer]) -> _Answer:
    """Answer to a question, as `read_answer` reads it; Enter is the default."""
    while True:
        console.err.print(f"{question} [{default}]: ", end="", soft_wrap=True)
        signal.siginterrupt(signal.SIGINT, True)  # polars lets reads go on after Ctrl-C
        try:
            text = input().strip()
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
