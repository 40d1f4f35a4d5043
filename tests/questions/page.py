"""Page of an answered question, and the index of all."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import dumbbell
from dumbbell.metrics.numbers import number, percent, with_interval
from dumbbell.metrics.statistics import Interval
from dumbbell.summary.cells import cells
from dumbbell.summary.sentences import sentences
from tests.helpers import ROOT
from tests.questions.measured import Measured, kernel, numbers
from tests.questions.source import PAGES, TOPICS, Column, Question

INDEX = PAGES / "index.md"
_MOST_SENTENCES = 8
#: Cells of a table up to this length stay in one line.
_SHORT = 16
#: Columns of a page.
WIDTH = 118
_INDEX_HEAD = (
    "# Answered questions\n",
    "People ask in public why a link is slow, what a line of `tc` does, or whether a number can be "
    "right. Each page asks one such question again, as an experiment file that takes seconds. It "
    "has the numbers with their cause, those of the kernel beside them, and what the answer does "
    "not say. The words are ours; the threads are linked.",
    "Each file is in `examples/questions` of the sources. Tests run all of them. The claim of a "
    "page is an `expect` in its file: `dumbbell check examples/questions/NAME.yaml`.",
)
_INDEX_TREE = """
```{toctree}
:hidden:
:glob:

*
```
"""


def page(question: Question, results: dumbbell.Results, advice: str = "") -> str:
    """The page, with the numbers of these results.

    `advice`: what `dumbbell advise` says, where it is known; empty: it is asked.
    """
    ours = Measured("simulator", numbers(question, results))
    beside = kernel(question)
    parts = [
        f"# {question.title}",
        f"{question.topic}. Asked in:\n" + "".join(f"\n- {link(one)}" for one in question.asked),
        f"## Question\n\n{wrapped(question.question)}",
        f"## Answer\n\n{wrapped(question.answer)}",
        table(question, results, [ours] if beside is None else [ours, beside]),
    ]
    if question.figure:
        about = question.figure["caption"]
        parts.append(f"![{about}](images/{question.name}.svg)\n\n{about}")
    if question.says:
        said = sentences(results, cells(results), _MOST_SENTENCES)
        parts.append("`dumbbell run` says:")
        parts += [wrapped(chosen(question, said, start), "> ") for start in question.says]
    if question.tc:
        parts.append(f"## The line of tc\n\n{advice or _advice(question.tc)}")
    parts += [
        f"## Experiment\n\n{_experiment(question)}",
        f"## How sure\n\n{_sure(question, ours, beside)}",
        f"## What it does not say\n\n{wrapped(question.limits)}",
    ]
    return "\n\n".join(parts) + "\n"


def wrapped(text: str, start: str = "") -> str:
    """A paragraph in lines of a page's width."""
    return textwrap.fill(
        " ".join(text.split()), WIDTH, initial_indent=start, subsequent_indent=start,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def link(thread: str) -> str:
    """Link to a thread `owner/repository#number`."""
    repository, _, issue = thread.partition("#")
    return f"[{thread}](https://github.com/{repository}/issues/{issue})"


def chosen(question: Question, said: list[str], start: str) -> str:
    """The sentence that has a text. Raises `ValueError` if none has."""
    for one in said:
        if start in one:
            return one
    raise ValueError(f"{question.name}: no sentence has {start!r}: {said}")


def table(question: Question, results: dumbbell.Results, engines: list[Measured]) -> str:
    """Rows: cells by engine. Columns: metrics, or metrics by level of the pivot."""
    factors = list(results.experiment.factors)
    at = factors.index(question.pivot) if question.pivot else None
    every = list(dict.fromkeys(cell for cell, _ in engines[0].numbers))
    levels = list(dict.fromkeys(cell[at] for cell in every)) if at is not None else [""]
    keys = list(dict.fromkeys(_without(cell, at) for cell in every))
    names = [name for place, name in enumerate(factors) if place != at]
    places = [(i, level) for i in range(len(question.columns)) for level in levels]
    heads = [_head(question.columns[i], level) for i, level in places]
    several = ["engine"] if len(engines) > 1 else []
    lines = [f"| {' | '.join([*names, *several, *heads])} |"]
    lines.append(f"|{' --- |' * len([*names, *several])}{' ---: |' * len(heads)}")
    for key in keys:
        shown = [*key]
        for engine in engines:
            texts = [
                _text(question.columns[i], engine.interval(_with(key, at, level), i))
                for i, level in places
            ]
            if not any(texts):
                continue
            lines.append(
                f"| {' | '.join([*shown, *([engine.engine] if several else []), *texts])} |"
            )
            shown = [""] * len(key)
    return "\n".join(lines)


def _unbroken(text: str) -> str:
    """A short text that stays in one line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}") if len(text) <= _SHORT else text


def _without(cell: tuple[str, ...], at: int | None) -> tuple[str, ...]:
    return cell if at is None else (*cell[:at], *cell[at + 1 :])


def _with(key: tuple[str, ...], at: int | None, level: str) -> tuple[str, ...]:
    return key if at is None else (*key[:at], level, *key[at:])


def _head(column: Column, level: str) -> str:
    return f"{level}: {column.head}" if level else column.head


def _text(column: Column, found: Interval | None) -> str:
    if found is None:
        return ""
    if column.percent:
        return percent(found.mean)
    if found.count < 2 or math.isnan(found.low):
        return number(found.mean)
    return with_interval(found.mean, found.low, found.high)


def _advice(words: str) -> str:
    """Words of tc, and what `dumbbell advise` prints about them."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "line.sh").write_text(words, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "dumbbell", "advise", "line.sh"],
            cwd=folder, capture_output=True, text=True, timeout=120, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "110"},
        )  # fmt: skip
    said = "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())
    return f"```text\n$ cat line.sh\n{words.strip()}\n$ dumbbell advise line.sh\n{said}\n```"


def _experiment(question: Question) -> str:
    name = question.name
    return (
        f"`{name}.yaml`:\n\n```yaml\n{question.text.rstrip()}\n```\n\n"
        f"    dumbbell run {name}.yaml\n"
        f"    dumbbell playground {name}.yaml -o play.html    # edit and run it in the browser"
    )


def _sure(question: Question, ours: Measured, beside: Measured | None) -> str:
    text = f"{_seeds(ours.repeats)} of each cell in the simulator"
    if ours.repeats > 1:
        text += "; ± is half of the 95 % interval of the mean"
    if beside is not None:
        text += f". {beside.engine} ran the same file in virtual time, {_seeds(beside.repeats, '')}"
    elif question.without_kernel:
        text += f". No kernel beside it: {question.without_kernel.strip().rstrip('.')}"
    text += ". A test runs the file and checks the claim."
    return wrapped(f"{text} {question.sure}")


def _seeds(count: int, of: str = "") -> str:
    return f"{count} seeds{of}" if count > 1 else f"1 seed{of}"


def index(every: list[Question]) -> str:
    """Page that lists all questions by topic."""
    head, *paragraphs = _INDEX_HEAD
    text = f"{head}\n" + "\n\n".join(map(wrapped, paragraphs)) + "\n"
    for topic in TOPICS:
        found = [one for one in every if one.topic == topic]
        if found:
            text += f"\n## {topic}\n\n"
            text += "".join(f"- [{one.title}]({one.name}.md)\n" for one in found)
    return text + _INDEX_TREE
