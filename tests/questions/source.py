"""Source of an answered question: `docs/questions/NAME.yaml` beside `examples/questions/NAME.yaml`.

The first has the words of the page, the second is the experiment with the claim of the page as
`expect`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.helpers import ROOT

PAGES = ROOT / "docs" / "questions"
EXAMPLES = ROOT / "examples" / "questions"
#: Topics in the order of the index.
TOPICS = (
    "netem and tc",
    "Shapers, policers and queues",
    "Loss and reordering",
    "BBR",
    "Windows and pacing",
    "ECN and L4S",
    "Measuring",
)


@dataclass(frozen=True)
class Column:
    """A column of the table: a metric, in all cells.

    Attributes:
        metric: Name in `dumbbell.METRICS`.
        head: Heading, with the unit.
        flow: Flow or pipe; None: of all, the mean.
        percent: Show a share as a percentage.
    """

    metric: str
    head: str
    flow: str | None = None
    percent: bool = False


@dataclass(frozen=True)
class Question:
    """An answered question.

    Attributes:
        name: Stem of its files.
        title: The question in one line.
        topic: One of `TOPICS`.
        asked: Threads, as `owner/repository#number`.
        question: What was asked.
        answer: The answer with its cause.
        sure: How sure it is, besides seeds and kernel.
        limits: What it does not say.
        columns: Columns of the table.
        pivot: Factor whose levels are columns; None: each cell is a row.
        says: Beginnings of the sentences of `dumbbell run` that the page quotes.
        tc: Words of tc for `dumbbell advise`; empty: none.
        figure: Kind and options of the figure; empty: none.
        kernel: `set` and `repeats` of the runs on the kernel; None: none.
        without_kernel: Why there are no runs on the kernel; empty: there are.
    """

    name: str
    title: str
    topic: str
    asked: list[str]
    question: str
    answer: str
    limits: str
    columns: list[Column]
    sure: str = ""
    pivot: str | None = None
    says: list[str] = field(default_factory=list)
    tc: str = ""
    figure: dict[str, Any] = field(default_factory=dict)
    kernel: dict[str, Any] = field(default_factory=dict)
    without_kernel: str = ""

    @property
    def experiment(self) -> Path:
        """Experiment file."""
        return EXAMPLES / f"{self.name}.yaml"

    @property
    def page(self) -> Path:
        """Page that is written."""
        return PAGES / f"{self.name}.md"

    @property
    def image(self) -> Path:
        """Figure."""
        return PAGES / "images" / f"{self.name}.svg"

    @property
    def text(self) -> str:
        """Experiment file as text."""
        return self.experiment.read_text(encoding="utf-8")


def read(path: Path) -> Question:
    """Reads the source of a question. Raises `ValueError` for a wrong key or topic."""
    content = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    unknown = set(content) - {one.name for one in fields(Question)}
    if unknown:
        raise ValueError(f"{path.name}: unknown {sorted(unknown)}")
    content["columns"] = [Column(**one) for one in content["columns"]]
    found = Question(name=path.stem, **content)
    if found.topic not in TOPICS:
        raise ValueError(f"{path.name}: unknown topic {found.topic}")
    if bool(found.kernel) is bool(found.without_kernel):
        raise ValueError(f"{path.name}: either `kernel` or `without_kernel`")
    return found


def questions() -> list[Question]:
    """All questions, by topic and title."""
    found = [read(path) for path in sorted(PAGES.glob("*.yaml"))]
    return sorted(found, key=lambda one: (TOPICS.index(one.topic), one.title))
