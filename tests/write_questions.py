"""Writes `docs/questions`: `python -m tests.write_questions [NAME…]`.

`--kernel` measures the named questions, or those that lack it, on the kernel first. `--figures`
draws their figures again; a figure that is missing is drawn anyway.
"""

from __future__ import annotations

import argparse
import tempfile

import dumbbell
from dumbbell.engines.linux.kernel import kernels
from tests.questions.measured import kernel, numbers, write_kernel
from tests.questions.page import INDEX, index, page
from tests.questions.source import Question, questions
from tests.write_figure_pictures import written

_ENGINE = "linux:7.3"


def measure(question: Question) -> None:
    """Runs a question on the kernel and keeps its numbers."""
    chosen = question.kernel
    engine = chosen.get("engine", _ENGINE)
    results = dumbbell.run(
        question.experiment, engine=engine, set=chosen.get("set"), repeats=chosen.get("repeats")
    )
    name = engine.partition(":")[2]
    build = next(one for one in kernels() if one.name == name)
    words = "Linux 6.12 with BBR v3" if name == "bbr3" else f"Linux {build.version}"
    write_kernel(question, words, numbers(question, results))


def draw(question: Question, results: dumbbell.Results) -> None:
    """Draws the figure of a question."""
    options = {k: v for k, v in question.figure.items() if k not in ("kind", "caption")}
    question.image.parent.mkdir(exist_ok=True)
    written(question.image, results.plot(question.figure["kind"], **options).svg())


def main() -> None:
    """Writes the named pages, or all, and the index."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--kernel", action="store_true")
    parser.add_argument("--figures", action="store_true")
    chosen = parser.parse_args()
    every = questions()
    for one in every:
        if chosen.names and one.name not in chosen.names:
            continue
        if chosen.kernel and one.kernel and (chosen.names or kernel(one) is None):
            measure(one)
        with tempfile.TemporaryDirectory() as store:
            results = dumbbell.run(one.experiment, store=store)
            if one.figure and (chosen.figures or not one.image.is_file()):
                draw(one, results)
            one.page.write_text(page(one, results), encoding="utf-8")
    INDEX.write_text(index(every), encoding="utf-8")


if __name__ == "__main__":
    main()
