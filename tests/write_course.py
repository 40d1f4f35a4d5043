"""Writes the notebooks of the course from its pages: `python -m tests.write_course`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.helpers import ROOT

COURSE = ROOT / "docs" / "course"
NOTEBOOKS = COURSE / "notebooks"
_FENCE = re.compile(
    r"^```(yaml|python)\n(.*?)^```$(?:\n\n```text\n.*?^```$)?", re.MULTILINE | re.DOTALL
)
_FOLD = re.compile(r"^</?details>.*$\n?", re.MULTILINE)
#: JupyterLab and Notebook 7 fold all cells below such a heading.
_FOLDED = {"jp-MarkdownHeadingCollapsed": True}


def pages() -> list[Path]:
    """Exercises, in order."""
    return sorted(COURSE.glob("[01]*.md"))


def notebook(page: Path) -> str:
    """Notebook of an exercise, without outputs: text, a cell that writes the file, the solution."""
    text = page.read_text(encoding="utf-8")
    cells: list[dict[str, Any]] = []
    at = 0
    for fence in _FENCE.finditer(text):
        cells += _text(text[at : fence.start()], len(cells))
        body = re.sub(r"^# file: (\S+)$", r"%%writefile \1", fence[2], count=1, flags=re.MULTILINE)
        cells.append(
            {
                "cell_type": "code",
                "execution_count": None,
                "id": f"cell-{len(cells)}",
                "metadata": {},
                "outputs": [],
                "source": body.rstrip("\n").splitlines(keepends=True),
            }
        )
        at = fence.end()
    cells += _text(text[at:], len(cells))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _text(text: str, number: int) -> list[dict[str, Any]]:
    """Cells of a text: none if it is empty; a solution begins with a folded heading."""
    cells: list[dict[str, Any]] = []
    before, fold, solution = text.partition("<details>")
    parts = [(before, {}), ("## Solution" if fold else "", _FOLDED), (fold + solution, {})]
    for part, metadata in parts:
        plain = _FOLD.sub("", part).strip().replace("](images/", "](../images/")
        if plain:
            cells.append(
                {
                    "cell_type": "markdown",
                    "id": f"cell-{number + len(cells)}",
                    "metadata": dict(metadata),
                    "source": plain.splitlines(keepends=True),
                }
            )
    return cells


def main() -> None:
    """Writes a notebook per exercise."""
    NOTEBOOKS.mkdir(exist_ok=True)
    for page in pages():
        (NOTEBOOKS / f"{page.stem}.ipynb").write_text(notebook(page), encoding="utf-8")


if __name__ == "__main__":
    main()
