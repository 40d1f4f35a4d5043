"""Ten exercises, each with a law and a solution, as pages and as notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.write_course import NOTEBOOKS, notebook, pages

PAGES = pages()


def test_there_are_ten() -> None:
    assert len(PAGES) == 10
    assert sorted(one.stem for one in NOTEBOOKS.glob("*.ipynb")) == [one.stem for one in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_exercise_has_its_parts_and_a_current_notebook(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for part in ("**Question.**", "**Law.**", "**Task.**", "Solution</summary>", "```python"):
        assert part in text, part
    assert f"](images/{page.stem}.svg)" in text
    assert (page.parent / "images" / f"{page.stem}.svg").is_file(), "tests.write_course_pictures"
    made = notebook(page)
    assert (NOTEBOOKS / f"{page.stem}.ipynb").read_text(encoding="utf-8") == made
    code = [one for one in json.loads(made)["cells"] if one["cell_type"] == "code"]
    assert code[0]["source"][0].startswith("%%writefile") and len(code) >= 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_solution_of_a_notebook_is_folded(page: Path) -> None:
    """Its first heading folds all cells below; no cell above shows a word of it."""
    assert not page.read_text(encoding="utf-8").partition("</details>")[2].strip()
    cells = json.loads(notebook(page))["cells"]
    (at,) = [
        i for i, one in enumerate(cells) if one["metadata"] == {"jp-MarkdownHeadingCollapsed": True}
    ]
    assert cells[at]["source"] == ["## Solution"]
    assert not [one for one in cells[at + 1 :] if one["source"][0].startswith(("# ", "## "))]
    task = "".join(line for one in cells[:at] for line in one["source"])
    assert "import dumbbell" not in task and "Solution" not in task
