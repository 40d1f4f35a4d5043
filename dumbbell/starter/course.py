"""Notebooks of the course, which ship with the package: `dumbbell init --course`."""

from __future__ import annotations

from dumbbell.files.shipped import shipped


def course_files() -> dict[str, str]:
    """Texts of the notebooks and of their pictures, by their path in the folder of the course."""
    folder = shipped("_docs") / "course"
    found = {
        path.name: path.read_text(encoding="utf-8").replace("](../images/", "](images/")
        for path in sorted((folder / "notebooks").glob("*.ipynb"))
    }
    for path in sorted((folder / "images").glob("*.svg")):
        found[f"images/{path.name}"] = path.read_text(encoding="utf-8")
    return found
